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
// Time may have any unit, cycles or picoseconds. Not thread-safe. cost: a few additions for an access that overlaps
// with no other access, logarithmic in the outstanding accesses for the rest.
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
  void add(time_ps begin, time_ps hit, time_ps miss);
  // Returns the figures for the time when all added accesses are over.
  [[nodiscard]] camat_figures figures() const;
  void reset();

 private:
  enum class edge : std::uint8_t { hit_ends, miss_ends };
  struct event {
    time_ps at;
    edge what;
    std::uint64_t miss;     // for hit_ends: how long the access waits after its hit time
    time_ps pure_at_begin;  // for miss_ends: pure_active when the miss began
    [[nodiscard]] bool operator>(const event& other) const noexcept {
      return at != other.at ? at > other.at : what > other.what;
    }
  };
  // An access that began while no other access was outstanding. Most such accesses end before the next one begins.
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
  lone_access lone_;  // used only while there are no events
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  time_ps now_ = 0;
  std::uint64_t hitting_ = 0;
  std::uint64_t missing_ = 0;
};

}  // namespace situ::model
