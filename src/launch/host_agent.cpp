// `situ host-agent`: `situ run --hosts` starts it at each host. It is the launcher of the places there, and starts the
// host's server.
//
// Frames (launch/host_frames.h) arrive on its standard input and leave on its standard output: no port is opened, no
// secret is passed. The end of its input ends everything that it has started.
#include "launch/run_hosts.h"

#include "cluster/host_words.h"
#include "cluster/network_choice.h"
#include "launch/host_frames.h"
#include "launch/host_part.h"
#include "launch/launch.h"
#include "launch/monitor.h"
#include "launch/network.h"
#include "launch/queued_writer.h"
#include "launch/shown_rows.h"
#include "launch/standing_places.h"
#include "launch/standstill.h"
#include "launch/start.h"
#include "os/bytes.h"
#include "os/descriptor.h"
#include "os/find_program.h"
#include "os/host.h"
#include "os/signals.h"

#include <situ/base/error.h>
#include <situ/fabric/detail/function_id.h>
#include <situ/memory/detail/losses.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace situ::detail {
namespace {

using namespace cluster;

constexpr std::size_t most_untaken_bytes = std::size_t{1} << 20;  // of output that the launcher has not read

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The parts of a start order that concern this host.
struct own_start {
  agent_start order;
  std::vector<std::uint32_t> places;
  program_options options;
};

own_start read_start(const host_frame& frame) {
  if (frame.what != frame_kind::start) throw_error(errc::bad_message, "the launcher says something else");
  own_start made{.order = unpack_start(frame.bytes), .places = {}, .options = {}};
  const agent_start& order = made.order;
  job_options& job = made.options.job;
  job.place_count = static_cast<std::uint32_t>(order.homes.size());
  job.memory_budget = order.memory_budget;
  job.stack_bytes = order.stack_bytes;
  if (!order.intent.empty()) job.memory_intent = intent::of(order.intent);
  job.memory = order.memory;
  job.progress = (order.how & agent_start::progress) != 0;
  job.checked = (order.how & agent_start::checked) != 0;
  job.stats = (order.how & agent_start::stats) != 0;
  job.trace = (order.how & agent_start::trace) != 0;
  reserve_observation(job);
  job.host = order.host;
  std::vector<std::uint16_t> counts(std::size_t{UINT16_MAX} + 1);
  for (std::uint32_t place = 0; place < job.place_count; ++place) {
    job.homes.push_back({order.homes[place], counts[order.homes[place]]++});
    if (order.homes[place] == order.host) made.places.push_back(place);
  }
  made.options.bind = static_cast<binding>(std::min(order.binding, static_cast<std::uint32_t>(binding::numa)));
  made.options.tag = true;  // whole lines: the places have no terminal, whatever the launcher has
  made.options.forward_signals = false;
  made.options.grace = std::chrono::milliseconds{order.grace_ms};
  made.options.time_limit = std::chrono::milliseconds{order.time_limit_ms};
  return made;
}

// Sets the launcher's variables and folder.
void settle(const agent_start& order) {
  for (const std::string& each : order.variables) {
    const std::size_t end = each.find('=');
    if (end != std::string::npos) ::setenv(each.substr(0, end).c_str(), each.c_str() + end + 1, 1);
  }
  if (::chdir(order.folder.c_str()) != 0)
    throw_error(errc::bad_launch,
                fmt::format("the folder {} cannot be entered: {}", order.folder, ::strerrordesc_np(errno)));
}

// Gives the places the folder of the network's library: by themselves they would look near their program, which may be
// in any folder. Starts nothing if this host has no such library. Throws as network_folder().
void name_network_folder(const agent_start& order) {
  const bool is_over_hosts =
      std::any_of(order.homes.begin(), order.homes.end(), [&order](auto home) { return home != order.host; });
  if (is_over_hosts) ::setenv(network_folder_variable, network_folder().c_str(), 1);
}

class host_agent {
 public:
  explicit host_agent(program_identity identity_of_file)
      : identity_of_file_{identity_of_file}, in_{take_over(STDIN_FILENO)}, out_{take_over(STDOUT_FILENO)} {}

