#include "cluster/host_server.h"

#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/fabric/detail/awaited.h>
#include <situ/fabric/detail/endpoint.h>

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "cluster/host_loss.h"
#include "cluster/host_words.h"
#include "cluster/survivors_words.h"
#include "memory/liveness.h"
#include "os/bytes.h"
#include "os/host.h"

namespace situ::detail::cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto between_looks = 20ms;          // at the states of places, which do not report changes
constexpr auto between_looks_at_start = 1ms;  // while places join and vote
constexpr auto longest_farewell = 1s;         // the longest wait for the byes of the others
constexpr int most_turns = 64;                // of work(), before the server looks at places and clocks again
constexpr std::size_t first_process = 2;      // index in looked_

[[nodiscard]] bool is_over_for(place_state state) noexcept { return state >= place_state::left; }

[[nodiscard]] os::descriptor open_process(std::int32_t pid) noexcept {
  return os::descriptor{pid == 0 ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
}

// SITU_BEAT: milliseconds between the beats of servers.
[[nodiscard]] hosts_alive::limits limits_by_environment() {
  constexpr std::int64_t usual = 100, least = 10, most = 60'000;
  std::int64_t beat = usual;
  if (const char* const text = std::getenv("SITU_BEAT"); text != nullptr && *text != '\0') {
    const std::string_view all{text};
    const auto [end, failure] = std::from_chars(all.data(), all.data() + all.size(), beat);
    if (failure != std::errc{} || end != all.data() + all.size() || beat < least || beat > most)
      throw_error(errc::bad_launch,
                  fmt::format("SITU_BEAT={} is no number of milliseconds from {} to {}", all, least, most));
  }
  return hosts_alive::limits::of(std::chrono::milliseconds{beat});
}

}  // namespace

host_server::host_server(const job& shared, network_wire& wire, os::descriptor starter)
    : shared_{shared},
      control_{shared.control()},
      wire_{wire},
      starter_{std::move(starter)},
      bell_{control_.slot(control_.place_count)},
      hosts_(control_.host_count),
      limits_of_silence_{limits_by_environment()},
      alive_{control_.host_count, control_.host, limits_of_silence_, now()},
      rest_{control_.homes(), control_.host_count, control_.host} {
  const std::span<const place_home> homes = control_.homes();
  for (std::uint32_t place = 0; place < homes.size(); ++place) {
    if (homes[place].host != control_.host) continue;
    const std::int32_t pid = control_.slot(place).pid.load();
    own_.push_back({.place = place, .process = open_process(pid)});
    if (own_.back().process || pid == 0) continue;
    if (errno != ESRCH)
      throw_error(errc::bad_launch,
                  fmt::format("the process of place {} cannot be watched: {}", place, ::strerrordesc_np(errno)));
    mark_lost(control_, place, "its process ended before it joined the job");
  }
  for (std::uint16_t h = 0; h < control_.host_count; ++h) {
    if (h == control_.host) continue;
    const host_address& address = address_of(control_, h);
    hosts_[h].server = wire_.connect(std::span{address.text}.first(address.bytes));
  }
  for (const int each : {wire_.descriptor(), bell_.descriptor()})
    looked_.push_back({.fd = each, .events = POLLIN, .revents = 0});
  for (const own_place& each : own_) looked_.push_back({.fd = each.process.number(), .events = POLLIN, .revents = 0});
  looked_.push_back({.fd = starter_.number(), .events = POLLIN, .revents = 0});
  control_.slot(control_.place_count).pid.store(::getpid());
}

void host_server::run() {
  while (!is_over()) {
    int turns = 0;
    while (work() && ++turns < most_turns) {}
    follow_verdicts();
    if (!waiting_.empty() && may_answer()) do_waiting();
    if (!operations_) vote();
    if (clock::now() >= next_look_) look_at_places();
    if (may_sleep()) sleep();
  }
}

// Returns true if a message had arrived, or could be delivered.
bool host_server::work() {
  const bool has_come = wire_.progress(*this);
  return (messages_ && messages_->deliver()) || has_come;
}

// If messages wait for room, their targets wake the server: so it announces that it sleeps, and looks once more
// (endpoint.h). No other place here wakes it.
bool host_server::may_sleep() noexcept {
  if (messages_ && messages_->is_waiting()) {
    control_.slot(control_.place_count).sleeping.store(asleep_by_bell);
    messages_->ask_for_wake();
    if (!control_.sender_fences) order_processes();
    if (messages_->deliver()) return false;
  }
  return wire_.arm();
}

