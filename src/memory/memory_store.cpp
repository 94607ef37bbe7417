// The backing store in memory of a source: a NUMA node, or the memories of an intent. One thread copies, in the order
// in which requests were started, while the program's threads compute.
#include "base/host.h"
#include "memory/page_source.h"

#include <situ/base/error.h>
#include <situ/stencil/backing_store.h>

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace situ::stencil {
namespace {

class memory_store final : public backing_store {
 public:
  explicit memory_store(situ::detail::page_source source) : source_{std::move(source)} {
    copier_ = situ::detail::worker{[this] { copy(); }};
  }
  ~memory_store() override {
    {
      const std::lock_guard guard{lock_};
      stop_ = true;
    }
    work_.notify_one();
    copier_.join();
  }

  [[nodiscard]] std::string description() const override { return source_.description(); }
  [[nodiscard]] bool may_fail() const override { return false; }

  // Each allocation is a part of its own; an offset's upper bits say which.
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes) override {
    parts_.push_back(source_.map(bytes, "a store of datasets"));
    return (parts_.size() - 1) << part_bits;
  }

  void start(direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes, int queue) override {
    std::byte* const there = parts_[offset >> part_bits].data() + (offset & ((std::uint64_t{1} << part_bits) - 1));
    {
      const std::lock_guard guard{lock_};
      to == direction::read ? requests_.push_back({memory, there, bytes, queue})
                            : requests_.push_back({there, memory, bytes, queue});
      ++in_flight_[queue];
    }
    work_.notify_one();
  }

  void wait(int queue) override {
    std::unique_lock guard{lock_};
    done_.wait(guard, [&] { return in_flight_[queue] == 0; });
  }

 private:
  static constexpr int part_bits = 46;  // 64 TiB each
  struct request {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
    int queue;
  };

  void copy() {
    std::unique_lock guard{lock_};
    while (true) {
      work_.wait(guard, [&] { return stop_ || !requests_.empty(); });
      if (requests_.empty()) return;
      const auto t = requests_.front();
      requests_.pop_front();
      guard.unlock();
      std::memcpy(t.to, t.from, t.bytes);
      guard.lock();
      if (--in_flight_[t.queue] == 0) done_.notify_one();
    }
  }

  situ::detail::page_source source_;
  std::vector<situ::detail::sourced_pages> parts_;
  std::mutex lock_;
  std::condition_variable work_, done_;
  std::deque<request> requests_;
  int in_flight_[queues] = {};
  bool stop_ = false;
  situ::detail::worker copier_;
};

}  // namespace

std::shared_ptr<backing_store> make_node_store(int node) {
  if (node < 0) throw_error(errc::bad_argument, fmt::format("there is no NUMA node {}", node));
  return std::make_shared<memory_store>(situ::detail::page_source::of_node(static_cast<std::uint32_t>(node)));
}

std::shared_ptr<backing_store> make_intent_store(const intent& what) {
  return std::make_shared<memory_store>(situ::detail::page_source{what});
}

}  // namespace situ::stencil
