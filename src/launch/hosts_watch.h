// Finds out that a job over several hosts stands still: from looks at its hosts, each of which its agent takes of the
// places there.
//
//   launcher --- look r ---> every agent --- how its places stand, its counts of messages ---> launcher
//
// A state machine without clock or network: the launcher passes it times and answers, and sends the looks.
//
// Invariants
//   1. Look r + 1 is asked for once all hosts have answered look r. So there is a moment between the two looks of all
//      hosts.
//   2. The job stands still if, in both looks, each place that has not ended sleeps in waits that only places of the job
//      end, without a break in between, and the counts of messages are the same, and those sent are those taken: then at
//      that moment all slept, and no message was on its way (Mattern, "Algorithms for distributed termination
//      detection", 1987). Operations on memory need no count: a place does not sleep in such a wait until it has the
//      answers of its own.
//   3. A host that does not answer keeps all others from being judged: a false alarm is worse than none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "launch/host_frames.h"

namespace situ::detail {

class hosts_watch {
 public:
  using clock = std::chrono::steady_clock;

  struct finding {
    bool is_final = false;             // no place can ever go on
    bool is_without_progress = false;  // for as long as the watchdog waits; once for each such time
  };

  // watchdog: how long no place makes progress until it is said; 0: for ever.
  hosts_watch(std::uint16_t hosts, std::chrono::milliseconds watchdog, clock::time_point now)
      : watchdog_{watchdog}, last_progress_{now}, hosts_(hosts) {}

  // When the next look is due. The latest time there is: while answers are missing.
  [[nodiscard]] clock::time_point next_look() const noexcept { return next_look_; }
  // Begins a look, and returns its number, for all hosts that are not lost.
  [[nodiscard]] std::uint64_t begin_look();
  // Takes an answer; once it is the last, returns what the look has found. Answers to earlier looks count for nothing.
  [[nodiscard]] std::optional<finding> take(std::uint16_t host, const cluster::host_look& seen, clock::time_point now);
  // Says that nothing more comes from that host. Earlier looks then count for nothing: the others have to hear of the loss.
  void lose(std::uint16_t host, clock::time_point now);

 private:
  struct one_host {
    std::optional<cluster::host_look> before;
    std::optional<cluster::host_look> now;
    bool is_lost = false;
  };
  [[nodiscard]] std::optional<finding> judge(clock::time_point now);
  [[nodiscard]] bool stands_still() const noexcept;
  [[nodiscard]] bool all_have_come(std::uint16_t from, std::uint16_t to) const noexcept;

  std::chrono::milliseconds watchdog_;
  clock::time_point next_look_{};
  clock::time_point last_progress_;
  bool is_told_ = false;  // that there is no progress
  std::uint64_t number_ = 0;
  std::vector<one_host> hosts_;
};

}  // namespace situ::detail