int host_server::sleep_ms() const noexcept {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_look_ - clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// Sleeps until a message arrives, a process ends, or the next look is due.
void host_server::sleep() {
  const int found = ::poll(looked_.data(), looked_.size(), sleep_ms());
  control_.slot(control_.place_count).sleeping.store(0, std::memory_order_relaxed);
  if (found <= 0) return;
  if (looked_[1].revents != 0) bell_.silence();
  for (std::size_t i = 0; i < own_.size(); ++i)
    if (looked_[first_process + i].revents != 0) next_look_ = {};
  if (looked_.back().revents != 0) look_at_starter();
}

// --- Places here -----------------------------------------------------------------------------------------------------

void host_server::look_at_places() {
  bool is_starting = !operations_;
  if (!is_leaving()) alive_.turn(now());
  for (own_place& each : own_) {
    look_at_process(each);
    const place_state now = control_.slot(each.place).state.load(std::memory_order_acquire);
    if (now != each.told) tell_state(each, now);
    each.told = now;
    is_starting |= now == place_state::absent;
  }
  look_at_survivors();
  next_look_ = clock::now() + (is_starting ? between_looks_at_start
                                           : std::min<clock::duration>(between_looks, limits_of_silence_.beat / 5));
}

void host_server::look_at_process(own_place& of) {
  if (!of.process) return;
  pollfd looked{.fd = of.process.number(), .events = POLLIN, .revents = 0};
  if (::poll(&looked, 1, 0) <= 0) return;
  of.process.close();
  looked_[first_process + static_cast<std::size_t>(&of - own_.data())].fd = -1;
  if (control_.slot(of.place).state.load() != place_state::left)
    mark_lost(control_, of.place, "its process ended without leaving the job");
}

// The starter sends nothing more, so a closed socket means that it has ended, and its children with it.
void host_server::look_at_starter() {
  starter_.close();
  looked_.back().fd = -1;
  for (const own_place& each : own_)
    if (!is_over_for(control_.slot(each.place).state.load()))
      mark_lost(control_, each.place, "its host's agent has ended");
  next_look_ = {};
}

void host_server::tell_state(const own_place& of, place_state state) {
  const std::string_view text = state == place_state::lost ? lost_reason(control_, of.place) : std::string_view{};
  host_head head{.what = static_cast<std::uint8_t>(host_news::state), .host = control_.host};
  head.number = of.place;
  const state_head said{static_cast<std::uint32_t>(state), static_cast<std::uint32_t>(text.size())};
  os::short_bytes<sizeof head + sizeof said + sizeof place_slot::reason> news;
  tell_others(news.add(head, said).add_text(text).bytes());
}

void host_server::tell_others(std::span<const std::byte> news) {
  for (std::uint16_t h = 0; h < control_.host_count; ++h)
    if (h != control_.host && !hosts_[h].is_gone) wire_.send(hosts_[h].server, wire_message::host, news, {});
}

bool host_server::is_over() {
  const auto has_left = [this](const own_place& each) {
    return is_over_for(each.told) && each.told == control_.slot(each.place).state.load();
  };
  if (!std::all_of(own_.begin(), own_.end(), has_left)) return false;
  // Place 0 still fetches this host's counts, from a host that has not said bye.
  if (control_.tells_itself() && !is_over_for(control_.slot(0).state.load())) return false;
  if (!said_bye_) {
    tell_others(os::bytes_of(host_head{.what = static_cast<std::uint8_t>(host_news::bye), .host = control_.host}));
    said_bye_ = clock::now();
  }
  const bool all_know = wire_.is_idle() && std::all_of(hosts_.begin(), hosts_.end(), [this](const other_host& each) {
                          return each.has_ended || &each == &hosts_[control_.host];
                        });
  return all_know || clock::now() - *said_bye_ > longest_farewell;
}

// --- The base address ------------------------------------------------------------------------------------------------

void host_server::vote() {
  if (round_ == job_control::address_rounds) return;  // the places have reported it
  if (!has_tried_) {
    has_tried_ = true;
    space_ = address_space::map_at(shared_, control_.candidates[round_]);
    if (!space_) control_.rejections[round_].fetch_add(1);
  }
  // Count the votes of places here alone: votes of other hosts are added once all are known.
  if (!has_told_ && control_.votes[round_].load() >= own_.size()) {
    has_told_ = true;
    host_head head{.what = static_cast<std::uint8_t>(host_news::votes), .host = control_.host};
    head.number = std::uint64_t{round_} << 32 | std::uint64_t{control_.rejections[round_].load() == 0};
    tell_others(os::bytes_of(head));
  }
  if (!has_told_) return;
  bool is_accepted = control_.rejections[round_].load() == 0;
  for (std::uint16_t h = 0; h < control_.host_count; ++h) {
    if (h == control_.host) continue;
    if (hosts_[h].votes[round_] == 0) return;
    is_accepted &= hosts_[h].votes[round_] > 0;
  }
  close_round(is_accepted);
}

void host_server::close_round(bool is_accepted) {
  if (!is_accepted) control_.rejections[round_].fetch_add(1);
  if (is_accepted) serve_from(std::move(*space_));  // first: a place that has passed the vote sends operations
  control_.votes[round_].fetch_add(control_.place_count - static_cast<std::uint32_t>(own_.size()));
  wake_on_word(control_.votes[round_], INT_MAX);
  if (is_accepted) return;
  space_.reset();
  ++round_;
  has_tried_ = has_told_ = false;
}

void host_server::serve_from(address_space space) {
  limits_.assign(control_.place_count, 0);
  context_.base = space.base();
  context_.slice_shift = control_.slice_shift;
  context_.slice_mask = (std::uintptr_t{1} << control_.slice_shift) - 1;
  context_.heap_offset = control_.heap_offset.load();
  context_.limit = limits_.data();
  context_.place_count = control_.place_count;
  context_.place = control_.place_count;  // no place of the job
  context_.sender_fences = control_.sender_fences;
  context_.awaited_words = awaited_words_of(control_);
  context_.job = &control_;
  space_ = std::move(space);
  operations_.emplace(context_, control_.homes(), control_.host, wire_);
  operations_->meet_peers();
  operations_->set_barriers(*this);
  if (!control_.sender_fences) (void)join_order_of_processes();  // the places here have found that the kernel can
  messages_.emplace(control_, control_.homes(), control_.host, wire_, *operations_);
  for (const own_place& each : own_)
    messages_->add_place(each.place, endpoint::channels_of_server(context_, each.place));
}

// --- Received messages -----------------------------------------------------------------------------------------------

std::byte* host_server::room_for(wire_peer from, wire_message kind, std::span<const std::byte> head,
                                 std::uint64_t bytes) noexcept {
  if (kind != wire_message::operation || alive_.has_ended()) return nullptr;
  if (may_answer()) return operations_->room_for(from, head, bytes);
  if (waiting_.size() >= most_waiting() || bytes > most_piece_bytes) return nullptr;
  waiting_.push_back({from, {head.begin(), head.end()}, std::vector<std::byte>(bytes), false});
  return waiting_.back().data.data();
}

void host_server::received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                           std::span<const std::byte> data) noexcept {
  if (kind == wire_message::host) return hear(head, data);
  // Places send messages once they have met all others, which is after the last vote.
  if (kind == wire_message::message || kind == wire_message::credit) {
    if (messages_) messages_->received(from, kind, head, data);
    return;
  }
  if (kind != wire_message::operation) return;
  for (waiting_operation& each : waiting_)
    if (!data.empty() && each.data.data() == data.data()) {
      each.is_whole = true;
      return;
    }
  if (may_answer()) return operations_->received(from, head, data);
  if (waiting_.size() < most_waiting() && !alive_.has_ended())
    waiting_.push_back({from, {head.begin(), head.end()}, {data.begin(), data.end()}, true});
}

