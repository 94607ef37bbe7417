// Makes the pages of a range, each in its memory.
#include <situ/base/detail/assert.h>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "pages/placement_search.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; the headers may be older than the kernel
#endif

namespace situ::detail {
namespace {

// The number of pages of a chunk whose node is checked. The first and the last are among them: if a node fills up amid
// a chunk, the last one is elsewhere.
constexpr std::size_t pages_asked = 8;

}  // namespace

class placer::making : public search {
 public:
  making(const placer& by, std::byte* address, std::size_t bytes, huge_page_maker* huge)
      : search{by, address, bytes, by.policy_}, huge_{huge} {}
  placement_report run();

 private:
  [[nodiscard]] bool is_nothing_promised() const noexcept;
  void leave_to_kernel();
  [[nodiscard]] bool put(const choice& to);
  [[nodiscard]] bool make_pages(std::size_t bytes);
  void correct(const choice& to);
  void leave_policy_of_step(const choice& to) const noexcept;

  huge_page_maker* const huge_;  // null: none
  bool can_populate_ = true;
};

placement_report placer::making::run() {
  if (!by_.kernel_nodes_.empty() && is_nothing_promised()) leave_to_kernel();
  while (const std::optional<choice> next = choose_next())
    if (!put(*next)) break;
  fill_in_totals();
  return std::move(report_);
}

// The kernel's policy does not consider promises (invariant 8). This does not check which of them exist by now: each
// placement would have to look at all of them, and without the policy the pages go to the same memories.
bool placer::making::is_nothing_promised() const noexcept {
  for (std::size_t i = 0; i < by_.nodes_.size(); ++i)
    if (promised_now(i) != 0) return false;
  return true;
}

// Lets the kernel place as long as it follows this ordering and has room. A huge page does not follow the policy
// (MADV_COLLAPSE takes it from the node of the small ones): it is made if there is room for many, as below.
void placer::making::leave_to_kernel() {
  const kernel_placement done =
      place_by_kernel(address_, bytes_, by_.kernel_nodes_, by_.memories_.front().what.fill, by_.calls_,
                      [this](std::byte* chunk, std::size_t bytes) {
                        if (huge_ == nullptr || bytes != huge_page_bytes) return;
                        reopen();  // the readings do not include the chunks since
                        if (const std::optional<choice> next = find_room(); next && next->bytes == huge_page_bytes)
                          huge_->make(chunk);
                      });
  at_ = done.bytes;
  report_.placed_bytes = report_.by_kernel_bytes = done.bytes;
  report_.is_checked = report_.is_checked && done.is_told;
  for (std::size_t i = 0; i < by_.memories_.size(); ++i) {
    const std::uint32_t node = what(i).node;
    if (node >= done.node_bytes.size()) continue;
    report_.memories[i].placed_bytes = done.node_bytes[node];
    readings_[by_.memories_[i].node].placed_since += done.node_bytes[node];
  }
}

// Places a chunk. Returns false if the call must end. pre: the chunk's bytes are in its budget.
bool placer::making::put(const choice& to) {
  const binding bound = prefer(to);
  if (bound == binding::done && make_pages(to.bytes)) {
    count(to);
    if (what(to.memory).budget == nullptr) reading_of(to).placed_since += to.bytes;
    correct(to);
    leave_policy_of_step(to);
    at_ += to.bytes;
    return true;
  }
  return skip(to, bound);
}

bool placer::making::make_pages(std::size_t bytes) {
  // pages that it does not make are made below
  if (huge_ != nullptr && bytes == huge_page_bytes) huge_->make(address_ + at_);
  while (can_populate_) {
    if (by_.calls_.advise(address_ + at_, bytes, MADV_POPULATE_WRITE) == 0) return true;
    if (errno == EINTR) continue;
    const int reason = errno;
    // EINVAL means an old kernel, which rejects an empty range, too; or a range that may not be written.
    can_populate_ = reason != EINVAL || by_.calls_.advise(address_ + at_, 0, MADV_POPULATE_WRITE) == 0;
    if (can_populate_) {
      refuse(reason);
      return false;
    }
  }
  by_.calls_.touch(address_ + at_, bytes);
  return true;
}

void placer::making::correct(const choice& to) {
  if (!report_.is_checked) return;
  const std::uint32_t node = what(to.memory).node;
  const std::size_t pages = to.bytes / page_bytes;
  std::array<void*, most_pages> addresses;
  const std::size_t looks = std::min(pages_asked, pages);
  for (std::size_t i = 0; i < looks; ++i)
    addresses[i] = address_ + at_ + (looks == 1 ? 0 : i * (pages - 1) / (looks - 1)) * page_bytes;
  if (find_elsewhere(addresses.data(), looks, node) == 0) return;

  for (std::size_t i = 0; i < pages; ++i) addresses[i] = address_ + at_ + i * page_bytes;
  const std::size_t astray = find_elsewhere(addresses.data(), pages, node);
  const std::size_t remain = astray == 0 ? 0 : take_home(to, addresses.data(), astray);
  report_.corrected_pages += astray - remain;
  report_.memories[to.memory].elsewhere_bytes += remain * page_bytes;
}

// The chunk's pages exist and stay on their nodes: only invariant 7 needs a policy now. A refusal costs one mapping.
void placer::making::leave_policy_of_step(const choice& to) const noexcept {
  const std::uint32_t node = what(by_.steps_[to.step].begin).node;
  if (can_prefer_ && node != what(to.memory).node) by_.calls_.prefer(address_ + at_, to.bytes, node);
}

placement_report placer::place(void* address, std::size_t bytes, huge_page_maker* huge) const {
  SITU_ASSERT(1, (reinterpret_cast<std::uintptr_t>(address) | bytes) % page_bytes == 0, "place whole pages");
  return making{*this, static_cast<std::byte*>(address), bytes, huge}.run();
}

}  // namespace situ::detail
