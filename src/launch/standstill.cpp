#include "launch/standstill.h"

#include <situ/base/log.h>
#include <situ/memory/detail/losses.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/survivors_words.h"
#include "memory/job.h"
#include "os/host.h"

namespace situ::detail {
namespace {

const team_record* team_of(job_control& control, std::uint32_t place, std::uint64_t id) {
  for (const team_record& each : control.status(place).teams)
    if (id != 0 && each.id.load(std::memory_order_acquire) == id) return &each;
  return nullptr;
}

// Returns the places that keep a collective waiting: those that have not come to it, and those that call something else
// instead.
std::vector<awaited_place> awaited_in_collective(job_control& control, std::uint32_t waiting, const seen_wait& wait) {
  std::vector<awaited_place> found;
  const team_record* const own = team_of(control, waiting, wait.subject);
  if (own == nullptr) return found;
  const std::uint64_t own_call = own->last.load(std::memory_order_relaxed);
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    if (place == waiting) continue;
    const place_state state = control.slot(place).state.load(std::memory_order_acquire);
    if (state == place_state::left || has_ended(state)) {
      found.push_back({place, fmt::format("{}", label(state))});
      continue;
    }
    const team_record* const other = team_of(control, place, wait.subject);
    if (other == nullptr) continue;  // the place is no member, or not yet
    const std::uint64_t begun = other->begun.load(std::memory_order_relaxed);
    const std::uint64_t call = other->last.load(std::memory_order_relaxed);
    if (begun <= wait.number)
      found.push_back({place, state == place_state::absent ? "has not joined" : "has not come"});
    else if (begun == wait.number + 1 && call != own_call)
      found.push_back({place, "calls " + describe(collective_call::unpacked(call)) + " in its place"});
  }
  return found;
}

std::vector<awaited_place> awaited_in_survivors(job_control& control, const seen_wait& wait) {
  std::vector<awaited_place> found;
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    const place_slot& slot = control.slot(place);
    if (slot.state.load(std::memory_order_acquire) == place_state::joined &&
        slot.survivors.words().round.load(std::memory_order_relaxed) < wait.number)
      found.push_back({place, "has not come"});
  }
  return found;
}

seen_wait read_wait(const place_status& status, const wait_record& record, std::uint64_t now) {
  constexpr auto relaxed = std::memory_order_relaxed;
  const std::uint64_t state = record.state.load(std::memory_order_acquire);
  const std::uint64_t since = record.since_ns.load(std::memory_order_acquire);
  const bool is_named = since != 0;
  seen_wait seen{.kind = static_cast<wait_kind>(state & 0xff),
                 .for_ns = since == 0 || since > now ? 0 : now - since,
                 .subject = record.subject.load(relaxed),
                 .number = record.number.load(relaxed),
                 .peer = record.peer.load(relaxed),
                 .line = is_named ? record.line.load(relaxed) : 0,
                 .file = std::string{status.names[is_named ? record.file.load(relaxed) : 0]},
                 .task = std::string{status.names[is_named ? record.task.load(relaxed) : 0]},
                 .is_main = record.is_main.load(relaxed) != 0,
                 .awaited = {}};
  std::atomic_thread_fence(std::memory_order_acquire);
  if (record.state.load(relaxed) != state) seen.kind = wait_kind::none;  // it ended during the read
  return seen;
}

std::string what_for(const seen_wait& wait) {
  const std::string peer = wait.peer == wait_note::nobody ? "another place" : fmt::format("place {}", wait.peer);
  switch (wait.kind) {
    case wait_kind::word: return fmt::format("for the word at {:#x}", wait.subject);
    case wait_kind::future:
      return wait.peer == wait_note::nobody ? "for a future of this place"
                                            : "for a future that a call to " + peer + " provides";
    case wait_kind::call: return "for the answer of " + peer;
    case wait_kind::finish: return "for the tasks of a finish scope";
    case wait_kind::barrier: return fmt::format("in a barrier (collective {} of its team)", wait.number);
    case wait_kind::collective: return fmt::format("in collective {} of its team, for {}", wait.number, peer);
    case wait_kind::room: return "for room in the channel to " + peer;
    case wait_kind::graph: return "for a graph that goes to or comes from " + peer;
    case wait_kind::leave: return "at the end of its runtime, for all places";
    case wait_kind::survivors: return "in survivors(), for all places that live";
    case wait_kind::turn: return "in progress()";
    default: return "for what it does not tell";
  }
}

