// The loads that a core has issued on wrong paths: until a mispredicted branch is resolved, the core continues on the
// predicted path and issues that path's loads. If the right path needs the same lines, they have arrived or are in
// flight when the core gets to them. Mutlu, Kim, Armstrong and Patt (Understanding the effects of wrong-path memory
// references on processor performance, WMPI 2004) find that such loads do far more good than harm.
//
// The model assumes that both paths lead to the same loads. So a load after a mispredicted branch was issued when it
// would have been issued after a correct prediction, if that time is before the branch was resolved and the load is
// within the window behind the branch. Paths overlap: a load may have been issued several branches ago, since the core
// had already run that far ahead. The first path that reached the load counts.
//
// Worked example: a window of 10 instructions, one a ns; a restart takes 5 ns. The branch at instruction 2, at 2 ns, is
// resolved at 101, so instruction 3 comes at 107. Its load was issued at 3 ns. The branch at 4, at 108, is resolved at
// once, and instruction 5 comes at 114; its load was issued at 5 ns by the first path, which ended with instruction 11,
// the last in its window. Instruction 12, at 121, issues its load then: the first path's window did not hold it, and
// the second path had ended.
//
// Not thread-safe. cost: constant for each access, plus a step for each path that ends.
#pragma once

#include "model/parts/ring_queue.h"
#include "model/parts/time.h"

#include <algorithm>
#include <cstdint>

namespace situ::model {

class wrong_paths {
 public:
  struct path {
    std::uint64_t until = 0;  // the first instruction that did not fit into the window
    time_ps begin = 0;        // when the core reached the branch
    time_ps known = 0;        // when the branch was resolved
  };

  // Records a mispredicted branch; the core continues at `goes_on`. pre: known <= goes_on, and branches come in order.
  void add(const path& of, time_ps goes_on) {
    if (of.known > of.begin) paths_.push_back({of.until, of.known, lost_});
    lost_ += goes_on - of.begin;
  }

  // Returns when an instruction that the core reaches at `now` was first executed, on any path. pre: numbers do not
  // decrease.
  [[nodiscard]] time_ps asked_at(std::uint64_t instruction, time_ps now) noexcept {
    while (!paths_.empty()) {
      const one& first = paths_.front();
      const time_ps without = now - std::min(now, lost_ - first.lost_before);
      if (instruction < first.until && without < first.known) return without;
      paths_.pop_front();  // the path does not reach later instructions either
    }
    return now;
  }

 private:
  struct one {
    std::uint64_t until;
    time_ps known;
    time_ps lost_before;  // time lost by branches before this one
  };
  ring_queue<one> paths_;
  time_ps lost_ = 0;  // time lost by all mispredicted branches: waiting and restarting
};

}  // namespace situ::model
