// A backing store in ordinary memory for tests: reads and writes happen when they are waited for, in an order that is
// drawn, so that what relies on an earlier end of one shows; and one can be made to fail.
#pragma once

#include <situ/base/error.h>
#include <situ/stencil/backing_store.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace situ::stencil::testing {

class memory_store final : public backing_store {
 public:
  explicit memory_store(bool may_fail = true) : may_fail_{may_fail} {}
  [[nodiscard]] std::string description() const override { return "memory of a test"; }
  [[nodiscard]] bool may_fail() const override { return may_fail_; }
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes) override {
    const auto at = bytes_.size();
    bytes_.resize(at + (bytes + page_bytes - 1) / page_bytes * page_bytes);
    return at;
  }
  void start(direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes, int queue) override {
    waiting_[queue].push_back({to, memory, offset, bytes});
    ++started_[queue];
  }
  void wait(int queue) override {
    auto waiting = std::exchange(waiting_[queue], {});
    std::shuffle(waiting.begin(), waiting.end(), draw_);
    bool failed = false;
    for (const auto& t : waiting) {
      if (t.to == direction::write && writes_left_-- == 0) {
        failed = true;
        std::memset(bytes_.data() + t.offset, 0xee, t.bytes);
      } else if (t.to == direction::read) {
        std::memcpy(t.memory, bytes_.data() + t.offset, t.bytes);
      } else {
        std::memcpy(bytes_.data() + t.offset, t.memory, t.bytes);
      }
    }
    if (failed) throw_error(errc::bad_file, "the store of a test has failed at offset 4711");
  }
  // The n-th write from now on fails; negative: none.
  void fail_at_write(int n) { writes_left_ = n; }
  [[nodiscard]] int started(int queue) const { return started_[queue]; }

 private:
  struct request {
    direction to;
    std::byte* memory;
    std::uint64_t offset;
    std::size_t bytes;
  };
  bool may_fail_;
  std::vector<std::byte> bytes_;
  std::vector<request> waiting_[queues];
  int started_[queues] = {};
  int writes_left_ = -1;
  std::mt19937_64 draw_{7};
};

// Of an error that says how much fast memory one loop needs: "... needs 8192 bytes ..."; 0 if it says nothing like
// that.
inline std::uint64_t least_bytes_named(const error& e) {
  const std::string text = e.what();
  const auto at = text.find(" alone needs ");
  return at == text.npos ? 0 : std::stoull(text.substr(at + std::string_view{" alone needs "}.size()));
}

}  // namespace situ::stencil::testing
