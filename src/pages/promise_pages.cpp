// Chooses a memory for each page of a range, from which the page comes when it is first touched.
#include <situ/base/detail/assert.h>

#include <atomic>

#include "pages/placement_search.h"

namespace situ::detail {

class placer::promising : public search {
 public:
  promising(const placer& by, std::byte* address, std::size_t bytes, promise_map& notes, when_full policy)
      : search{by, address, bytes, policy}, notes_{notes} {}
  placement_report run();

 private:
  [[nodiscard]] bool put(const choice& to);
  [[nodiscard]] bool reserve_of_node(const choice& to) noexcept override;
  void withdraw_of_node(const choice& to) noexcept override;

  promise_map& notes_;
  bool is_kernels_ = false;  // the pages come by the kernel's policy
};

placement_report placer::promising::run() {
  is_kernels_ = by_.kernel_policy_ != 0 && by_.calls_.bind_ordered(address_, bytes_, by_.kernel_policy_, false) == 0;
  while (const std::optional<choice> next = choose_next())
    if (!put(*next)) break;
  fill_in_totals();
  return std::move(report_);
}

// Promises a chunk. Returns false if the call must end. pre: the chunk's bytes are in its budget, or in its node's sum.
bool placer::promising::put(const choice& to) {
  const bool is_kernels = is_kernels_ && !is_beyond_;
  if (const binding bound = is_kernels ? binding::done : prefer(to); bound != binding::done) return skip(to, bound);
  if (what(to.memory).budget == nullptr) notes_.note(address_ + at_, to.bytes, what(to.memory).node);
  count(to);
  if (is_kernels) report_.by_kernel_bytes += to.bytes;
  at_ += to.bytes;
  return true;
}

// Adds the bytes of pages to the node's sum before they are promised, and never beyond its room, since others promise,
// too.
bool placer::promising::reserve_of_node(const choice& to) noexcept {
  const std::size_t node = by_.memories_[to.memory].node;
  reading& last = readings_[node];
  const std::uint64_t most = free_of(to.memory);
  if (last.promised_bytes + to.bytes > most) return false;
  std::atomic<std::uint64_t>& sum = by_.promised_->sums().bytes[by_.nodes_[node].number];
  if (take_bytes(sum, most, to.bytes, to.bytes) == 0) return false;
  last.promised_since += to.bytes;
  return true;
}

void placer::promising::withdraw_of_node(const choice& to) noexcept {
  by_.promised_->sums().bytes[what(to.memory).node].fetch_sub(to.reserved, std::memory_order_relaxed);
}

placement_report placer::promise(void* address, std::size_t bytes, promise_map& notes, when_full policy) const {
  SITU_ASSERT(1, (reinterpret_cast<std::uintptr_t>(address) | bytes) % page_bytes == 0, "promise whole pages");
  SITU_ASSERT(1, promised_ != nullptr, "this placer was made without promises");
  return promising{*this, static_cast<std::byte*>(address), bytes, notes, policy}.run();
}

}  // namespace situ::detail
