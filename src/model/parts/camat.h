// C-AMAT: the average time of a memory access when accesses overlap.
//
// Sun and Wang, Concurrent average memory access time (IEEE Computer 2014), as Evaluating GPGPU memory performance
// through the C-AMAT model (MCHPC 2017, sections 2.2 and 3) uses it:
//
//   two parameters   C-AMAT = T / C        cycles with an access outstanding, accesses
//   five parameters  C-AMAT = H / CH + pMR * pAMP / CM
//
// H is the hit time with which each access begins. A *pure miss cycle* is a cycle of a miss in which no access is in
// its hit time; a pure miss is an access with a pure miss cycle. CH and CM are the average numbers of accesses that are
// in their hit time, or in pure miss cycles, over the time in which there is at least one.
//
// Begins come in order, so at any time an access is in its hit time until the latest end of all hit times so far; only
// misses need events.
//
// Time may have any unit, cycles or picoseconds. Not thread-safe. cost: a few additions for a hit, logarithmic
// in the outstanding misses for a miss.
#pragma once

#include "model/parts/ring_queue.h"
#include "model/parts/time.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace situ::model {

// The figures of one cache or memory.
struct camat_figures {
  std::uint64_t accesses = 0;
  std::uint64_t active = 0;       // time with an access outstanding
  std::uint64_t hit_time = 0;     // sum over all accesses
  std::uint64_t hit_active = 0;   // time with an access in its hit time
  std::uint64_t pure_misses = 0;  // number of accesses with a pure miss cycle
  std::uint64_t pure_time = 0;    // pure miss time, sum over all accesses
  std::uint64_t pure_active = 0;  // time with an access in pure miss cycles

  // The five parameters; 0 if nothing was counted.
  [[nodiscard]] double hit_time_each() const noexcept { return ratio(hit_time, accesses); }              // H
  [[nodiscard]] double hit_concurrency() const noexcept { return ratio(hit_time, hit_active); }          // CH
  [[nodiscard]] double pure_miss_rate() const noexcept { return ratio(pure_misses, accesses); }          // pMR
  [[nodiscard]] double pure_miss_penalty() const noexcept { return ratio(pure_time, pure_misses); }      // pAMP
  [[nodiscard]] double pure_miss_concurrency() const noexcept { return ratio(pure_time, pure_active); }  // CM

  // C-AMAT in the meter's unit of time.
  [[nodiscard]] double two_parameters() const noexcept { return ratio(active, accesses); }
  [[nodiscard]] double five_parameters() const noexcept;

 private:
  static double ratio(std::uint64_t a, std::uint64_t b) noexcept {
    return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
  }
};

// Measures the accesses of one part. pre: accesses are added in the order of their begin; an access that is added late
// counts from the latest begin on.
class camat_meter {
 public:
  // Adds an access that begins at `begin`, is in its hit time for `hit`, and then, if it misses, waits for `miss`.
  void add(time_ps begin, time_ps hit, time_ps miss) {
    begin = std::max(begin, now_);
    if (ends_.empty() && begins_.empty()) [[likely]] {
      move_to(begin);
    } else {
      pass(begin);
    }
    ++sums_.accesses;
    sums_.hit_time += hit;
    hit_until_ = std::max(hit_until_, begin + hit);
    if (miss != 0) [[unlikely]]
      begins_.insert({.at = begin + hit, .miss = miss}, [](const auto& a, const auto& b) { return a.at < b.at; });
  }
  // Returns the figures for the time when all added accesses are over.
  [[nodiscard]] camat_figures figures() const;
  void reset();

 private:
  struct begin_of_miss {
    time_ps at;
    time_ps miss;  // how long the access waits from then on
  };
  struct end_of_miss {
    time_ps at;
    time_ps pure_at_begin;  // pure_active when the miss began
    [[nodiscard]] bool operator>(const end_of_miss& other) const noexcept { return at > other.at; }
  };
  void pass(time_ps until);
  // pre: no miss begins or ends before `at`.
  void move_to(time_ps at) noexcept {
    const bool is_missing = !ends_.empty();
    const time_ps hit_till = std::min(at, std::max(hit_until_, now_));
    sums_.hit_active += hit_till - now_;
    sums_.active += (is_missing ? at : hit_till) - now_;
    if (is_missing) sums_.pure_active += at - hit_till;
    now_ = at;
  }

  camat_figures sums_;
  // The misses that are not over at now_.
  ring_queue<begin_of_miss> begins_;  // in the order of time
  std::priority_queue<end_of_miss, std::vector<end_of_miss>, std::greater<>> ends_;
  time_ps now_ = 0;
  time_ps hit_until_ = 0;  // the latest end of a hit time; hit_active counts up to now_
};

}  // namespace situ::model
