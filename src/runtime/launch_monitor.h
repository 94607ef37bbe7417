// Watches the processes of a job from the first to the last, and tells the places at once when one of them is lost.
//
// Invariants
//   1. Every watched process is reaped: by run(), or killed and reaped by the destructor.
//   2. A place that ends while it is joined, or that can never join a job that others have joined, is marked lost.
//   3. A place that is stopped (by a signal, a debugger) is not lost; it is logged, once for each stop, as is that it
//      goes on.
//   4. A job in which nobody can go on (standstill.h) is ended, with a report.
//   5. Where the launcher is elsewhere (an agent's), it hears of each end and of the first loss, in the order in which
//      they are seen, and the watch lasts until it has released the job, though no process runs here any more: others
//      may join elsewhere, and must hear who never will.
//   6. Stages only advance: running -> grace (a place is lost) -> SIGTERM to the rest -> SIGKILL to the rest. But from
//      grace back to running once the survivors have agreed to go on (survivors()).
// One thread uses it, the one that forks: PR_SET_PDEATHSIG is tied to that thread's life.
#pragma once

#include "memory/job.h"

#include <situ/runtime/launch.h>

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/host.h"
#include "runtime/standstill.h"

namespace situ::detail {

// Two looks that find everybody asleep, and nobody awake between them, end a job.
inline constexpr std::chrono::milliseconds look_at_standing_places{200};

class launch_monitor {
 public:
  // A launcher elsewhere.
  struct far_launcher {
    int descriptor = -1;  // by which it says what is to be done
    std::function<void(launch_monitor&)> on_ready{};
    std::function<void(std::uint32_t place, const place_outcome&)> ended{};
    std::function<void(std::uint32_t place, std::string_view why)> lost{};
  };

  struct limits {
    std::chrono::milliseconds grace{5000};
    std::chrono::milliseconds time_limit{0};              // 0: none
    std::chrono::milliseconds stopped_after{3000};        // that a place has been stopped before this is said
    std::uint64_t (*oom_kills)() = &out_of_memory_kills;  // the greatest number: they could not be looked at
    std::chrono::milliseconds watchdog{0};                // without progress until a report; 0: none
    bool reports_on_quit = false;                         // SIGQUIT asks for a report, and is not passed on
    // Told where the places stand: on request, before the time limit ends the job, after `watchdog`, and where nobody
    // can go on. Nothing: the log.
    std::function<void(std::string_view why)> report{};
    const far_launcher* launcher = nullptr;  // outlives the monitor
  };

  // signal_descriptor: a signalfd of signals to pass on to the places, or -1. The caller keeps it.
  launch_monitor(job_control& control, limits limits, int signal_descriptor);
  ~launch_monitor();
  launch_monitor(const launch_monitor&) = delete;
  launch_monitor& operator=(const launch_monitor&) = delete;

  // From here on the child stands for `places` places from first_place on (1, or all where places are threads).
  void watch(pid_t child, std::uint32_t first_place, std::uint32_t places);
  // In a forked child: closes the descriptors that came along; the siblings are not the child's to watch.
  void close_in_child() noexcept;
  // Until the last process has ended.
  launch_result run();

  // What a launcher elsewhere asks for.
  // To all processes. SIGQUIT asks for a report where that is so; the second SIGINT ends all at once.
  void pass_on(int signal);
  // Ends the job with a report, as the time limit does.
  void end_by_time_limit();
  // The job has ended, or there is nobody any more to tell: what still runs is killed.
  void release();

 private:
  using clock = std::chrono::steady_clock;
  enum class stage { running, grace, terminating, killing };
  struct child {
    pid_t pid;
    int descriptor;
    std::uint32_t first_place;
    std::uint32_t places;
    bool ended;
    bool is_told_stopped = false;
    clock::time_point stopped_since{clock::time_point::max()};
  };

  void look_at_children();
  void reap(child& ended);
  void record(const child& ended, int code, int signal);
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
  void tell_first_loss();
  void signal_running(int signal) noexcept;
  [[nodiscard]] int wait_ms() const;
  [[nodiscard]] launch_result result();

  job_control& control_;
  limits limits_;
  std::vector<child> children_;
  std::vector<place_outcome> outcomes_;
  std::vector<std::uint32_t> unjoined_;  // places that have ended before joining, while nobody had joined
  std::optional<place> first_failed_;
  clock::time_point stage_end_{clock::time_point::max()};
  clock::time_point running_end_{clock::time_point::max()};  // by the time limit
  stage stage_ = stage::running;
  clock::time_point next_look_at_stopped_{};
  std::size_t next_stopped_ = 0;  // child to look at
  standstill_watch standstill_;
  clock::time_point next_look_at_standstill_{};
  clock::time_point last_progress_{clock::now()};
  bool is_standstill_told_ = false;
  std::uint64_t oom_kills_;  // of this control group, when the job began
  std::size_t running_ = 0;
  int poll_descriptor_ = -1;
  int signal_descriptor_;
  bool interrupted_ = false;
  bool looks_at_children_ = false;  // the system refuses descriptors of some: their ends are looked for
  bool has_told_loss_ = false;
  bool is_released_ = false;
};

}  // namespace situ::detail
