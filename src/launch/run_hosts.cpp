#include "launch/run_hosts.h"

#include "base/print.h"
#include "launch/hosts_watch.h"
#include "launch/launch.h"
#include "launch/output.h"
#include "launch/queued_writer.h"
#include "launch/records.h"
#include "launch/shown_rows.h"
#include "launch/standing_places.h"
#include "launch/standstill.h"
#include "launch/start.h"
#include "os/bytes.h"
#include "os/child.h"
#include "os/descriptor.h"
#include "os/host.h"
#include "os/signals.h"

#include <situ/base/error.h>
#include <situ/fabric/detail/function_id.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

namespace situ::detail {
namespace {

using namespace cluster;
using namespace std::chrono_literals;

using clock_type = std::chrono::steady_clock;

constexpr std::size_t most_queued_bytes = std::size_t{1} << 20;  // of unread output
// The grace, and SIGTERM and SIGKILL of an agent to its places, are over: an agent that is still silent is out of
// reach.
constexpr auto longest_silence = 5s;
constexpr auto longest_end = 3s;     // for a remote shell whose command has ended
constexpr auto longest_report = 2s;  // until all agents have shown what their places wait for

// Quotes a word for a shell: ssh makes one line of its words.
std::string quoted(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/._+-", c);
  };
  if (std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string made = "'";
  for (const char c : word) made += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return made + "'";
}

// A host, its agent, and the remote shell between them.
struct host_link {
  named_host host;
  std::uint32_t first_place = 0;
  os::child shell{};
  os::descriptor to{};    // the agent's input; empty: closed
  os::descriptor from{};  // its output
  frame_reader reader{};
  std::string unsent{};
  bool has_greeted = false;
  std::optional<host_record> record{};
  // The round trips of a measurement of the host's clock: the shortest so far, and its result. Two of them make
  // `clock`.
  int trips_left = 0;
  std::uint64_t shortest_ns = 0;
  std::uint64_t there_ns = 0;
  std::int64_t ahead_ns = 0;
  clock_difference clock{};
  bool has_rows = false;      // the host has sent its places' counts
  std::uint32_t running = 0;  // places that have not ended
  bool goes_on = false;       // its places have agreed to go on after all losses so far
};

class hosts_launch {
 public:
  explicit hosts_launch(const hosts_options& options)
      : options_{options}, situ_{std::filesystem::read_symlink("/proc/self/exe").string()} {
    for (const named_host& each : options.hosts) {
      links_.push_back({.host = each, .first_place = places_, .running = each.places});
      places_ += each.places;
    }
    std::uint16_t host = 0;
    for (const host_link& each : links_) homes_.insert(homes_.end(), each.host.places, host++);
    watch_.emplace(host, options.watchdog, clock_type::now());
    result_.places.resize(places_);
    has_ended_.resize(places_);
    if (options.tag) labels_.emplace(places_);
    const bool trace = (options.start.how & agent_start::trace) != 0;
    if (trace || (options.start.how & agent_start::stats) != 0) {
      job_options shown{.place_count = places_, .stats = true, .trace = trace};
      reserve_observation(shown);
      shown_.emplace(job::create(shown));
      shown_->close_descriptor();  // no process joins it
    }
  }
  ~hosts_launch() {
    for (host_link& each : links_) end_link(each);
  }
  hosts_launch(const hosts_launch&) = delete;
  hosts_launch& operator=(const hosts_launch&) = delete;

  hosts_result run() {
    os::ignore_signal(SIGPIPE);
    for (host_link& each : links_) start(each);
    writer_.emplace(most_queued_bytes);
    if (options_.time_limit.count() > 0) time_limit_ends_ = clock_type::now() + options_.time_limit;
    while (
        std::any_of(links_.begin(), links_.end(), [](const host_link& each) { return static_cast<bool>(each.from); }))
      turn();
    for (std::uint32_t place = 0; labels_ && place < places_; ++place)
      for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) writer_->add(stream, labels_->rest(place, stream));
    for (const host_link& each : links_)
      if (shown_ && is_running_ && !each.has_rows)
        writer_->add(STDERR_FILENO, fmt::format("situ: what places at {} have counted has not come\n", each.host.name));
    writer_.reset();
    if (!failure_.empty()) throw_error(errc::bad_launch, failure_);
    if (!result_.first_failed) result_.first_failed = result_.first_lost;
    for (const host_link& each : links_)
      for (std::uint32_t i = 0; is_traced() && i < each.host.places; ++i)
        set_clock(shown_->control(), each.first_place + i, each.clock);
    const std::optional<situ::place> told = result_.first_lost ? result_.first_lost : result_.first_failed;
    return {.job = std::move(result_),
            .at = told ? links_[homes_[told->index()]].host.name : std::string{},
            .shown = std::move(shown_)};
  }