  void run() {
    send(frame_kind::hello, pack(agent_hello{.build = executable_id()}));
    const std::optional<host_frame> frame = receive();
    if (!frame) return;
    try {
      start(read_start(*frame));
    } catch (const error& e) {
      send(frame_kind::address, pack(host_record{.refusal = std::string{e.message()}}));
      while (receive()) {}
    }
  }

 private:
  // Other code that reads or prints here must not get between the frames.
  static int take_over(int standard) {
    const int taken = ::fcntl(standard, F_DUPFD_CLOEXEC, 3);
    if (taken < 0) throw_error(errc::bad_launch, "situ run --hosts starts this, with streams of its own");
    if (standard == STDOUT_FILENO) {
      (void)os::replace_stream(standard, STDERR_FILENO);
    } else {
      const os::descriptor nothing{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
      if (!nothing || !os::replace_stream(standard, nothing.number()))  // otherwise place 0 would read the frames
        throw_error(errc::bad_launch,
                    fmt::format("no /dev/null for the standard input of places: {}", ::strerrordesc_np(errno)));
    }
    return taken;
  }

  void send(frame_kind what, const std::vector<std::byte>& bytes, std::uint32_t place = 0) {
    std::string frame = text_of(pack_frame(what, place, bytes));
    writer_ ? writer_->add(out_, std::move(frame)) : write_all(out_, frame);
  }
  void send(frame_kind what, std::string_view text, std::uint32_t place = 0) {
    const auto bytes = std::as_bytes(std::span{text});
    send(what, std::vector<std::byte>{bytes.begin(), bytes.end()}, place);
  }

  // Returns false if the launcher is gone, or has closed this end.
  bool read_some() {
    std::byte buffer[16384];
    ssize_t got = 0;
    do got = ::read(in_, buffer, sizeof buffer);
    while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
    reader_.take(std::span{buffer}.first(static_cast<std::size_t>(got)));
    return true;
  }
  std::optional<host_frame> receive() {
    for (;;) {
      if (std::optional<host_frame> frame = reader_.next()) return frame;
      if (!read_some()) return std::nullopt;
    }
  }

  void start(const own_start& own) {
    settle(own.order);
    choose_network(own.order.first_host);
    name_network_folder(own.order);
    const std::string file = os::find_program(own.order.arguments.front());
    host_part part{own.options.job, identity_of_file_(file)};
    send(frame_kind::address, pack(part.record()));
    std::optional<host_frame> frame = receive();
    for (; frame && frame->what == frame_kind::clock; frame = receive()) tell_time(*frame);
    if (!frame) return;
    if (frame->what != frame_kind::addresses) throw_error(errc::bad_message, "the launcher says no addresses");
    std::vector<host_record> records;
    for (const std::vector<std::byte>& each : unpack_list(frame->bytes)) records.push_back(unpack(each));
    job& shared = part.meet(records);
    part.begin_watching();
    watch(own, file, shared, part.record().name);
  }

  void watch(const own_start& own, const std::string& file, job& shared, const std::string& name) {
    job_control& control = shared.control();
    const descriptor_limit limit;
    place_pipes pipes{
        static_cast<std::uint32_t>(own.places.size()), [&](std::uint32_t index, int stream, std::string_view text) {
          writer_->wait_for_room();
          send(frame_kind::output, std::string{static_cast<char>(stream)}.append(text), own.places[index]);
        }};
    const launch_monitor::far_launcher launcher{
        .descriptor = in_,
        .on_ready = [this, &control](launch_monitor& monitor) { listen(control, monitor); },
        .ended =
            [this](std::uint32_t place, const place_outcome& how) {
              send(frame_kind::ended, pack(place_end{.code = how.exit_code, .signal = how.signal}), place);
            },
        .lost = [this](std::uint32_t place, std::string_view why) { send(frame_kind::lost, why, place); },
        .goes_on = [this] { send(frame_kind::goes_on, std::string_view{}); }};
    const auto report = [this, &control, &name](std::string_view why) {
      send(frame_kind::note,
           fmt::format("situ: {}; where the places at {} stand:\n{}", why, name, format_report(control)));
    };
    launch_monitor monitor{control,
                           {.grace = own.options.grace,
                            .time_limit = own.options.time_limit,
                            .reports_on_quit = true,
                            .report = report,
                            .launcher = &launcher},
                           nullptr};
    start_places({.options = own.options,
                  .file = file,
                  .arguments = own.order.arguments,
                  .shared = shared,
                  .places = own.places,
                  .output = &pipes,
                  .signals = nullptr,
                  .limit = limit},
                 monitor);
    writer_.emplace(most_untaken_bytes);  // it ends after the pipes
    pipes.start();
    take_frames(control, monitor);  // frames that arrived with the addresses
    (void)monitor.run();
    if (!control.stats && !control.trace) return;
    for (const std::uint32_t place : own.places)
      send_rows(control, place, [&](const std::vector<std::byte>& piece) {
        writer_->wait_for_room();
        send(frame_kind::row, piece, place);
      });
  }

  void tell_time(const host_frame& asked) {
    std::vector<std::byte> told = asked.bytes;
    os::byte_writer{told}.add(steady_ns());
    send(frame_kind::clock, told);
  }

  // Tells how the places here stand, for a look of the launcher at all hosts.
  void tell_look(job_control& control, std::uint64_t number) {
    const standstill_watch::finding found = standstill_.look(control);
    host_look look{.number = number, .ends = control.failure_epoch.load(), .how = 0, .traffic = {}};
    bool has_places = false;
    for (std::uint32_t place = 0; place < control.place_count; ++place)
      has_places |= control.is_here(place) && control.slot(place).state.load() < place_state::left;
    look.how = (found.is_final ? host_look::stands : 0U) | (found.has_progressed ? host_look::has_progressed : 0U) |
               (has_places ? host_look::has_places : 0U);
    look.traffic.resize(control.host_count);
    for (std::uint16_t host = 0; host < control.host_count; ++host) {
      if (host == control.host) continue;
      const host_traffic& its = traffic_with(control, host);
      look.traffic[host].sent = its.sent.load(std::memory_order_acquire);
      look.traffic[host].taken =
          has_server(control, host) ? its.taken.load(std::memory_order_acquire) : host_look::nothing_comes;
    }
    send(frame_kind::look, pack(look));
  }
  void tell_status(job_control& control) {
    for (std::uint32_t place = 0; place < control.place_count; ++place)
      if (control.is_here(place)) send(frame_kind::status, pack_status(control, place), place);
  }

  // Handles a frame from the launcher, or its end.
  void listen(job_control& control, launch_monitor& monitor) {
    if (!read_some()) return monitor.release();
    take_frames(control, monitor);
  }
  void take_frames(job_control& control, launch_monitor& monitor) {
    while (const std::optional<host_frame> frame = reader_.next()) {
      switch (frame->what) {
        case frame_kind::signal: monitor.pass_on(unpack_signal(frame->bytes)); break;
        case frame_kind::clock: tell_time(*frame); break;
        case frame_kind::over: monitor.end_by_time_limit(); break;
        case frame_kind::look: tell_look(control, unpack_number(frame->bytes)); break;
        case frame_kind::status: tell_status(control); break;
        case frame_kind::lost:
          if (frame->place < control.place_count) mark_lost(control, frame->place, cluster::text_of(*frame));
          monitor.repeat_going_on();
          break;
        default: throw_error(errc::bad_message, "the launcher says what only an agent says");
      }
    }
  }

  const program_identity identity_of_file_;
  const int in_;
  const int out_;
  frame_reader reader_;
  standstill_watch standstill_;
  std::optional<queued_writer> writer_;  // once there are places
};

}  // namespace

void serve_as_host_agent(program_identity identity_of_file) {
  // The parent may have ignored these signals for itself.
  for (const int each : {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGCHLD}) os::reset_signal(each);
  os::ignore_signal(SIGPIPE);
  host_agent{identity_of_file}.run();
}

}  // namespace situ::detail
