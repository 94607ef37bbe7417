// cost: about 100 bytes for each line that was ever taken, and about 100 instructions each time.
#include "model/execution/shared_lines.h"

#include <algorithm>

#include "model/execution/engine.h"

namespace situ::model {
namespace {

constexpr std::uint32_t first_limit = 64;  // a line that is taken more rarely costs little if it is found again
constexpr std::uint32_t most_limit = 1 << 20;

// For each slot: the number of lines that are kept there, and what last_touch would be if it did not hold `in_order`.
// They are global like last_touch, and take no time to make.
constinit std::array<std::uint32_t, touch_slots> kept{};
constinit std::array<time_ps, touch_slots> touched{};

}  // namespace

constinit std::array<time_ps, touch_slots> last_touch{};

void shared_lines::set_line_shifts(const std::vector<std::uint32_t>& shifts) {
  shifts_ = shifts;
  std::ranges::sort(shifts_);
  shifts_.erase(std::unique(shifts_.begin(), shifts_.end()), shifts_.end());
  if (!shifts_.empty()) granule_shift_ = shifts_.back();
}

void shared_lines::ask_for_all() noexcept {
  asks_for_all_ = true;
  last_touch.fill(in_order);
}

// Calls f(slot) for each line of a granule, in each core's line size.
template <class F>
void shared_lines::each_slot(std::uintptr_t granule, F&& f) {
  for (const std::uint32_t shift : shifts_) {
    const std::uint32_t longer = granule_shift_ - shift;
    for (std::uintptr_t line = granule << longer; line < (granule + 1) << longer; ++line) f(line & (touch_slots - 1));
  }
}

void shared_lines::keep(std::uintptr_t granule, line_state& line) {
  if (!line.was_kept) ++counted_.lines_in_order;
  line.limit = line.was_kept ? std::min(2 * line.limit, most_limit) : first_limit;
  line.was_kept = line.is_kept = true;
  line.hits = 0;
  each_slot(granule, [&](std::size_t slot) {
    if (kept[slot]++ != 0 || asks_for_all_) return;
    touched[slot] = last_touch[slot];
    last_touch[slot] = in_order;
  });
}

void shared_lines::release(std::uintptr_t granule, line_state& line) {
  line.is_kept = false;
  each_slot(granule, [&](std::size_t slot) {
    if (--kept[slot] == 0 && !asks_for_all_) last_touch[slot] = touched[slot];
  });
}

bool shared_lines::keeps(std::uintptr_t address) const {
  const auto found = lines_.find(address >> granule_shift_);
  return found != lines_.end() && found->second.is_kept;
}

void shared_lines::touch(std::uintptr_t line, time_ps end) { touched[line & (touch_slots - 1)] = end; }

void shared_lines::hide(std::uint64_t transfers, time_ps each) noexcept {
  counted_.hidden_transfers += transfers;
  counted_.hidden_ps += transfers * each;
}

void shared_lines::access_since(std::uintptr_t address, time_ps now) {
  const auto found = lines_.find(address >> granule_shift_);
  if (found == lines_.end() || !found->second.is_kept) return;
  if (now <= found->second.ahead_until) hide(2, found->second.transfer);
}

void shared_lines::hit_in_order(std::uintptr_t address, time_ps now) {
  const auto found = lines_.find(address >> granule_shift_);
  if (found == lines_.end() || !found->second.is_kept) return;
  line_state& line = found->second;
  if (now <= line.ahead_until) return hide(2, line.transfer);
  if (++line.hits >= line.limit) release(found->first, line);
}

void shared_lines::lost_in_order(std::uintptr_t address) {
  ++counted_.lost_in_order;
  const auto found = lines_.find(address >> granule_shift_);
  if (found != lines_.end()) found->second.hits = 0;
}

bool shared_lines::take(const core& from, std::uintptr_t address, time_ps now, time_ps transfer) {
  const std::uintptr_t granule = address >> granule_shift_;
  const auto [at, is_new] = lines_.try_emplace(granule);
  line_state& line = at->second;
  if (is_new) ++counted_.lines_taken;
  line.hits = 0;
  if (line.is_kept) return false;
  const std::size_t slot = (address >> from.line_shift) & (touch_slots - 1);
  const time_ps last = last_touch[slot] == in_order ? touched[slot] : last_touch[slot];
  if (last <= now + from.hit_ps) return false;
  ++counted_.taken_ahead;
  hide(1, transfer);
  counted_.hidden_ps += last - now;
  line.ahead_until = last;
  ahead_until_ = std::max(ahead_until_, last);
  line.transfer = transfer;
  keep(granule, line);
  return true;
}

}  // namespace situ::model
