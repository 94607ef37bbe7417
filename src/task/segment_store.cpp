// The backing store in the segment of a place. A thread that is registered with the place that made the store reads by
// get and writes by put.
#include <situ/base/error_code.h>
#include <situ/fabric/rma.h>
#include <situ/runtime/place_threads.h>
#include <situ/task/staged_array.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "pages/store_threads.h"

namespace situ {
namespace {

class segment_store final : public backing_store {
 public:
  segment_store(ptr<std::byte> first, std::uint64_t bytes) : first_{first}, bytes_{bytes} {
    (void)first.place();
    threads_.start([this] { requests_.run(); });
  }
  ~segment_store() override {  // threads_ then waits for the thread
    requests_.stop();
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("memory of place {}", first_.place().index());
  }
  [[nodiscard]] bool may_fail() const override { return true; }  // the place may be lost
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes) override {
    if (bytes > bytes_ || std::exchange(is_given_, true))
      throw_error(errc::bad_argument, fmt::format("{} bytes are asked for of {} of {}, which are given once", bytes,
                                                  bytes_, description()));
    return 0;
  }
  void start(direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes, int queue) override {
    requests_.start({to, memory, offset, bytes, queue});
  }
  void wait(int queue) override { requests_.wait(queue); }

 private:
  void carry(const detail::store_threads::request& r) const {
    const std::size_t there = std::min<std::uint64_t>(r.bytes, bytes_ - std::min(r.offset, bytes_));
    const ptr<std::byte> at = first_ + static_cast<std::ptrdiff_t>(r.offset);
    if (r.to == direction::write) return put(at, r.memory, there);
    get(r.memory, at, there);
    std::memset(r.memory + there, 0, r.bytes - there);
  }

  ptr<std::byte> first_;
  std::uint64_t bytes_;
  bool is_given_ = false;
  detail::store_threads requests_{0, [this](const detail::store_threads::request& r) { carry(r); }};
  place_threads threads_;
};

}  // namespace

std::shared_ptr<backing_store> make_segment_store(ptr<std::byte> first, std::uint64_t bytes) {
  return std::make_shared<segment_store>(first, bytes);
}

}  // namespace situ
