// Watches the processes of a job from the first to the last, and notifies the places at once when one of them is lost.
//
// Invariants
//   1. Every watched process is reaped: by run(), or killed and reaped by the destructor.
//   2. A place that ends while it is joined, or that can never join a job that others have joined, is marked lost.
//   3. A place that is stopped (by a signal, a debugger) is not lost; the monitor logs each stop and each continuation
//      once.
//   4. The monitor ends a job in which no place can go on (standstill.h), with a report; over hosts their launcher does.
//   5. A launcher elsewhere (of an agent) hears of each end and each loss, in the order in which the monitor sees them,
//      and then whether the places here go on after them. The watch lasts until the launcher has released the job, even
//      if no process runs here any more: places may join at other hosts, and must hear which never will.
//   6. Stages only advance: running -> grace (a place is lost) -> SIGTERM to the rest -> SIGKILL to the rest. But from
//      grace back to running once the survivors have agreed to go on (survivors()).
// One thread uses it, the one that forks: PR_SET_PDEATHSIG is tied to that thread's life.
#pragma once

#include <situ/launch/launch_result.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "launch/standstill.h"
#include "os/child.h"
#include "os/descriptor.h"
#include "os/host.h"
#include "os/signals.h"

namespace situ::detail {

// The interval of looks. The job is ended if two looks find all places asleep and none was awake between them.
inline constexpr std::chrono::milliseconds look_at_standing_places{200};

class launch_monitor {
 public:
  // The connection to a launcher on another host.
  struct far_launcher {
    int descriptor = -1;  // from which its requests are read
    std::function<void(launch_monitor&)> on_ready{};
    std::function<void(std::uint32_t place, const place_outcome&)> ended{};
    std::function<void(std::uint32_t place, std::string_view why)> lost{};
    std::function<void()> goes_on{};  // the places here have agreed to go on after all ends so far
  };

  struct limits {
    std::chrono::milliseconds grace{5000};
    std::chrono::milliseconds time_limit{0};        // 0: none
    std::chrono::milliseconds stopped_after{3000};  // how long a place has been stopped before the monitor logs it
    std::uint64_t (*oom_kills)() = &out_of_memory_kills;  // the greatest number: the count is not available
    std::chrono::milliseconds watchdog{0};                // time without progress until a report; 0: none
    bool reports_on_quit = false;                         // SIGQUIT asks for a report, and is not passed on
    // Reports what the places do: on request, before the time limit ends the job, after `watchdog`, and if no place can
    // go on. If empty, the log gets the report.
    std::function<void(std::string_view why)> report{};
    const far_launcher* launcher = nullptr;  // outlives the monitor
  };

  // signals: those to pass on to the places; null: none. They outlive the monitor.
  launch_monitor(job_control& control, limits limits, const os::passed_signals* signals);
  ~launch_monitor();
  launch_monitor(const launch_monitor&) = delete;
  launch_monitor& operator=(const launch_monitor&) = delete;

  // Watches the child, which stands for `places` places from first_place on (1, or all if places are threads).
  void watch(os::child process, std::uint32_t first_place, std::uint32_t places);
  // In a forked child: closes the inherited descriptors; the child does not watch its siblings.
  void close_in_child() noexcept;
  // Watches until the last process has ended.
  launch_result run();

  // The next four functions carry out requests of a launcher elsewhere. pass_on() sends the signal to all processes.
  // If limits::reports_on_quit, SIGQUIT asks for a report instead; the second SIGINT kills all at once.
  void pass_on(int signal);
  // Ends the job with a report, as the time limit does.
  void end_by_time_limit();
  // Tells the launcher once more, if it is so, that the places here go on: it has told of a loss that they may know.
  void repeat_going_on() noexcept { told_survived_ = 0; }
  // Kills the remaining processes, because the job has ended or the launcher is gone.
  void release();

 private:
  using clock = std::chrono::steady_clock;
  enum class stage { running, grace, terminating, killing };
  struct child {
    os::child process;  // empty: it has ended
    std::uint32_t first_place;
    std::uint32_t places;
    bool is_told_stopped = false;
    clock::time_point stopped_since{clock::time_point::max()};
  };

  void look_at_children();
  void reap(child& ended);
  void record(const child& ended, os::exit_status how);
  void record_unknown(const child& ended);
  void note_failure(std::uint32_t place);
  void note_end(const child& ended, std::uint32_t place);
  void look_at_unjoined();
  void look_at_stopped();
  void note_stopped(child& each);
  void look_at_standstill();
  void report(std::string_view why);
  void advance_stage();
  void enter(stage next);
  void pass_on_signals();
  void tell_end(std::uint32_t place);
  void tell_losses();
  void signal_running(int signal) noexcept;
  [[nodiscard]] int wait_ms() const;
  [[nodiscard]] launch_result result();

  job_control& control_;
  limits limits_;
  std::vector<child> children_;
  std::vector<place_outcome> outcomes_;
  std::vector<std::uint32_t> unjoined_;  // places that have ended before joining, while no place had joined
  std::optional<place> first_failed_;
  clock::time_point stage_end_{clock::time_point::max()};
  clock::time_point running_end_{clock::time_point::max()};  // when the time limit ends the job
  stage stage_ = stage::running;
  clock::time_point next_look_at_stopped_{};
  std::size_t next_stopped_ = 0;  // the child to look at next
  standstill_watch standstill_;
  clock::time_point next_look_at_standstill_{};
  clock::time_point last_progress_{clock::now()};
  bool is_standstill_told_ = false;
  std::uint64_t oom_kills_;  // count of this control group when the job began
  std::size_t running_ = 0;
  os::descriptor poll_descriptor_;
  const os::passed_signals* signals_;
  bool interrupted_ = false;
  bool looks_at_children_ = false;  // the system refuses descriptors of some children: the monitor polls for their ends
  // For a launcher elsewhere: the ends that it knows, the losses among them, and the ends after which it knows that the
  // places go on.
  std::uint32_t told_ends_ = 0;
  std::vector<bool> told_lost_;
  std::uint32_t told_survived_ = 0;
  bool is_released_ = false;
};

}  // namespace situ::detail
