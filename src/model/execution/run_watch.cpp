#include "model/execution/run_watch.h"

#include <asm/termbits.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <utility>

#include "model/execution/host_calls.h"
#include "model/execution/host_samples.h"
#include "model/execution/report.h"
#include "model/execution/start.h"
#include "os/signals.h"

namespace situ::model {
namespace {

constexpr std::uint64_t progress_ns = 1'000'000'000;

watch_options watched_for;
std::atomic<int> ended_by = 0;
std::atomic<bool> progress_is_due = false;
bool has_shown_progress = false;
std::uint64_t last_ns = 0;
std::uint64_t last_accesses = 0;

void on_end(int signal) {
  ended_by.store(signal, std::memory_order_relaxed);
  the_engine->watch_soon();
}

void on_sample() {
  if (host_ns() - last_ns < progress_ns) return;
  progress_is_due.store(true, std::memory_order_relaxed);
  the_engine->watch_soon();
}

bool is_terminal(long descriptor) {
  termios unused{};
  return host_call(SYS_ioctl, descriptor, TCGETS, reinterpret_cast<long>(&unused)) == 0;
}

void show_progress() {
  const std::uint64_t now_ns = host_ns();
  const run_figures figures = figures_of(*the_engine, 0);
  const double seconds = static_cast<double>(now_ns - last_ns) * 1e-9;
  say(fmt::format("\r{:.3f} ms modelled, {:.1f} million accesses, {:.1f} million a second\x1b[K",
                  static_cast<double>(figures.modelled_ps) * 1e-9, static_cast<double>(figures.accesses) * 1e-6,
                  static_cast<double>(figures.accesses - last_accesses) * 1e-6 / seconds)
          .c_str());
  has_shown_progress = true;
  last_ns = now_ns;
  last_accesses = figures.accesses;
}

time_ps look_at_run(time_ps now) {
  if (watched_for.over_time != nullptr) watched_for.over_time->take_due(*the_engine, now);
  if (const int signal = ended_by.load(std::memory_order_relaxed)) {
    end_watch();
    say(fmt::format("situ model: ended from outside ({}) at {} ns of modelled time: the report is not complete\n",
                    ::sigdescr_np(signal), now / 1000)
            .c_str());
    host_exit_with_report(128 + signal);
  }
  if (progress_is_due.exchange(false, std::memory_order_relaxed)) show_progress();
  return watched_for.over_time != nullptr ? watched_for.over_time->next() : never;
}

// Catches a signal, unless the program was started with the signal ignored.
void catch_end(int signal) {
  if (os::is_ignored(signal)) return;
  // A second signal ends the run at once.
  os::handle_signal(signal, &on_end, static_cast<int>(SA_ONSTACK | SA_RESETHAND));
}

}  // namespace

void begin_watch(engine& of, const watch_options& options) {
  watched_for = options;
  of.watch(&look_at_run, options.over_time != nullptr ? options.over_time->next() : never);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) catch_end(each);
  last_ns = host_ns();
  begin_host_samples(options.shows_progress && is_terminal(2) ? &on_sample : nullptr);
}

void end_watch() noexcept {
  end_host_samples();
  if (std::exchange(has_shown_progress, false)) say("\r\x1b[K");
}

bool was_ended() noexcept { return ended_by.load(std::memory_order_relaxed) != 0; }

}  // namespace situ::model
