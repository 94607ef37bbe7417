// situ::launch: places as forks or as threads of the calling program.
#include "launch/launch.h"
#include "base/print.h"
#include "os/child.h"
#include "os/host.h"
#include "os/thread_stacks.h"
#include "os/worker.h"

#include "fabric/observe.h"
#include "launch/monitor.h"
#include "launch/standstill.h"

#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/memory/detail/losses.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <system_error>
#include <utility>

namespace situ {

std::string launch_result::message() const {
  if (first_lost) return fmt::format("place {} is lost: {}", first_lost->index(), places[first_lost->index()].reason);
  if (!first_failed) return {};
  const place_outcome& outcome = places[first_failed->index()];
  if (outcome.signal != 0)
    return fmt::format("place {} was killed by signal {}", first_failed->index(), outcome.signal);
  return fmt::format("place {} exited with code {}", first_failed->index(), outcome.exit_code);
}

int launch_result::exit_code() const noexcept {
  if (ok()) return 0;
  const place_outcome& outcome = places[(first_lost ? first_lost : first_failed)->index()];
  if (outcome.signal != 0) return 128 + outcome.signal;
  return outcome.exit_code != 0 ? outcome.exit_code : EXIT_FAILURE;
}

namespace detail {
namespace {

// --- processes -------------------------------------------------------------------------------------------------------

[[noreturn]] void end_child(int code) {
  std::cout.flush();  // for programs that have separated the streams from stdio
  std::clog.flush();
  std::fflush(nullptr);
  ::_exit(code);  // not exit: destructors and exit handlers of the forked program are the parent's
}

// Gives the place a descriptor of its own for the memory. Other state of the job stays the launcher's (the sign of a
// file or device names one of the launcher's descriptors).
int descriptor_of_place(job& shared) {
  const int own = ::fcntl(shared.descriptor(), F_DUPFD_CLOEXEC, 3);
  if (own < 0) {
    tell("situ: a place cannot hold the memory of its job: {}\n", ::strerrordesc_np(errno));
    ::_exit(EXIT_FAILURE);
  }
  shared.close_descriptor();
  return own;
}

[[noreturn]] void be_place(std::uint32_t place, job& shared, launch_monitor& monitor, const place_runner& run) {
  monitor.close_in_child();
  end_child(run({.place = place, .descriptor = descriptor_of_place(shared)}, shared.control()));
}

launch_result launch_processes(job& shared, const place_runner& run, const launch_options& options) {
  launch_monitor monitor{shared.control(), {.grace = options.grace, .time_limit = options.time_limit}, nullptr};
  std::cout.flush();
  std::fflush(nullptr);  // else each child would write the buffered text once more
  for (std::uint32_t place = 0; place < shared.control().place_count; ++place) {
    os::child process = os::child::fork([&]() -> int { be_place(place, shared, monitor, run); }, SIGKILL);
    if (!process)
      throw_error(errc::bad_launch, fmt::format("cannot start a process for place {} of {}: {}", place,
                                                shared.control().place_count, ::strerrordesc_np(errno)));
    monitor.watch(std::move(process), place, 1);
  }
  shared.close_descriptor();
  return monitor.run();
}

// --- threads ---------------------------------------------------------------------------------------------------------

// The places of a job as threads, from start to end.
class places_as_threads {
 public:
  places_as_threads(job& shared, const place_runner& run)
      : shared_{shared}, run_place_{run}, outcomes_(count()), ended_(count()) {}