 private:
  // --- Agents --------------------------------------------------------------------------------------------------------

  void start(host_link& link) {
    std::vector<std::string> words;
    std::istringstream shell{options_.remote_shell};
    for (std::string word; shell >> word;) words.push_back(word);
    words.insert(words.end(), {link.host.name, quoted(situ_), "host-agent"});
    const std::string program = words.front();
    const os::exec_texts arguments{std::move(words)};
    os::pipe_ends to = os::pipe_ends::make();
    os::pipe_ends from = to ? os::pipe_ends::make() : os::pipe_ends{};
    os::start_failures failures;
    if (!to || !from || !failures)
      throw_error(errc::bad_launch, fmt::format("no pipe to {}: {}", link.host.name, ::strerrordesc_np(errno)));
    const auto in_child = [this] {
      // The launcher gets signals and passes them on, also those that a terminal sends to all processes.
      for (const int each : {SIGINT, SIGQUIT, SIGHUP}) os::ignore_signal(each);
      os::reset_signal(SIGPIPE);
      limit_.restore();
      return true;
    };
    link.shell = os::child::start({.file = program.c_str(),
                                   .arguments = arguments,
                                   .is_in_path = true,
                                   .input = to.read.number(),
                                   .output = from.write.number(),
                                   .mask = &signals_.mask_before()},
                                  {.in_child = in_child}, failures);
    if (!link.shell)
      throw_error(errc::bad_launch,
                  fmt::format("no process for the way to {}: {}", link.host.name, ::strerrordesc_np(errno)));
    // The child's exit code is not_found then.
    if (const auto failure = failures.wait())
      tell("situ: {} cannot be started: {}\n", program, ::strerrordesc_np(failure->reason));
    link.to = std::move(to.write);
    link.from = std::move(from.read);
    ::fcntl(link.to.number(), F_SETFL, O_NONBLOCK);
    ::fcntl(link.from.number(), F_SETFL, O_NONBLOCK);
  }

  void send(host_link& link, frame_kind what, std::span<const std::byte> bytes, std::uint32_t place = 0) {
    if (!link.to) return;
    const std::vector<std::byte> frame = pack_frame(what, place, bytes);
    link.unsent.append(reinterpret_cast<const char*>(frame.data()), frame.size());
    write_some(link);
  }
  void send_to_all(frame_kind what, std::span<const std::byte> bytes, std::uint32_t place = 0) {
    for (host_link& each : links_) send(each, what, bytes, place);
  }
  static void write_some(host_link& link) {
    while (!link.unsent.empty()) {
      const ssize_t written = ::write(link.to.number(), link.unsent.data(), link.unsent.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        if (errno != EAGAIN) link.to.close();  // the output will report its end
        return;
      }
      link.unsent.erase(0, static_cast<std::size_t>(written));
    }
  }
  // Closes the agents' inputs, which ends everything that they have started.
  void release() {
    for (host_link& each : links_) each.to.close();
  }

  // Returns how the remote shell has ended; empty if it had to be killed, or if its parent cannot know (SIGCHLD
  // ignored). It is killed at once if it is silent. Its agent ends by the end of its input.
  static std::optional<os::exit_status> end_link(host_link& link, bool is_silent = false) {
    link.to.close();
    link.from.close();
    if (!link.shell) return std::nullopt;
    std::optional<os::exit_status> how;
    for (const auto end = clock_type::now() + (is_silent ? 0s : longest_end); !how && clock_type::now() < end;) {
      how = link.shell.try_wait();
      if (!how) rest(2'000'000);
    }
    link.shell = {};
    return how && how->is_known ? how : std::nullopt;
  }

