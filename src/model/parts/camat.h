// C-AMAT: the average time of a memory access where accesses overlap.
//
// Sun and Wang, Concurrent average memory access time (IEEE Computer 2014), as Evaluating GPGPU memory performance
// through the C-AMAT model (MCHPC 2017, sections 2.2 and 3) uses it:
//
//   two parameters   C-AMAT = T / C        cycles with an access outstanding, accesses
//   five parameters  C-AMAT = H / CH + pMR * pAMP / CM
//
// H is the hit time that each access begins with. A *pure miss cycle* is one of a miss while no access is in its hit
// time; a pure miss is an access that has one. CH and CM are how many accesses are in their hit time, or in pure miss
// cycles, on average over the time in which any is.
//
// Time here is in any unit, cycles or picoseconds. Not thread-safe. cost: a few additions for an access that overlaps
// with no other, the log of what is outstanding for the rest.
#pragma once

#include "model/parts/time.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace situ::model {

// The figures of one cache or memory.
struct camat_figures {
  std::uint64_t accesses = 0;
  std::uint64_t active = 0;       // time with an access outstanding
  std::uint64_t hit_time = 0;     // summed over accesses
  std::uint64_t hit_active = 0;   // time with an access in its hit time
  std::uint64_t pure_misses = 0;  // accesses
  std::uint64_t pure_time = 0;    // pure miss time summed over accesses
  std::uint64_t pure_active = 0;  // time with a pure miss

  // The five parameters; 0 where nothing was counted.
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

// Follows the accesses of one part. pre: they come in the order of their begin; one that comes late counts from the
// latest begin on.
class camat_meter {
 public:
  // An access that begins, is in its hit time for `hit`, and then, if it misses, waits for `miss`.
  void add(time_ps begin, time_ps hit, time_ps miss);
  // The figures once all that was added is over.
  [[nodiscard]] camat_figures figures() const;
  void reset();

 private:
  enum class edge : std::uint8_t { hit_ends, miss_ends };
  struct event {
    time_ps at;
    edge what;
    std::uint64_t miss;     // of hit_ends: how long it waits then
    time_ps pure_at_begin;  // of miss_ends: pure_active when its miss began
    [[nodiscard]] bool operator>(const event& other) const noexcept {
      return at != other.at ? at > other.at : what > other.what;
    }
  };
  // An access while nothing else was outstanding when it began: most are over when the next one comes.
  struct lone_access {
    time_ps begin = 0;
    time_ps hit = 0;
    time_ps miss = 0;
    bool exists = false;
  };
  void add_overlapping(time_ps begin, time_ps hit, time_ps miss);
  void end_lone() noexcept;
  void pass(time_ps until);
  void move_to(time_ps at);

  camat_figures sums_;
  lone_access lone_;  // only while there are no events
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  time_ps now_ = 0;
  std::uint64_t hitting_ = 0;
  std::uint64_t missing_ = 0;
};

}  // namespace situ::model
