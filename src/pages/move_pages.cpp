// Moves existing pages to their memories: chooses all memories first, then moves.
#include <situ/base/detail/assert.h>

#include <array>
#include <atomic>
#include <utility>

#include "pages/placement_search.h"

namespace situ::detail {

class placer::moving : public search {
 public:
  // own: the promises of the range; null: there are none.
  moving(const placer& by, std::byte* address, std::size_t bytes, std::vector<held_bytes> held, promise_map* own)
      : search{by, address, bytes, by.policy_}, held_{std::move(held)}, own_{own} {}
  placement_report run();

 private:
  void give_plan_up(const std::vector<choice>& plan) noexcept;
  void move_chunk(const choice& to);
  [[nodiscard]] std::uint64_t* held_of(const byte_budget* budget) noexcept override;
  [[nodiscard]] std::uint64_t bytes_here_on(std::uint32_t node, std::size_t bytes) const override;
  [[nodiscard]] std::uint64_t own_promises(std::uint32_t node) const override {
    return own_ == nullptr ? 0 : own_->promised_bytes(address_, bytes_, node);
  }

  std::vector<held_bytes> held_;  // budget bytes of the moving pages that were not taken again
  promise_map* const own_;
};

placement_report placer::moving::run() {
  is_planning_ = true;
  std::vector<choice> plan;
  while (left() != 0) {
    const std::optional<choice> next = choose_next();
    if (!next) {
      give_plan_up(plan);
      return std::move(report_);
    }
    count(*next);
    if (const spill_memory& to = what(next->memory); to.budget == nullptr)
      reading_of(*next).placed_since += next->bytes - bytes_here_on(to.node, next->bytes);
    plan.push_back(*next);
    at_ += next->bytes;
  }
  for (const held_bytes& each : held_) each.budget->used.fetch_sub(each.bytes, std::memory_order_relaxed);
  if (own_ != nullptr) own_->withdraw(address_, bytes_);
  is_planning_ = false;
  at_ = 0;
  for (const choice& to : plan) {
    move_chunk(to);
    at_ += to.bytes;
  }
  fill_in_totals();
  return std::move(report_);
}

// Withdraws a plan. The report then shows the contents of the memories without the choices.
void placer::moving::give_plan_up(const std::vector<choice>& plan) noexcept {
  for (const choice& to : plan) withdraw(to);
  for (reading& each : readings_) each.placed_since = 0;
  for (memory_fill& row : report_.memories) row.placed_bytes = 0;
  report_.placed_bytes = report_.beyond_bytes = 0;
  fill_in_totals();
}

void placer::moving::move_chunk(const choice& to) {
  memory_fill& row = report_.memories[to.memory];
  const binding bound = prefer(to);
  if (bound != binding::done) {
    row.is_allowed = bound != binding::not_allowed;
    row.elsewhere_bytes += to.bytes;
    return;
  }
  if (!report_.is_checked) return;
  std::array<void*, most_pages> addresses;
  for (std::size_t i = 0; i < to.bytes / page_bytes; ++i) addresses[i] = address_ + at_ + i * page_bytes;
  const std::size_t astray = find_elsewhere(addresses.data(), to.bytes / page_bytes, what(to.memory).node);
  const std::size_t remain = astray == 0 ? 0 : take_home(to, addresses.data(), astray);
  report_.corrected_pages += astray - remain;
  row.elsewhere_bytes += remain * page_bytes;
}

std::uint64_t placer::moving::bytes_here_on(std::uint32_t node, std::size_t bytes) const {
  const page_locations found = locate_pages(address_ + at_, bytes, by_.calls_);
  return node < found.node_bytes.size() ? found.node_bytes[node] : 0;
}

std::uint64_t* placer::moving::held_of(const byte_budget* budget) noexcept {
  for (held_bytes& each : held_)
    if (each.budget == budget) return &each.bytes;
  return nullptr;
}

placement_report placer::move(void* address, std::size_t bytes, std::vector<held_bytes> held,
                              promise_map* notes) const {
  SITU_ASSERT(1, (reinterpret_cast<std::uintptr_t>(address) | bytes) % page_bytes == 0, "move whole pages");
  map_existing(address, bytes);
  return moving{*this, static_cast<std::byte*>(address), bytes, std::move(held), notes}.run();
}

}  // namespace situ::detail
