// The backing store in the memory of a NUMA node. One thread copies, in the order in which requests were started,
// while the program's threads compute.
#include "base/host.h"
#include "stencil/memory.h"

#include <situ/base/error.h>
#include <situ/base/units.h>
#include <situ/stencil/backing_store.h>

#include <fmt/format.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

namespace situ::stencil {
namespace {

// Throws if there is no such node.
void bind_to_node(const pages& memory, int node) {
  const int code = node < 0 ? EINVAL : memory.bind_to_node(static_cast<std::uint32_t>(node));
  if (code == 0) return;
  throw_error(errc::bad_argument, fmt::format("{} cannot be bound to NUMA node {}: {}", format_bytes(memory.size()),
                                              node, std::strerror(code)));
}

class node_store final : public backing_store {
 public:
  explicit node_store(int node) : node_{node} {
    bind_to_node(map_pages(page_bytes), node);
    copier_ = situ::detail::worker{[this] { copy(); }};
  }
  ~node_store() override {
    {
      const std::lock_guard guard{lock_};
      stop_ = true;
    }
    work_.notify_one();
    copier_.join();
  }

  [[nodiscard]] std::string description() const override { return fmt::format("memory of NUMA node {}", node_); }
  [[nodiscard]] bool may_fail() const override { return false; }

  // Each allocation is a part of its own; an offset's upper bits say which.
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes) override {
    pages made = map_pages(bytes);
    bind_to_node(made, node_);
    parts_.push_back(std::move(made));
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

  int node_;
  std::vector<pages> parts_;
  std::mutex lock_;
  std::condition_variable work_, done_;
  std::deque<request> requests_;
  int in_flight_[queues] = {};
  bool stop_ = false;
  situ::detail::worker copier_;
};

}  // namespace

std::shared_ptr<backing_store> make_node_store(int node) { return std::make_shared<node_store>(node); }

}  // namespace situ::stencil