std::string listed(const std::vector<awaited_place>& awaited) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(awaited.size(), most); ++i)
    text += fmt::format("{}place {} {}", i == 0 ? ": " : ", ", awaited[i].place, awaited[i].instead);
  if (awaited.size() > most) text += fmt::format(", and {} more", awaited.size() - most);
  return text;
}

std::string json_wait(const seen_wait& wait) {
  std::string text = fmt::format(
      "{{\"main\": {}, \"task\": {}, \"kind\": \"{}\", \"seconds\": {:.3f}, \"file\": {}, \"line\": {}", wait.is_main,
      json_text(wait.task), label(wait.kind), static_cast<double>(wait.for_ns) * 1e-9, json_text(wait.file), wait.line);
  if (wait.peer != wait_note::nobody) text += fmt::format(", \"peer\": {}", wait.peer);
  if (wait.kind == wait_kind::barrier || wait.kind == wait_kind::collective)
    text += fmt::format(", \"collective\": {}", wait.number);
  text += ", \"awaited\": [";
  for (std::size_t i = 0; i < wait.awaited.size(); ++i)
    text += fmt::format("{}{{\"place\": {}, \"why\": {}}}", i == 0 ? "" : ", ", wait.awaited[i].place,
                        json_text(wait.awaited[i].instead));
  return text + "]}";
}

bool stands_closed(job_control& control, std::uint32_t place) {
  const place_status& status = control.status(place);
  const place_slot& slot = control.slot(place);
  if (slot.state.load(std::memory_order_acquire) != place_state::joined) return false;
  return status.rest.load(std::memory_order_acquire) % 2 == 1 && slot.sleeping.load(std::memory_order_acquire) != 0 &&
         status.open_waits.load(std::memory_order_relaxed) == 0;
}

}  // namespace

std::string_view label(wait_kind kind) noexcept {
  constexpr std::string_view names[] = {"nothing", "unknown",    "progress", "word",  "future", "answer",   "finish",
                                        "barrier", "collective", "room",     "graph", "end",    "survivors"};
  static_assert(std::size(names) == wait_kinds);
  return static_cast<std::size_t>(kind) < std::size(names) ? names[static_cast<std::size_t>(kind)] : "unknown";
}

std::string_view label(place_state state) noexcept {
  switch (state) {
    case place_state::absent: return "has not joined";
    case place_state::joined: return "joined";
    case place_state::left: return "has left the job";
    case place_state::lost: return "is lost";
    case place_state::gone: return "has gone";
  }
  return "?";
}

std::vector<seen_place> look_at_places(job_control& control) {
  std::vector<seen_place> places;
  const std::uint64_t now = steady_ns();
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    const place_status& status = control.status(place);
    seen_place seen{.place = place,
                    .state = control.slot(place).state.load(std::memory_order_acquire),
                    .rests = status.rest.load(std::memory_order_acquire) % 2 == 1,
                    .unrecorded = status.waits_unrecorded.load(std::memory_order_relaxed),
                    .waits = {}};
    for (const wait_record& record : status.waits) {
      if (record.state.load(std::memory_order_relaxed) == 0) continue;
      seen_wait wait = read_wait(status, record, now);
      if (wait.kind == wait_kind::none) continue;
      if (wait.kind == wait_kind::barrier || wait.kind == wait_kind::collective || wait.kind == wait_kind::leave)
        wait.awaited = awaited_in_collective(control, place, wait);
      if (wait.kind == wait_kind::survivors) wait.awaited = awaited_in_survivors(control, wait);
      seen.waits.push_back(std::move(wait));
    }
    std::stable_sort(seen.waits.begin(), seen.waits.end(), [](const seen_wait& a, const seen_wait& b) {
      return std::pair{!a.is_main, ~a.for_ns} < std::pair{!b.is_main, ~b.for_ns};
    });
    places.push_back(std::move(seen));
  }
  return places;
}

std::string describe(const seen_wait& wait) {
  return fmt::format("{} waits{} {}{}{}",
                     wait.is_main        ? "main"
                     : wait.task.empty() ? "a task"
                                         : wait.task,
                     wait.for_ns == 0 ? "" : fmt::format(" since {:.1f} s", static_cast<double>(wait.for_ns) * 1e-9),
                     what_for(wait), wait.line == 0 ? "" : fmt::format(", at {}:{}", wait.file, wait.line),
                     listed(wait.awaited));
}