  launch_result run(std::chrono::milliseconds time_limit) {
    const address_space space = address_space::map(shared_, count());
    shared_.close_descriptor();
    std::vector<os::worker> threads;
    try {
      const program_stacks for_mains;
      for (std::uint32_t place = 0; place < count(); ++place)
        threads.emplace_back([this, place, &space] { be_place(place, space); });
    } catch (const std::system_error& failure) {
      const std::string reason =
          fmt::format("cannot start a thread for place {} of {}: {}", threads.size(), count(), failure.what());
      for (std::size_t place = threads.size(); place < count(); ++place)
        mark_lost(shared_.control(), static_cast<std::uint32_t>(place), reason);
      threads.clear();  // joins: the loss ends those that run
      throw_error(errc::bad_launch, reason);
    }
    wait(time_limit);
    threads.clear();
    return result();
  }

 private:
  [[nodiscard]] std::uint32_t count() const noexcept { return shared_.control().place_count; }

  void be_place(std::uint32_t place, const address_space& space) {
    const pid_t process = ::getpid();
    const int code = run_place_({.place = place, .shared_job = &shared_, .shared_space = &space}, shared_.control());
    if (::getpid() != process) end_child(code);  // a child that the body forked has returned from it
    const std::lock_guard lock{mutex_};
    outcomes_[place].exit_code = code;
    ended_[place] = true;
    if (code != 0 && !first_failed_) first_failed_ = situ::place{place};
    ++ended_count_;
    end_.notify_one();
  }

  void wait(std::chrono::milliseconds time_limit) {
    std::unique_lock lock{mutex_};
    const auto all_ended = [this] { return ended_count_ == count(); };
    const auto end = std::chrono::steady_clock::now() + time_limit;
    standstill_watch standstill;
    while (time_limit.count() == 0 || std::chrono::steady_clock::now() < end) {
      const auto left = time_limit.count() == 0 ? look_at_standing_places : end - std::chrono::steady_clock::now();
      if (end_.wait_for(lock, std::min<std::chrono::nanoseconds>(left, look_at_standing_places), all_ended)) return;
      if (standstill.look(shared_.control()).is_final) end_standstill(shared_.control());
    }
    for (std::uint32_t place = 0; place < count(); ++place)
      if (!ended_[place])
        mark_lost(shared_.control(), place,
                  fmt::format("still running after the time limit of {} ms", time_limit.count()));
    end_.wait(lock, all_ended);
  }

  launch_result result() {
    launch_result made;
    job_control& control = shared_.control();
    for (std::uint32_t place = 0; place < count(); ++place)
      if (control.slot(place).state.load() == place_state::lost) outcomes_[place].reason = lost_reason(control, place);
    if (control.failure_epoch.load() != 0) made.first_lost = situ::place{control.first_lost.load()};
    made.first_failed = first_failed_ ? first_failed_ : made.first_lost;
    made.places = std::move(outcomes_);
    return made;
  }

  job& shared_;
  const place_runner& run_place_;
  std::mutex mutex_;
  std::condition_variable end_;
  std::vector<place_outcome> outcomes_;
  std::vector<bool> ended_;
  std::optional<situ::place> first_failed_;
  std::uint32_t ended_count_ = 0;
};

}  // namespace

void reserve_observation(job_options& options) noexcept {
  if (options.stats || options.trace) options.observation_bytes = observation_bytes(options.place_count, options.trace);
}

launch_result launch_job(std::uint32_t places, const place_runner& run, const launch_options& options) {
  const bool trace = !options.trace_file.empty();
  job_options chosen{.place_count = places,
                     .memory_budget = options.memory_budget,
                     .stack_bytes = options.stack_bytes,
                     .memory_intent = options.memory_intent,
                     .memory = options.memory,
                     .stats = options.stats,
                     .trace = trace,
                     .progress = options.progress,
                     .checked = options.checked};
  reserve_observation(chosen);
  job shared = job::create(chosen);
  launch_result result = options.mode == launch_mode::threads ? places_as_threads{shared, run}.run(options.time_limit)
                                                              : launch_processes(shared, run, options);
  if (options.stats) result.statistics = format_statistics(shared.control());
  if (trace) write_trace(shared.control(), options.trace_file);
  return result;
}

}  // namespace detail
}  // namespace situ