// Operations whose data is still coming stay.
void host_server::do_waiting() {
  std::vector<waiting_operation> coming;
  for (waiting_operation& each : std::exchange(waiting_, {})) {
    if (each.is_whole) {
      operations_->received(each.from, each.head, each.data);
    } else {
      coming.push_back(std::move(each));
    }
  }
  waiting_ = std::move(coming);
}

void host_server::hear(std::span<const std::byte> head, std::span<const std::byte> data) {
  constexpr std::uint64_t most_logged = 16;
  const auto drop = [this](std::string_view why) {
    if (dropped_++ < most_logged) log(log_level::warning, fmt::format("host {}: {} are dropped", control_.host, why));
  };
  parsed_news news;
  if (const char* const why = parse_news(head, data.size(), news)) return drop(why);
  const std::uint16_t from = news.head.host;
  if (from >= hosts_.size() || from == control_.host) return drop("news of a host that there is not");
  if (is_of_living(static_cast<host_news>(news.head.what))) {
    if (!news.alive.hosts.is_part_of(host_set::first_hosts(control_.host_count)))
      return drop("news of hosts that there are not");
    if (!is_leaving()) alive_.hear(from, news.alive, now());
    return;
  }
  switch (static_cast<host_news>(news.head.what)) {
    case host_news::votes: {
      const std::uint64_t round = news.head.number >> 32;
      if (round >= job_control::address_rounds) return drop("votes of a round that there is not");
      hosts_[from].votes[round] = (news.head.number & 1) != 0 ? 1 : -1;
      control_.slot(control_.place_count).state.store(place_state::joined);
      return;
    }
    case host_news::state: {
      const std::uint64_t place = news.head.number;
      if (place >= control_.place_count || control_.homes()[place].host != from)
        return drop("news of a place that is of another host");
      return mark_elsewhere(static_cast<std::uint32_t>(place), static_cast<place_state>(news.state.state), news.text);
    }
    case host_news::bye:
      hosts_[from].has_ended = true;
      if (!is_leaving() && !is_host_leaving(control_, from)) alive_.has_left(from, now());
      return;
    case host_news::rest: {
      rest_news of_rest;
      if (const char* const why = parse_rest(news, data, control_.place_count, of_rest)) return drop(why);
      has_heard_of_round_ = true;
      look_at_survivors();  // first: what this host sees decides from which hosts it takes news
      rest_.hear(from, of_rest);
      return look_at_survivors();
    }
    default: return;
  }
}

