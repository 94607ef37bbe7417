// Hardware threads of one core: the width that they share, and who of them is active. Each is a `core` here, with a clock
// of its own; the machine shares the core's caches, TLBs and window among them.
//
// 1. A thread takes width (issue_slots.h) for the instructions of a block, when it begins the block, and for its accesses,
//    when the next block begins. All other time of it (misses, restarts after mispredicted branches, the rest of a hit)
//    leaves the width to the others.
// 2. A core that goes on past misses takes the whole cost of a block: its classes' units are shared. One that waits for
//    each read takes a cycle of an integer instruction for each instruction: longer ones leave the rest to the others.
// 3. A hardware thread is active while the program has a thread for it. The others get its part of the window as soon as
//    it is idle.
#include <algorithm>

#include "model/execution/engine.h"

namespace situ::model {

bool is_emptier(const core& a, const core& b) noexcept {
  if (a.threads_here != b.threads_here) return a.threads_here < b.threads_here;
  const auto of_core = [](const core& of) {
    if (of.width == nullptr) return of.threads_here;
    std::uint32_t sum = 0;
    for (const core* const each : of.width->threads) sum += each->threads_here;
    return sum;
  };
  return of_core(a) < of_core(b);
}

// The hook handles block costs only. So text_bytes is 0 for these cores, as for those that predict branches.
void engine::give_shared_widths() {
  for (core& c : cores_) {
    if (machine_->thread_of(c.index).count == 1) continue;
    core& first = cores_[c.of_core];
    if (first.width == nullptr)
      first.width = &shared_widths_.emplace_back(shared_width{.slots = issue_slots{c.period_ps}, .threads = {}});
    c.width = first.width;
    c.width->threads.push_back(&c);
    c.text_bytes = 0;
  }
}

void engine::take_width(core& c, const block_cost& cost) noexcept {
  shared_width& shared = *c.width;
  const time_ps begin = c.clock - cost.picoseconds;
  const std::uint64_t accesses = c.hits[0] + c.hits[1] + c.slow_accesses();
  const time_ps of_accesses =
      std::min((accesses - c.accesses_issued) * c.issue_ps, begin - std::min(begin, c.issued_until));
  c.accesses_issued = accesses;
  const time_ps goes_on = std::max(begin, shared.slots.take(c.issued, shared.active, c.issued_until, of_accesses));
  const time_ps work =
      c.goes_ahead ? cost.picoseconds : std::min<time_ps>(cost.picoseconds, cost.instructions * c.issue_ps);
  const time_ps done = std::max(goes_on + cost.picoseconds, shared.slots.take(c.issued, shared.active, goes_on, work));
  c.width_ps += done - c.clock;
  c.clock = c.issued_until = done;
}

void engine::change_active(core& c, bool becomes_active) {
  if (c.width == nullptr) return;
  if (becomes_active) c.issued_until = c.clock;
  becomes_active ? ++c.width->active : --c.width->active;
  if (c.width->active > 0) machine_->share_core(c.index, c.width->active);
}

}  // namespace situ::model
