// Makes pages that are about to be written on another processor. The first store to a page of a mapped file costs a
// fault of one to four microseconds, more than moving the page's pointers takes. So a caller that is about to write
// many pages announces them, and a thread makes them writable, a piece at a time, in the order of the announcements. If
// the thread is late or cannot be started, a fault makes the page as usual: correctness does not depend on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "os/worker.h"

namespace situ::detail {

// One thread alone calls want(). The mapping outlives this object, and does not change while it lives.
class page_maker {
 public:
  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;
  // Divides the bytes into pieces, from `begin` on.
  page_maker(std::byte* begin, std::size_t bytes);
  ~page_maker();
  page_maker(const page_maker&) = delete;
  page_maker& operator=(const page_maker&) = delete;

  // Announces all pieces of these bytes, and the next piece if the announced pieces are consecutive. pre: the bytes are
  // in the mapping. cost: reading a bit for each piece.
  void want(const std::byte* at, std::size_t bytes) {
    const auto offset = static_cast<std::size_t>(at - begin_);
    for (std::size_t piece = offset / piece_bytes; piece <= (offset + bytes - 1) / piece_bytes; ++piece)
      if (!is_wanted_[piece]) want_piece(piece);
  }

  [[nodiscard]] std::size_t piece_of(const std::byte* at) const noexcept {
    return static_cast<std::size_t>(at - begin_) / piece_bytes;
  }

 private:
  static constexpr std::size_t no_more = ~std::size_t{0};
  void want_piece(std::size_t piece);
  void push(std::size_t piece);
  void run() noexcept;

  std::byte* begin_;
  std::size_t bytes_;
  std::vector<bool> is_wanted_;
  std::size_t last_ = no_more;
  std::size_t count_ = 0;
  std::vector<std::uint32_t> wanted_;   // each piece once, in order
  std::atomic<std::size_t> pushed_{0};  // number of elements of wanted_ that the thread may read; no_more: it ends
  os::worker thread_;
};

}  // namespace situ::detail