void host_server::mark_elsewhere(std::uint32_t place, place_state state, std::string_view reason) noexcept {
  place_slot& mirror = control_.slot(place);
  if (is_over_for(mirror.state.load())) return;
  switch (state) {
    case place_state::absent: return;
    case place_state::joined:
    case place_state::left: mirror.state.store(state, std::memory_order_release); return;
    case place_state::lost: return mark_lost(control_, place, reason);
    case place_state::gone: return leave_broken_job(control_, place);
  }
}

// --- Hosts elsewhere -------------------------------------------------------------------------------------------------

// The clock goes on while the machine sleeps, which the others take for silence.
hosts_alive::time host_server::now() noexcept {
  timespec found{};
  ::clock_gettime(CLOCK_BOOTTIME, &found);
  return std::chrono::seconds{found.tv_sec} + std::chrono::nanoseconds{found.tv_nsec};
}

// Returns true if all hosts have come to the end of the job. From then on no host waits for another, and they end in
// any order.
bool host_server::is_leaving() {
  if (!is_host_leaving(control_, control_.host)) return false;
  for (std::uint16_t h = 0; h < control_.host_count; ++h)
    if (!is_host_leaving(control_, h)) return false;
  return true;
}

// An end that has connected only to this server may be a place, which has ended.
void host_server::ended(wire_peer from) noexcept {
  for (std::uint16_t h = 0; h < control_.host_count; ++h) {
    if (h == control_.host || hosts_[h].server != from || hosts_[h].is_gone) continue;
    hosts_[h].link_ended = true;
    if (is_host_leaving(control_, h)) {
      lose_host(h, reason_for(h));
    } else {
      alive_.link_ended(h, now());
    }
  }
}

// Sends the messages of the membership protocol, and marks the hosts that a verdict excludes as lost.
void host_server::follow_verdicts() {
  for (const hosts_alive::letter& each : alive_.take_letters())
    wire_.send(hosts_[each.to].server, wire_message::host,
               pack_news(each.what, control_.host, control_.host_count).bytes(), {});
  if (alive_.has_ended() && !std::exchange(is_cut_off_, true)) return end_here();
  if (alive_.verdicts() == followed_verdicts_) return;
  followed_verdicts_ = alive_.verdicts();
  for (std::uint16_t h = 0; h < control_.host_count; ++h)
    if (!alive_.living().has(h) && !hosts_[h].is_gone) lose_host(h, reason_for(h));
}

std::string host_server::reason_for(std::uint16_t host) const {
  if (hosts_[host].link_ended) return fmt::format("the link to its host, number {}, has ended", host);
  if (hosts_[host].has_ended) return fmt::format("its host, number {}, has left the job", host);
  const auto seconds = [](hosts_alive::time of) { return std::chrono::duration<double>{of}.count(); };
  if (!alive_.was_heard(host))
    return fmt::format(
        "nothing has come of the server of host {} to that of host {} for {} s: is there a network that "
        "both have (SITU_NETWORK, UCX_NET_DEVICES)?",
        host, control_.host, seconds(limits_of_silence_.first_word));
  return fmt::format("nothing has come of its host, number {}, for {} s", host, seconds(limits_of_silence_.silence));
}

