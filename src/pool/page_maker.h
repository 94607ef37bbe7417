// Pages that are about to be written, made by another processor. The first store to a page of a mapped file costs a
// fault of one to four microseconds, which is more than what moving its pointers takes; so whoever is about to write
// many pages says where, and a thread makes them writable, a piece at a time, in the order in which they are wanted.
// Where it is late, or there is no thread to be had, a fault makes the page as ever: nothing depends on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace situ::detail {

// want() is one thread's. The mapping outlives this object, and stays as it is meanwhile.
class page_maker {
 public:
  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;
  // From `begin` on, in pieces.
  page_maker(std::byte* begin, std::size_t bytes);
  ~page_maker();
  page_maker(const page_maker&) = delete;
  page_maker& operator=(const page_maker&) = delete;

  // All pieces that these bytes lie in, and the next one where pieces have come one after another. pre: they lie in the
  // mapping. cost: a look at a bit for each piece.
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
  std::atomic<std::size_t> pushed_{0};  // of wanted_, how many the thread may read; no_more: it ends
  std::jthread thread_;
};

}  // namespace situ::detail