  // Gives a host up: no more frames come from it.
  void lose(host_link& link, std::string_view why, bool is_silent = false) {
    const std::optional<os::exit_status> how = end_link(link, is_silent);
    link.trips_left = 0;
    if (is_ending_) release_when_measured();
    if (!failure_.empty()) return;
    watch_->lose(host_of(link), clock_type::now());
    if (!link.record) return fail(why_not_started(link, how));
    if (link.running == 0) return;
    for (std::uint32_t place = link.first_place; place < link.first_place + link.host.places; ++place)
      if (!has_ended_[place]) {
        note_loss(place, why);
        send_to_all(frame_kind::lost, std::as_bytes(std::span{why}), place);
        note_end(link, place, {.code = EXIT_FAILURE});
      }
  }

  std::string why_not_started(const host_link& link, const std::optional<os::exit_status>& how) const {
    const std::string& name = link.host.name;
    if (how && how->signal == 0 && how->code == not_found)
      return fmt::format("{}: there is no {} there, or no \"{}\" here", name, situ_, options_.remote_shell);
    const std::string text = !how               ? std::string{"has closed its output"}
                             : how->signal != 0 ? fmt::format("was ended by signal {}", how->signal)
                                                : fmt::format("has ended with code {}", how->code);
    return fmt::format(
        "{0}: nothing was started there: `{1} {0} {2} host-agent` {3}; is the host reached so, without a "
        "question?",
        name, options_.remote_shell, quoted(situ_), text);
  }

  // --- A turn --------------------------------------------------------------------------------------------------------

  void turn() {
    std::vector<pollfd> looked{{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
                               {.fd = writer_->room_descriptor(), .events = POLLIN, .revents = 0}};
    const bool is_full = writer_->is_full();
    for (const host_link& each : links_) {
      looked.push_back({.fd = is_full ? -1 : each.from.number(), .events = POLLIN, .revents = 0});
      looked.push_back({.fd = each.unsent.empty() ? -1 : each.to.number(), .events = POLLOUT, .revents = 0});
    }
    (void)::poll(looked.data(), looked.size(), wait_ms());
    if (looked[0].revents != 0) take_signals();
    std::uint64_t taken = 0;
    if (looked[1].revents != 0) (void)!::read(writer_->room_descriptor(), &taken, sizeof taken);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (looked[2 + 2 * i].revents != 0 && links_[i].from) read_from(links_[i]);
      if (looked[3 + 2 * i].revents != 0 && links_[i].to) write_some(links_[i]);
    }
    look_at_clock();
  }

