#include "model/parts/camat.h"

namespace situ::model {

double camat_figures::five_parameters() const noexcept {
  if (accesses == 0) return 0;
  const double hit = hit_active == 0 ? 0 : hit_time_each() / hit_concurrency();
  const double miss = pure_active == 0 ? 0 : pure_miss_rate() * pure_miss_penalty() / pure_miss_concurrency();
  return hit + miss;
}

// Begins and ends the misses up to `until`, and moves there.
void camat_meter::pass(time_ps until) {
  while (true) {
    const time_ps begins = begins_.empty() ? no_time : begins_.front().at;
    const time_ps ends = ends_.empty() ? no_time : ends_.top().at;
    if (std::min(begins, ends) > until || (begins_.empty() && ends_.empty())) break;
    if (begins <= ends) {
      move_to(begins);
      ends_.push({.at = begins + begins_.front().miss, .pure_at_begin = sums_.pure_active});
      begins_.pop_front();
    } else {
      move_to(ends);
      if (const time_ps pure = sums_.pure_active - ends_.top().pure_at_begin; pure > 0) {
        ++sums_.pure_misses;
        sums_.pure_time += pure;
      }
      ends_.pop();
    }
  }
  move_to(until);
}

camat_figures camat_meter::figures() const {
  camat_meter ended = *this;
  ended.pass(no_time);
  return ended.sums_;
}

void camat_meter::reset() { *this = camat_meter{}; }

}  // namespace situ::model