std::string format_report(job_control& control) {
  std::string text;
  for (const seen_place& place : look_at_places(control)) {
    if (!control.is_here(place.place)) continue;  // places elsewhere show themselves to their own host only
    text += fmt::format("place {}: {}\n", place.place,
                        place.state != place_state::joined ? std::string{label(place.state)}
                        : place.rests                      ? "sleeps"
                        : place.waits.empty()              ? "runs, or waits outside of Situ"
                                                           : "is awake");
    if (place.state != place_state::joined && place.state != place_state::absent) continue;
    for (const seen_wait& wait : place.waits) text += fmt::format("  {}\n", describe(wait));
    if (place.unrecorded != 0) text += fmt::format("  and {} more waits\n", place.unrecorded);
  }
  return text;
}

std::string format_report_json(job_control& control, std::string_view why) {
  std::string text = fmt::format("{{\"why\": {}, \"places\": [", json_text(why));
  for (const seen_place& place : look_at_places(control)) {
    const std::string host =
        control.host_count > 1 ? fmt::format("\"host\": {}, ", control.homes()[place.place].host) : std::string{};
    text += fmt::format("{}\n{{\"place\": {}, {}\"state\": {}, \"rests\": {}, \"more_waits\": {}, \"waits\": [",
                        place.place == 0 ? "" : ",", place.place, host, json_text(label(place.state)), place.rests,
                        place.unrecorded);
    for (std::size_t i = 0; i < place.waits.size(); ++i) text += (i == 0 ? "\n " : ",\n ") + json_wait(place.waits[i]);
    text += "]}";
  }
  return text + "]}\n";
}

// Waits at the end of the runtime come last: these places have done their part.
std::string summary_of_standstill(job_control& control) {
  std::string ends;
  std::string text;
  for (const seen_place& place : look_at_places(control)) {
    for (const seen_wait& wait : place.waits) {
      std::string& to = wait.kind == wait_kind::leave ? ends : text;
      to += fmt::format("{}place {}: {}", to.empty() ? "" : "; ", place.place, describe(wait));
    }
  }
  const std::string all = text.empty() ? ends : ends.empty() ? text : text + "; " + ends;
  constexpr std::size_t most = 440;  // room in place_slot::reason
  return "nobody can go on: " + (all.size() <= most ? all : all.substr(0, most) + "...");
}

std::uint32_t first_live_place(job_control& control) noexcept {
  std::uint32_t first = 0;
  while (first + 1 < control.place_count && control.slot(first).state.load() != place_state::joined) ++first;
  return first;
}

void mark_standstill(job_control& control) {
  mark_lost(control, first_live_place(control), summary_of_standstill(control));
}

void end_standstill(job_control& control) {
  log(log_level::warning, "nobody can go on; where the places stand:\n" + format_report(control));
  mark_standstill(control);
}

std::string json_text(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (made += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      made += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      made += c;
  }
  return made + '"';
}

standstill_watch::finding standstill_watch::look(job_control& control) {
  const bool is_first = last_.empty();
  last_.resize(control.place_count);
  const bool is_whole = control.failure_epoch.load() <= control.survived_ends.load();
  finding found{.is_final = !is_first && is_whole, .has_progressed = is_first};
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    if (!control.is_here(place)) continue;
    const place_status& status = control.status(place);
    const counts now{.steps = status.steps.load(std::memory_order_relaxed),
                     .polls = status.polls.load(std::memory_order_relaxed),
                     .rest = status.rest.load(std::memory_order_acquire)};
    const counts before = std::exchange(last_[place], now);
    const bool has_ended_for_all = has_ended(control.slot(place).state.load(std::memory_order_acquire));
    found.is_final =
        found.is_final && (has_ended_for_all || (now.rest == before.rest && stands_closed(control, place)));
    // A place that is awake all the time, and not in a loop of progress(), computes.
    const bool computes = control.slot(place).state.load(std::memory_order_acquire) == place_state::joined &&
                          now.rest % 2 == 0 && now.rest == before.rest && now.polls == before.polls;
    found.has_progressed = found.has_progressed || now.steps != before.steps || computes;
  }
  return found;
}

}  // namespace situ::detail
