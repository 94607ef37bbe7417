#include "model/parts/camat.h"

namespace situ::model {

double camat_figures::five_parameters() const noexcept {
  if (accesses == 0) return 0;
  const double hit = hit_active == 0 ? 0 : hit_time_each() / hit_concurrency();
  const double miss = pure_active == 0 ? 0 : pure_miss_rate() * pure_miss_penalty() / pure_miss_concurrency();
  return hit + miss;
}

void camat_meter::add(time_ps begin, time_ps hit, time_ps miss) {
  if (begin < now_) begin = now_;
  if (lone_.exists) {
    if (begin >= lone_.begin + lone_.hit + lone_.miss) {
      end_lone();
    } else {
      lone_.exists = false;
      add_overlapping(lone_.begin, lone_.hit, lone_.miss);
    }
  }
  if (!events_.empty()) pass(begin);
  if (events_.empty()) {
    lone_ = {begin, hit, miss, true};
    now_ = begin;
  } else {
    add_overlapping(begin, hit, miss);
  }
}

void camat_meter::end_lone() noexcept {
  lone_.exists = false;
  ++sums_.accesses;
  sums_.active += lone_.hit + lone_.miss;
  sums_.hit_time += lone_.hit;
  sums_.hit_active += lone_.hit;
  sums_.pure_time += lone_.miss;
  sums_.pure_active += lone_.miss;
  if (lone_.miss > 0) ++sums_.pure_misses;
}

void camat_meter::add_overlapping(time_ps begin, time_ps hit, time_ps miss) {
  pass(begin);
  move_to(begin);
  ++sums_.accesses;
  sums_.hit_time += hit;
  ++hitting_;
  events_.push({.at = begin + hit, .what = edge::hit_ends, .miss = miss, .pure_at_begin = 0});
}

// Handles the events up to `until`.
void camat_meter::pass(time_ps until) {
  while (!events_.empty() && events_.top().at <= until) {
    const event next = events_.top();
    events_.pop();
    move_to(next.at);
    if (next.what == edge::hit_ends) {
      --hitting_;
      if (next.miss == 0) continue;
      ++missing_;
      events_.push({next.at + next.miss, edge::miss_ends, 0, sums_.pure_active});
    } else {
      --missing_;
      if (const time_ps pure = sums_.pure_active - next.pure_at_begin; pure > 0) {
        ++sums_.pure_misses;
        sums_.pure_time += pure;
      }
    }
  }
}

void camat_meter::move_to(time_ps at) {
  const time_ps length = at - now_;
  if (hitting_ > 0 || missing_ > 0) sums_.active += length;
  if (hitting_ > 0) sums_.hit_active += length;
  if (hitting_ == 0 && missing_ > 0) sums_.pure_active += length;
  now_ = at;
}

camat_figures camat_meter::figures() const {
  camat_meter ended = *this;
  if (ended.lone_.exists) ended.end_lone();
  ended.pass(no_time);
  return ended.sums_;
}

void camat_meter::reset() { *this = camat_meter{}; }

}  // namespace situ::model
