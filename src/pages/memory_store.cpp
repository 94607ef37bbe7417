// The backing store in memory of any kind (memory_kind.h). One thread copies, while the program's threads compute.
#include "pages/page_source.h"
#include "pages/store_threads.h"

#include <situ/pages/backing_store.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

namespace situ {
namespace {

class memory_store final : public backing_store {
 public:
  explicit memory_store(detail::page_source source) : source_{std::move(source)} {}

  [[nodiscard]] std::string description() const override { return source_.description(); }
  [[nodiscard]] bool may_fail() const override { return false; }

  // Each allocation is a separate part; the upper bits of an offset select it.
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes) override {
    auto part = source_.map(bytes, "a store of datasets");
    const std::lock_guard guard{parts_mutex_};
    parts_.push_back(std::move(part));
    return (parts_.size() - 1) << part_bits;
  }
  void start(direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes, int queue) override {
    copier_.start({to, memory, offset, bytes, queue});
  }
  void wait(int queue) override { copier_.wait(queue); }

 private:
  static constexpr int part_bits = 46;  // 64 TiB each

  [[nodiscard]] std::byte* at(std::uint64_t offset) {
    const std::lock_guard guard{parts_mutex_};
    return parts_[offset >> part_bits].data() + (offset & ((std::uint64_t{1} << part_bits) - 1));
  }

  detail::page_source source_;
  std::mutex parts_mutex_;
  std::deque<detail::sourced_pages> parts_;
  detail::store_threads copier_{1, [this](const detail::store_threads::request& r) {
                                  std::byte* const there = at(r.offset);
                                  if (r.to == direction::read)
                                    std::memcpy(r.memory, there, r.bytes);
                                  else
                                    std::memcpy(there, r.memory, r.bytes);
                                }};
};

}  // namespace

std::shared_ptr<backing_store> make_memory_store(const memory_kind& kind) {
  return std::make_shared<memory_store>(detail::page_source{kind});
}

}  // namespace situ