  [[nodiscard]] int wait_ms() const {
    const auto end = std::min({time_limit_ends_, silence_ends_, going_on_ends_, next_look(),
                               report_ ? report_->ends() : clock_type::time_point::max()});
    if (end == clock_type::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock_type::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }

  void look_at_clock() {
    const clock_type::time_point now = clock_type::now();
    if (now >= time_limit_ends_) {
      time_limit_ends_ = clock_type::time_point::max();
      if (!is_running_) return fail(fmt::format("the time limit is over, and {} not answered", listed_silent()));
      begin_report({.why = fmt::format("the time limit of {} ms is over", options_.time_limit.count())});
      send_to_all(frame_kind::over, {});
      await_silent(1s);
    }
    if (report_ && now >= report_->ends()) finish_report();
    if (now >= next_look()) look();
    if (now < silence_ends_ && now < going_on_ends_) return;
    const bool is_silent = now >= silence_ends_;
    clock_type::time_point& over = is_silent ? silence_ends_ : going_on_ends_;
    if (writer_->is_full() && !is_interrupted_) {  // their frames were not read in the meantime
      over = now + longest_silence;
      return;
    }
    over = clock_type::time_point::max();
    for (host_link& each : links_)
      if (each.from && (is_silent || (!each.goes_on && each.running > 0))) lose(each, "its host does not answer", true);
  }
  // Limits the wait for agents that do not report the ends of their places from now on.
  void await_silent(std::chrono::milliseconds longest) {
    silence_ends_ = std::min(silence_ends_, clock_type::now() + longest + longest_silence);
  }
  std::string listed_silent() const {
    std::vector<std::string_view> names;
    for (const host_link& each : links_)
      if (!each.record) names.push_back(each.host.name);
    return fmt::format("{} {}", fmt::join(names, " and "), names.size() == 1 ? "has" : "have");
  }

  void take_signals() {
    while (const std::optional<os::passed_signal> got = signals_.next()) {
      const std::int32_t signal = got->number;
      if (is_running_) {
        if (signal == SIGQUIT) begin_report({.why = "asked by SIGQUIT"});
        send_to_all(frame_kind::signal, os::bytes_of(signal));
        if (signal == SIGINT && std::exchange(is_interrupted_, true)) await_silent(0s);
      } else if (signal == SIGQUIT) {
        tell("situ: {} not answered yet\n", listed_silent());
      } else if (signal != SIGUSR1 && signal != SIGUSR2) {
        fail(fmt::format("ended by signal {}, when {} not answered yet", signal, listed_silent()));
      }
    }
  }

  // Ends all that was started: the job cannot begin.
  void fail(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
    release();
    await_silent(0s);
  }

  // --- What agents say -----------------------------------------------------------------------------------------------

  void read_from(host_link& link) {
    std::array<std::byte, 65536> buffer;
    const ssize_t got = ::read(link.from.number(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return lose(link, "its host's agent has ended, or the way to it");
    try {
      link.reader.take(std::span{buffer}.first(static_cast<std::size_t>(got)));
      while (const std::optional<host_frame> frame = link.reader.next()) hear(link, *frame);
    } catch (const error& e) {
      fail(
          fmt::format("{}: what comes by `{}` is not of situ: {}", link.host.name, options_.remote_shell, e.message()));
      end_link(link);
    }
  }

  void hear(host_link& link, const host_frame& frame) {
    if (!failure_.empty()) return;
    const auto refuse = [](std::string_view what) { throw_error(errc::bad_message, what); };
    if (!link.has_greeted) {
      if (frame.what != frame_kind::hello) refuse("it does not greet");
      link.has_greeted = true;
      return greet(link, unpack_hello(frame.bytes));
    }
    const bool is_of_place = frame.what == frame_kind::output || frame.what == frame_kind::ended ||
                             frame.what == frame_kind::row || frame.what == frame_kind::status;
    if (is_of_place && (frame.place < link.first_place || frame.place - link.first_place >= link.host.places))
      refuse("a place that it has not");
    if (frame.place >= places_) refuse("a place that there is not");
    switch (frame.what) {
      case frame_kind::address: return take_record(link, unpack(frame.bytes));
      case frame_kind::output: {
        const std::string_view text = text_of(frame);
        if (text.empty() || text[0] < 1 || text[0] > 2) refuse("output of no stream");
        const int stream = static_cast<unsigned char>(text[0]);
        return writer_->add(
            stream, labels_ ? labels_->label(frame.place, stream, text.substr(1)) : std::string{text.substr(1)});
      }
      case frame_kind::ended:
        if (has_ended_[frame.place]) refuse("a place that ends twice");
        return note_end(link, frame.place, unpack_end(frame.bytes));
      case frame_kind::lost: return note_loss(frame.place, text_of(frame));
      case frame_kind::row:
        if (!shown_) refuse("statistics that nobody has asked for");
        link.has_rows = true;
        return take_row_piece(shown_->control(), frame.place, frame.bytes);
      case frame_kind::clock: return take_time(link, frame.bytes);
      case frame_kind::goes_on:
        if (!frame.bytes.empty()) refuse("more than that its places go on");
        return note_going_on(link);
      case frame_kind::look:
        return act_on(watch_->take(host_of(link), unpack_look(frame.bytes, host_count()), clock_type::now()));
      case frame_kind::status:
        if (report_ && report_->take(frame.place, frame.bytes)) finish_report();
        return;
      case frame_kind::note: return writer_->add(STDERR_FILENO, std::string{text_of(frame)});
      default: refuse("an agent does not say that");
    }
  }

  void greet(host_link& link, const agent_hello& hello) {
    const std::uint64_t own = executable_id();
    if (hello.version != agent_hello::current_version || hello.build != own)
      return fail(fmt::format("{} has another build of situ at {} ({:#x}, here {:#x}): all hosts need the same",
                              link.host.name, situ_, hello.build, own));
    agent_start start = options_.start;
    start.host = static_cast<std::uint16_t>(&link - links_.data());
    start.homes = homes_;
    start.first_host = links_.front().host.name;
    send(link, frame_kind::start, pack(start));
  }

  void take_record(host_link& link, host_record record) {
    record.name = link.host.name;
    if (is_running_ && record.refusal.empty()) throw_error(errc::bad_message, "a second record");
    link.record = std::move(record);
    if (is_running_) return fail(fmt::format("{}: {}", link.host.name, link.record->refusal));
    if (is_traced()) ask_time(link, trips_of_measurement);
    std::vector<host_record> records;
    std::vector<std::vector<std::byte>> packed;
    for (const host_link& each : links_) {
      if (!each.record) return;
      records.push_back(*each.record);
      packed.push_back(pack(*each.record));
    }
    try {
      check_records(records);
    } catch (const error& e) {
      return fail(std::string{e.message()});
    }
    is_running_ = true;
    send_to_all(frame_kind::addresses, pack(packed));
  }

  void note_loss(std::uint32_t place, std::string_view why) {
    // After the end of all places, agents end one after the other, and servers report suspicions of each.
    if (have_all_ended()) return;
    std::string& reason = result_.places[place].reason;
    if (!reason.empty()) return;
    reason = why;
    if (!result_.first_lost) result_.first_lost = situ::place{place};
    for (host_link& each : links_) each.goes_on = false;
    going_on_ends_ = clock_type::now() + options_.grace + 1s + longest_silence;
  }

  // Once each host goes on that has not ended, the launcher waits for the agents as before the loss.
  void note_going_on(host_link& link) {
    link.goes_on = true;
    if (std::all_of(links_.begin(), links_.end(),
                    [](const host_link& each) { return each.goes_on || each.running == 0; }))
      going_on_ends_ = clock_type::time_point::max();
  }

  void note_end(host_link& link, std::uint32_t place, const place_end& end) {
    has_ended_[place] = true;
    place_outcome& outcome = result_.places[place];
    outcome.exit_code = end.code;
    outcome.signal = end.signal;
    if ((end.code != 0 || end.signal != 0) && !result_.first_failed) result_.first_failed = situ::place{place};
    --link.running;
    if (have_all_ended()) end_all();
  }

  // --- Where places stand --------------------------------------------------------------------------------------------

  [[nodiscard]] std::uint16_t host_count() const { return static_cast<std::uint16_t>(links_.size()); }
  [[nodiscard]] std::uint16_t host_of(const host_link& link) const {
    return static_cast<std::uint16_t>(&link - links_.data());
  }
  [[nodiscard]] clock_type::time_point next_look() const {
    return is_running_ && !have_all_ended() ? watch_->next_look() : clock_type::time_point::max();
  }

  void look() { send_to_all(frame_kind::look, os::bytes_of(watch_->begin_look())); }

  void act_on(const std::optional<hosts_watch::finding>& found) {
    if (!found || have_all_ended()) return;
    if (found->is_final)
      begin_report({.why = "nobody can go on", .is_shown = true, .is_of_standstill = true});
    else if (found->is_without_progress)
      begin_report(
          {.why = fmt::format("no place has made progress for {} ms", options_.watchdog.count()), .is_shown = true});
  }

  // Asks all agents what their places wait for. A report that nobody reads is not made, nor one while another comes.
  void begin_report(standing_places::request wanted) {
    if (report_ || (!wanted.is_shown && !options_.save_report)) return;
    std::vector<std::uint32_t> places;
    std::vector<bool> answers;
    for (const host_link& each : links_) {
      places.push_back(each.host.places);
      answers.push_back(static_cast<bool>(each.to));
    }
    report_.emplace(std::move(wanted), places, answers, clock_type::now() + longest_report);
    send_to_all(frame_kind::status, {});
  }

  void finish_report() {
    const standing_places report = *std::exchange(report_, {});
    const auto& [why, is_shown, is_of_standstill] = report.what();
    for (std::uint16_t host = 0; is_shown && host < host_count(); ++host)
      writer_->add(STDERR_FILENO, fmt::format("situ: {}; where the places at {} stand:\n{}", why,
                                              links_[host].host.name, report.table(host)));
    if (options_.save_report) options_.save_report(report.control(), why);
    if (!is_of_standstill) return;
    const std::uint32_t first = first_live_place(report.control());
    const std::string reason = summary_of_standstill(report.control());
    send_to_all(frame_kind::lost, std::as_bytes(std::span{reason}), first);
    note_loss(first, reason);
    look();  // answers to the look before this one are of the job before that
  }

  // --- Clocks -------------------------------------------------------------------------------------------------------

  [[nodiscard]] bool is_traced() const { return shown_ && shown_->control().trace; }

  void ask_time(host_link& link, int trips) {
    link.trips_left = trips;
    const std::uint64_t now = steady_ns();
    send(link, frame_kind::clock, os::bytes_of(now));
  }

  // Takes the answer: its time was that of the middle of the round trip, as exactly as the shortest trip allows.
  void take_time(host_link& link, std::span<const std::byte> bytes) {
    os::byte_reader from{bytes};
    std::uint64_t asked = 0;
    std::uint64_t there = 0;
    if (!from.take(asked, there) || !from.is_empty() || link.trips_left == 0)
      throw_error(errc::bad_message, "a time for which the launcher has not asked");
    const std::uint64_t trip = steady_ns() - asked;
    if (link.trips_left == trips_of_measurement || trip < link.shortest_ns) {
      link.shortest_ns = trip;
      link.there_ns = there;
      link.ahead_ns = static_cast<std::int64_t>(there - (asked + trip / 2));
    }
    if (link.trips_left > 1) return ask_time(link, link.trips_left - 1);
    link.trips_left = 0;
    link.clock.look(link.there_ns, link.ahead_ns);
    if (is_ending_) release_when_measured();
  }

  void release_when_measured() {
    if (std::all_of(links_.begin(), links_.end(), [](const host_link& each) { return each.trips_left == 0; }))
      release();
  }

  // Acts on the end of all places: clocks are measured once more before the agents end.
  void end_all() {
    if (!is_traced()) return release();
    is_ending_ = true;
    await_silent(0s);
    for (host_link& each : links_)
      if (each.to && each.trips_left == 0) ask_time(each, trips_of_measurement);
  }

  [[nodiscard]] bool have_all_ended() const {
    return std::all_of(links_.begin(), links_.end(), [](const host_link& each) { return each.running == 0; });
  }

  static constexpr int trips_of_measurement = 16;
  static constexpr int not_found = 127;  // exit code of a shell, and of os::child here
  const hosts_options& options_;
  const std::string situ_;
  const descriptor_limit limit_;
  const os::passed_signals signals_;
  std::uint32_t places_ = 0;
  std::vector<std::uint16_t> homes_;
  std::vector<host_link> links_;
  std::optional<line_labels> labels_;
  std::optional<job> shown_;               // of an observed job
  std::optional<standing_places> report_;  // that is coming
  std::optional<hosts_watch> watch_;
  std::optional<queued_writer> writer_;
  launch_result result_;
  std::vector<bool> has_ended_;
  std::string failure_;
  bool is_running_ = false;  // the agents have been told to start the places
  bool is_interrupted_ = false;
  bool is_ending_ = false;  // all places have ended
  clock_type::time_point time_limit_ends_ = clock_type::time_point::max();
  clock_type::time_point silence_ends_ = clock_type::time_point::max();
  // After a loss: when hosts are lost that neither go on nor have ended.
  clock_type::time_point going_on_ends_ = clock_type::time_point::max();
};

}  // namespace

hosts_result run_over_hosts(const hosts_options& options) { return hosts_launch{options}.run(); }

}  // namespace situ::detail
