// What a core has asked for on wrong paths: until a branch that it did not foresee is known, it goes on where it took
// the branch to go, and its loads there start. The lines of those that the right path needs as well are there, or on
// their way, when it comes to them. Mutlu, Kim, Armstrong and Patt (Understanding the effects of wrong-path memory
// references on processor performance, WMPI 2004) find that such loads do far more good than harm.
//
// Taken for granted is that both ways lead to the same loads. So a load behind such a branch has been asked for at the
// time at which it would have been had the branch been foreseen, if that is before the branch was known and within the
// window behind it. Paths overlap: a load may have been asked for several branches ago, since by then the core had
// already gone that far. The first that reached it counts.
//
// Worked example: a window of 10 instructions, one a ns; 5 ns to begin anew. The branch at instruction 2, at 2 ns, is
// known at 101, so instruction 3 comes at 107. Its load was asked for at 3 ns. The branch at 4, at 108, is known at
// once, and instruction 5 comes at 114; its load has been asked for at 5 ns by the first path, which went on to
// instruction 11. Instruction 12, at 121, is asked for then: the first path's window did not hold it, and the second
// path had ended.
//
// Not thread-safe. cost: constant for each access, but for paths that end.
#pragma once

#include "model/parts/time.h"

#include <algorithm>
#include <cstdint>
#include <deque>

namespace situ::model {

class wrong_paths {
 public:
  struct path {
    std::uint64_t until = 0;  // the first instruction that did not fit into the window
    time_ps begin = 0;        // when the core came to the branch
    time_ps known = 0;        // when the branch was known
  };

  // A branch was not foreseen; the core goes on at `goes_on`. pre: known <= goes_on, and branches come in their order.
  void add(const path& of, time_ps goes_on) {
    if (of.known > of.begin) paths_.push_back({of.until, of.known, lost_});
    lost_ += goes_on - of.begin;
  }

  // When an instruction that the core has at `now` was first executed, on whatever path. pre: numbers do not fall.
  [[nodiscard]] time_ps asked_at(std::uint64_t instruction, time_ps now) noexcept {
    while (!paths_.empty()) {
      const one& first = paths_.front();
      const time_ps without = now - std::min(now, lost_ - first.lost_before);
      if (instruction < first.until && without < first.known) return without;
      paths_.pop_front();  // nor does it reach what comes later
    }
    return now;
  }

 private:
  struct one {
    std::uint64_t until;
    time_ps known;
    time_ps lost_before;  // by branches before this one
  };
  std::deque<one> paths_;
  time_ps lost_ = 0;  // by all branches that were not foreseen: waiting, and beginning anew
};

}  // namespace situ::model