// Later states of the places here reach no other host. For these places, too, all others are lost.
void host_server::end_here() noexcept {
  std::string why = fmt::format("host {} is cut off from the others", control_.host);
  for (std::uint16_t h = 0; h < control_.host_count; ++h)
    if (h != control_.host && !hosts_[h].is_gone && (hosts_[h].link_ended || !alive_.was_heard(h)))
      why += "; " + reason_for(h);
  mark_host_lost(control_, control_.host, why);
  for (std::uint16_t h = 0; h < control_.host_count; ++h)
    if (h != control_.host && !hosts_[h].is_gone) lose_host(h, why);
  next_look_ = {};
}

// If all of the host's places have come to the end of the job, the host has left in order, and only the news of it is
// missing.
void host_server::lose_host(std::uint16_t host, std::string_view reason) noexcept {
  const bool has_left = hosts_[host].has_ended || is_host_leaving(control_, host);
  hosts_[host].has_ended = hosts_[host].is_gone = true;
  if (operations_)
    for (const wire_peer each : operations_->lose_host(host)) wire_.give_up(each);
  if (!has_left) {
    mark_host_lost(control_, host, reason);
  } else {
    for (std::uint32_t place = 0; place < control_.place_count; ++place)
      if (control_.homes()[place].host == host) mark_elsewhere(place, place_state::left, reason);
    forget_server(control_, host);
  }
}

// --- survivors() -----------------------------------------------------------------------------------------------------

// Returns the round that all live places of this host have come to. If none lives, it stays.
std::uint64_t host_server::round_of_places_here() noexcept {
  std::optional<std::uint64_t> least;
  for (const own_place& each : own_) {
    place_slot& slot = control_.slot(each.place);
    if (is_over_for(slot.state.load(std::memory_order_acquire))) continue;
    const std::uint64_t round = slot.survivors.words().round.load();
    if (!least || round < *least) least = round;
  }
  return least.value_or(round_here_);
}

// A place does not tell the server that it has come: the server looks. A place elsewhere whose state is not known here
// yet has joined: otherwise no place would have come so far.
void host_server::look_at_survivors() {
  round_here_ = round_of_places_here();
  if ((round_here_ == 0 && !has_heard_of_round_) || alive_.has_ended()) return;
  survivors_agreement::view seen{.verdicts = alive_.verdicts(),
                                 .hosts = alive_.living(),
                                 .living = place_set{control_.place_count},
                                 .round = round_here_,
                                 .may_decide = is_certain()};
  for (std::uint32_t place = 0; place < control_.place_count; ++place)
    if (!is_over_for(control_.slot(place).state.load(std::memory_order_acquire))) seen.living.add(place);
  rest_.look(seen);
  for (const survivors_agreement::letter& each : rest_.take_letters()) {
    const packed_rest packed = pack_rest(each.what, control_.host);
    wire_.send(hosts_[each.to].server, wire_message::host, packed.head.bytes(), packed.data);
  }
  if (rest_.round() > shown_round_ && seen.may_decide) show_survivors();
}

void host_server::show_survivors() {
  const place_set& team = rest_.team();
  for (std::uint32_t place = 0; place < control_.place_count; ++place)
    if (!team.has(place) && !is_over_for(control_.slot(place).state.load())) return;
  shown_round_ = rest_.round();
  for (std::uint32_t place = 0; place < control_.place_count; ++place)
    control_.slot(place).survivors.words().fate.store(shown_round_ << 1 | (team.has(place) ? 1 : 0));
  for (const own_place& each : own_) wake_after_change(control_.slot(each.place));
}

void host_server::arrived(std::uint16_t host, host_barrier which, std::uint64_t round) noexcept {
  signal_word<std::uint64_t>& word = round_of(control_, which, host);
  if (word.look() < round) word.set(round, std::memory_order_seq_cst);
  for (std::uint16_t h = 0; h < control_.host_count; ++h)
    if (round_of(control_, which, h).look(std::memory_order_seq_cst) < round) return;
  for (const own_place& each : own_) wake_after_change(control_.slot(each.place));
}

}  // namespace situ::detail::cluster
