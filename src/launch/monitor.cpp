#include "launch/monitor.h"

#include "launch/body_result.h"
#include "memory/job.h"

#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/memory/detail/losses.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace situ::detail {
namespace {

constexpr std::uint64_t signal_event = ~std::uint64_t{0};
constexpr std::uint64_t launcher_event = signal_event - 1;
constexpr std::chrono::milliseconds between_term_and_kill{1000};
// The interval of looks at failure_epoch: nothing else reports a place that is lost while its process lives (it left by
// an exception and lingers).
constexpr std::chrono::milliseconds look_at_epoch{250};
// A look at a process takes three system calls, so no more than this many processes are looked at in a turn.
constexpr std::chrono::milliseconds look_at_stopped_processes{1000};
constexpr std::size_t stopped_processes_a_turn = 256;
// The interval while a process has ended without joining: a place that joins later must soon hear of that end.
constexpr std::chrono::milliseconds look_at_joins{25};
constexpr std::chrono::milliseconds look_at_unwatched{10};  // at processes without a descriptor

std::string signal_text(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("signal {} (SIG{})", signal, name) : fmt::format("signal {}", signal);
}

constexpr const char* out_of_memory =
    ", while the control group ran out of memory: raise its limit, or lower situ run --memory";

std::string how_it_ended(int code, int signal, std::string_view exited) {
  return signal != 0 ? fmt::format("killed by {}", signal_text(signal)) : fmt::format("{} with code {}", exited, code);
}

bool somebody_joined(job_control& control) {
  if (control.votes[0].load() != 0) return true;
  // In a job over several hosts, the server's slot stands for places elsewhere.
  const std::uint32_t slots = control.place_count + (control.host_count > 1 ? 1 : 0);
  for (std::uint32_t place = 0; place < slots; ++place)
    if (control.slot(place).state.load() != place_state::absent) return true;
  return false;
}

// Returns the kernel's state of the process: 'R'unning, 'S'leeping, s'T'opped, 't'raced, 'Z'ombie ...; '?' if it cannot
// be read.
char process_state(pid_t pid) {
  char text[512];
  const os::descriptor file{::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return '?';
  const ssize_t length = ::read(file.number(), text, sizeof text);
  const std::string_view read{text, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
  const std::size_t name_end = read.rfind(')');  // the name may contain any character
  return name_end != std::string_view::npos && name_end + 2 < read.size() ? read[name_end + 2] : '?';
}

void listen(int poll_descriptor, int descriptor, std::uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  if (::epoll_ctl(poll_descriptor, EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw_error(errc::bad_launch, fmt::format("cannot watch a place: {}", ::strerrordesc_np(errno)));
}

}  // namespace

launch_monitor::launch_monitor(job_control& control, limits limits, const os::passed_signals* signals)
    : control_{control},
      limits_{limits},
      outcomes_(control.place_count),
      oom_kills_{limits.oom_kills()},
      poll_descriptor_{::epoll_create1(EPOLL_CLOEXEC)},
      signals_{signals} {
  if (!poll_descriptor_)
    throw_error(errc::bad_launch, fmt::format("cannot watch places: {}", ::strerrordesc_np(errno)));
  if (signals_ != nullptr) listen(poll_descriptor_.number(), signals_->descriptor(), signal_event);
  if (limits_.launcher != nullptr) listen(poll_descriptor_.number(), limits_.launcher->descriptor, launcher_event);
}

// Kills all, then each child waits for its end.
launch_monitor::~launch_monitor() { signal_running(SIGKILL); }

void launch_monitor::watch(os::child process, std::uint32_t first_place, std::uint32_t places) {
  const int reason = process.watch();
  if (reason == ESRCH) {
    process.leave_to_parent();
    return record_unknown({.process = {}, .first_place = first_place, .places = places});
  }
  if (reason != 0)
    throw_error(errc::bad_launch,
                fmt::format("cannot watch the process of place {}: {}{}", first_place, ::strerrordesc_np(reason),
                            reason == EMFILE ? "; raise the limit (ulimit -n)" : ""));
  children_.push_back({.process = std::move(process), .first_place = first_place, .places = places});
  ++running_;
  if (const int end = children_.back().process.end(); end >= 0)
    listen(poll_descriptor_.number(), end, children_.size() - 1);
  else if (!std::exchange(looks_at_children_, true))
    log(log_level::info, "the system refuses pidfd_open: the launcher looks at its processes 100 times a second");
}

void launch_monitor::close_in_child() noexcept {
  for (child& each : children_) each.process.leave_to_parent();
  poll_descriptor_.close();
}

launch_result launch_monitor::run() {
  // A launcher elsewhere applies the time limit for all hosts.
  if (limits_.time_limit.count() > 0 && limits_.launcher == nullptr) running_end_ = clock::now() + limits_.time_limit;
  stage_end_ = running_end_;
  while (running_ > 0 || (limits_.launcher != nullptr && !is_released_)) {
    epoll_event events[64];
    const int count = ::epoll_wait(poll_descriptor_.number(), events, std::size(events), wait_ms());
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == signal_event)
        pass_on_signals();
      else if (events[i].data.u64 == launcher_event)
        limits_.launcher->on_ready(*this);
      else
        reap(children_[events[i].data.u64]);
    }
    if (looks_at_children_) look_at_children();
    look_at_unjoined();
    look_at_stopped();
    look_at_standstill();
    tell_losses();
    advance_stage();
  }
  look_at_unjoined();
  return result();
}

void launch_monitor::look_at_children() {
  for (child& each : children_)
    if (each.process && each.process.end() < 0) reap(each);
}

void launch_monitor::reap(child& ended) {
  const std::optional<os::exit_status> how = ended.process.try_wait();
  if (!how) return;
  // Closing alone does not take the descriptor out of the set while a sibling, forked with it and not yet at exec, has
  // it open, too: this end would be reported again.
  if (const int end = ended.process.end(); end >= 0)
    ::epoll_ctl(poll_descriptor_.number(), EPOLL_CTL_DEL, end, nullptr);
  ended.process = {};
  --running_;
  if (how->is_known)
    record(ended, *how);
  else
    record_unknown(ended);
}

void launch_monitor::record(const child& ended, os::exit_status how) {
  for (std::uint32_t place = ended.first_place; place < ended.first_place + ended.places; ++place) {
    outcomes_[place].exit_code = how.code;
    outcomes_[place].signal = how.signal;
    note_end(ended, place);
    note_failure(place);
    tell_end(place);
  }
}

void launch_monitor::tell_end(std::uint32_t place) {
  if (limits_.launcher == nullptr) return;
  tell_losses();
  limits_.launcher->ended(place, outcomes_[place]);
}

void launch_monitor::tell_losses() {
  const std::uint32_t ends = control_.failure_epoch.load();
  if (limits_.launcher == nullptr || ends == 0) return;
  const auto tell = [this](std::uint32_t place) {
    if (told_lost_[place] || control_.slot(place).state.load() != place_state::lost) return;
    told_lost_[place] = true;
    limits_.launcher->lost(place, lost_reason(control_, place));
  };
  if (ends != told_ends_) {
    told_lost_.resize(control_.place_count);
    if (const std::uint32_t first = control_.first_lost.load(); first != job_control::no_place) tell(first);
    for (std::uint32_t place = 0; place < control_.place_count; ++place) tell(place);
    told_ends_ = ends;
  }
  if (control_.survived_ends.load() < ends || told_survived_ == ends) return;
  told_survived_ = ends;
  limits_.launcher->goes_on();
}

// For a child whose status is gone, because the program ignores SIGCHLD, or reaps all children elsewhere: uses the exit
// code that the place stored.
void launch_monitor::record_unknown(const child& ended) {
  for (std::uint32_t place = ended.first_place; place < ended.first_place + ended.places; ++place) {
    const std::int32_t code = control_.slot(place).result.words().get();
    outcomes_[place].exit_code = code >= 0 ? code : EXIT_FAILURE;
    mark_lost(control_, place,
              "ended without leaving the job; how is unknown, because this program ignores SIGCHLD or reaps all its "
              "children");
    note_failure(place);
    tell_end(place);
  }
}

void launch_monitor::note_failure(std::uint32_t place) {
  const place_outcome& outcome = outcomes_[place];
  const bool failed =
      outcome.exit_code != 0 || outcome.signal != 0 || control_.slot(place).state.load() == place_state::lost;
  if (failed && !first_failed_) first_failed_ = situ::place{place};
}

void launch_monitor::note_end(const child& ended, std::uint32_t place) {
  const place_state state = control_.slot(place).state.load();
  if (state == place_state::absent) unjoined_.push_back(place);
  if (state == place_state::absent || state == place_state::left) return;
  // Also runs for a place that is marked already: the place may have died before it notified the others.
  const auto [code, signal, reason] = outcomes_[place];
  // The kernel reports an out-of-memory kill only in the group's count, so both looks must have been able to read it.
  const auto has_counted_more = [this] {
    const std::uint64_t now = limits_.oom_kills();
    return now > oom_kills_ && now != std::numeric_limits<std::uint64_t>::max();
  };
  const bool is_out_of_memory = signal == SIGKILL && stage_ != stage::killing && has_counted_more();
  const bool by_us = (stage_ == stage::terminating && signal == SIGTERM) ||
                     (stage_ == stage::killing && (signal == SIGTERM || signal == SIGKILL));
  mark_lost(control_, place,
            fmt::format("{}{}", ended.places > 1 ? "the process of all places: " : "",
                        by_us ? "stopped by the launcher: it had not ended in time"
                              : how_it_ended(code, signal, "exited early") + (is_out_of_memory ? out_of_memory : "")));
}

// Marks places that ended before they joined as lost, once any place has joined. A job that no place ever joins (situ
// run hostname) loses none.
void launch_monitor::look_at_unjoined() {
  if (unjoined_.empty() || !somebody_joined(control_)) return;
  for (const std::uint32_t place : unjoined_) {
    const place_outcome& outcome = outcomes_[place];
    mark_lost(control_, place,
              outcome.exit_code == 0 && outcome.signal == 0
                  ? std::string{"exited before joining the job"}
                  : how_it_ended(outcome.exit_code, outcome.signal, "exited") + " before joining the job");
    if (!first_failed_) first_failed_ = situ::place{place};
  }
  unjoined_.clear();
}

// Looks for stopped places. A stopped place does not answer, and a place that waits for it seems to hang.
void launch_monitor::look_at_stopped() {
  if (stage_ != stage::running || clock::now() < next_look_at_stopped_) return;
  next_look_at_stopped_ = clock::now() + std::min(look_at_stopped_processes, limits_.stopped_after);
  const std::size_t count = std::min(children_.size(), stopped_processes_a_turn);
  for (std::size_t i = 0; i < count; ++i) {
    child& each = children_[next_stopped_++ % children_.size()];
    if (each.process) note_stopped(each);
  }
}

void launch_monitor::note_stopped(child& each) {
  const char state = process_state(each.process.id());
  if (state == '?') return;  // keep the last state if it cannot be read
  const std::string who = each.places > 1 ? fmt::format("the process of all places ({})", each.process.id())
                                          : fmt::format("place {} (process {})", each.first_place, each.process.id());
  if (state != 'T' && state != 't') {
    if (std::exchange(each.is_told_stopped, false)) log(log_level::warning, fmt::format("{} goes on", who));
    each.stopped_since = clock::time_point::max();
    return;
  }
  each.stopped_since = std::min(each.stopped_since, clock::now());
  if (each.is_told_stopped || clock::now() - each.stopped_since < limits_.stopped_after) return;
  each.is_told_stopped = true;
  log(log_level::warning,
      fmt::format("{} is stopped by {}; the job waits for it{}", who, state == 't' ? "a debugger" : "a signal",
                  state == 't' ? "" : fmt::format(" (kill -CONT {} lets it go on)", each.process.id())));
}

void launch_monitor::report(std::string_view why) {
  if (limits_.report) return limits_.report(why);
  log(log_level::warning, fmt::format("{}; where the places stand:\n{}", why, format_report(control_)));
}

void launch_monitor::look_at_standstill() {
  const clock::time_point now = clock::now();
  // A launcher elsewhere asks for looks at the places of all hosts (hosts_watch.h).
  if (limits_.launcher != nullptr || stage_ != stage::running || now < next_look_at_standstill_) return;
  next_look_at_standstill_ = now + look_at_standing_places;
  const standstill_watch::finding found = standstill_.look(control_);
  if (found.is_final) {
    report("nobody can go on");
    return mark_standstill(control_);
  }
  if (found.has_progressed) {
    last_progress_ = now;
    is_standstill_told_ = false;
  } else if (limits_.watchdog.count() > 0 && now - last_progress_ >= limits_.watchdog && !is_standstill_told_) {
    is_standstill_told_ = true;
    report(fmt::format("no place has made progress for {} ms", limits_.watchdog.count()));
  }
}

void launch_monitor::advance_stage() {
  const bool goes_on = control_.failure_epoch.load() <= control_.survived_ends.load();
  if (stage_ == stage::running && !goes_on) enter(stage::grace);
  if (stage_ == stage::grace && goes_on) enter(stage::running);
  if (clock::now() < stage_end_) return;
  switch (stage_) {
    case stage::running: end_by_time_limit(); break;
    case stage::grace: enter(stage::terminating); break;
    case stage::terminating: enter(stage::killing); break;
    case stage::killing: signal_running(SIGKILL); break;
  }
}

void launch_monitor::end_by_time_limit() {
  if (stage_ == stage::terminating || stage_ == stage::killing) return;
  report(fmt::format("the time limit of {} ms is over", limits_.time_limit.count()));
  for (const child& each : children_)
    for (std::uint32_t i = 0; each.process && i < each.places; ++i)
      mark_lost(control_, each.first_place + i,
                fmt::format("still running after the time limit of {} ms", limits_.time_limit.count()));
  enter(stage::terminating);
}

void launch_monitor::release() {
  is_released_ = true;
  ::epoll_ctl(poll_descriptor_.number(), EPOLL_CTL_DEL, limits_.launcher->descriptor, nullptr);
  if (running_ > 0) enter(stage::killing);
}

void launch_monitor::enter(stage next) {
  stage_ = next;
  if (next == stage::running) {
    stage_end_ = running_end_;
  } else if (next == stage::grace) {
    stage_end_ = clock::now() + limits_.grace;
  } else if (next == stage::terminating) {
    signal_running(SIGTERM);
    signal_running(SIGCONT);  // a stopped process acts on SIGTERM only after this
    stage_end_ = clock::now() + between_term_and_kill;
  } else {
    signal_running(SIGKILL);
    stage_end_ = clock::time_point::max();
  }
}

// A terminal sends its signals to every process of the foreground group, so the places have them already. A signal sent
// by kill has reached the launcher alone. A second interrupt kills at once.
void launch_monitor::pass_on_signals() {
  while (const std::optional<os::passed_signal> got = signals_->next()) {
    const bool is_with_places = got->is_from_kernel && !(got->number == SIGQUIT && limits_.reports_on_quit);
    if (!is_with_places || (got->number == SIGINT && interrupted_)) pass_on(got->number);
    interrupted_ = interrupted_ || got->number == SIGINT;
  }
}

void launch_monitor::pass_on(int signal) {
  if (signal == SIGQUIT && limits_.reports_on_quit) return report("asked by SIGQUIT");
  if (signal == SIGINT && interrupted_)
    enter(stage::killing);
  else
    signal_running(signal);
  interrupted_ = interrupted_ || signal == SIGINT;
}

void launch_monitor::signal_running(int signal) noexcept {
  for (const child& each : children_) each.process.send(signal);
}

int launch_monitor::wait_ms() const {
  const auto tick = std::min(
      {unjoined_.empty() ? look_at_epoch : look_at_joins, looks_at_children_ ? look_at_unwatched : look_at_epoch,
       std::max<std::chrono::milliseconds>(limits_.stopped_after, std::chrono::milliseconds{1})});
  if (stage_end_ == clock::time_point::max()) return static_cast<int>(tick.count());
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(stage_end_ - clock::now());
  return static_cast<int>(std::clamp(left, std::chrono::milliseconds{0}, tick).count());
}

launch_result launch_monitor::result() {
  launch_result made;
  for (std::uint32_t place = 0; place < control_.place_count; ++place)
    if (control_.slot(place).state.load() == place_state::lost) outcomes_[place].reason = lost_reason(control_, place);
  if (control_.failure_epoch.load() != 0) made.first_lost = situ::place{control_.first_lost.load()};
  made.first_failed = first_failed_;
  if (!made.first_failed) made.first_failed = made.first_lost;
  made.places = std::move(outcomes_);
  return made;
}

}  // namespace situ::detail
