// `situ top`: shows a running job. It finds the job by the file that its launcher keeps open (running_jobs.h), maps
// the file for reading, and leaves nothing behind.
#include "commands.h"
#include "processes.h"
#include "running_jobs.h"

#include "base/print.h"
#include "fabric/observe.h"
#include "launch/standstill.h"
#include "memory/job.h"
#include "os/descriptor.h"
#include "os/host.h"

#include <situ/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using situ::detail::job;
using situ::detail::job_control;
using situ::detail::pair_counts;
using situ::detail::place_state;
using situ::detail::print_out;

struct top_options {
  pid_t launcher = 0;
  bool once = false;
  bool json = false;
};

running_job find_job(pid_t launcher) {
  std::vector<running_job> jobs = find_running_jobs(launcher);
  std::erase_if(jobs, [](const running_job& each) { return each.is_any_program; });
  if (jobs.size() == 1) return jobs.front();
  if (jobs.empty())
    throw situ::error{situ::errc::bad_argument,
                      launcher != 0 ? fmt::format("process {} is no `situ run` that you may look at", launcher)
                                    : std::string{"no `situ run` of yours is running on this machine"}};
  std::string pids;
  for (const running_job& each : jobs) pids += fmt::format(" {}", each.launcher);
  throw situ::error{situ::errc::bad_argument, fmt::format("several jobs run: say which launcher, one of{}", pids)};
}

job open_job(const running_job& found) {
  situ::os::descriptor file{::open(found.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!file)
    throw situ::error{
        situ::errc::bad_argument,
        errno == ENOENT || errno == EACCES || errno == EPERM
            ? fmt::format("the job of process {} has ended, or is not yours", found.launcher)
            : fmt::format("the job of process {} cannot be opened: {}", found.launcher, std::strerror(errno))};
  return job::look_at(std::move(file));
}

// The kernel's figures of a place's process.
struct process_use {
  bool is_known = false;
  std::uint64_t processor_ns = 0;
  std::uint64_t resident_bytes = 0;
};
process_use use_of(pid_t pid) {
  process_use use;
  const std::vector<std::string> fields = process_stat(pid);
  if (fields.size() < 22) return use;
  const auto field = [&](std::size_t i) { return std::strtoull(fields[i].c_str(), nullptr, 10); };
  const auto ticks = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  use.is_known = true;
  use.processor_ns = (field(11) + field(12)) * (1'000'000'000 / ticks);
  use.resident_bytes = field(21) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return use;
}

// The result of one look.
struct sample {
  std::uint64_t at_ns = 0;
  std::vector<situ::detail::seen_place> places;
  std::vector<process_use> uses;
  std::vector<std::vector<pair_counts>> pairs;  // empty without statistics
};

sample take_sample(job_control& control) {
  sample taken{
      .at_ns = situ::detail::steady_ns(), .places = situ::detail::look_at_places(control), .uses = {}, .pairs = {}};
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    const pid_t pid = control.slot(place).pid.load();
    taken.uses.push_back(pid != 0 ? use_of(pid) : process_use{});
    if (control.observation_bytes == 0) continue;
    const auto row = situ::detail::counts_of_place(control, place);
    taken.pairs.emplace_back(row.begin(), row.end());
  }
  return taken;
}

pair_counts sum_of(const sample& taken, std::size_t place) {
  pair_counts sum{};
  if (taken.pairs.empty()) return sum;
  for (const pair_counts& each : taken.pairs[place]) {
    sum.put_bytes += each.put_bytes;
    sum.get_bytes += each.get_bytes;
    sum.messages += each.messages;
    sum.message_bytes += each.message_bytes;
  }
  return sum;
}

// Returns nullopt if one of the looks has not seen the process.
std::optional<double> load_of(const sample& before, const sample& now, std::size_t place) {
  const process_use& then = before.uses[place];
  const process_use& use = now.uses[place];
  if (!then.is_known || !use.is_known || use.processor_ns < then.processor_ns) return std::nullopt;
  const auto time = static_cast<double>(std::max<std::uint64_t>(now.at_ns - before.at_ns, 1));
  return static_cast<double>(use.processor_ns - then.processor_ns) / time;
}

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "K", "M", "G", "T"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f}{}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

std::string matrix_text(const sample& taken) {
  std::string text = "\nmessages so far, from (rows) to (columns)\n       ";
  const std::size_t shown = std::min<std::size_t>(taken.pairs.size(), 16);
  for (std::size_t to = 0; to < shown; ++to) text += fmt::format(" {:>9}", to);
  for (std::size_t from = 0; from < shown; ++from) {
    text += fmt::format("\n{:>7}", from);
    for (std::size_t to = 0; to < shown; ++to) text += fmt::format(" {:>9}", taken.pairs[from][to].messages);
  }
  return text + (shown < taken.pairs.size() ? "\n(the first 16 places; --json has all)\n" : "\n");
}

std::string table_text(job_control& control, const sample& before, const sample& now, pid_t launcher) {
  const double seconds = static_cast<double>(now.at_ns - before.at_ns) * 1e-9;
  std::string text =
      fmt::format("job of process {}: {} places{}\n{:>5} {:>7} {:>5} {:>8} {:>8} {:>6} {:>9} {:>9}  {}\n", launcher,
                  control.place_count, now.pairs.empty() ? "; messages and bytes need situ run --stats" : "", "place",
                  "process", "load", "opened", "resident", "waits", "messages/s", "bytes/s", "main");
  for (std::size_t i = 0; i < now.places.size(); ++i) {
    const situ::detail::seen_place& place = now.places[i];
    const auto& slot = control.slot(place.place);
    const pair_counts sum = sum_of(now, i);
    const pair_counts old = sum_of(before, i);
    const auto bytes = [](const pair_counts& c) { return c.put_bytes + c.get_bytes + c.message_bytes; };
    const bool has_counts = !now.pairs.empty();
    const std::optional<double> load = load_of(before, now, i);
    const bool is_main_waiting = !place.waits.empty() && place.waits[0].is_main;
    text += fmt::format(
        "{:>5} {:>7} {:>5} {:>8} {:>8} {:>6} {:>10} {:>9}  {}\n", place.place, slot.pid.load(),
        load ? fmt::format("{:.0f}%", 100 * *load) : "?", bytes_text(static_cast<double>(slot.extent.load())),
        now.uses[i].is_known ? bytes_text(static_cast<double>(now.uses[i].resident_bytes)) : "?",
        place.waits.size() + place.unrecorded,
        has_counts ? fmt::format("{:.0f}", static_cast<double>(sum.messages - old.messages) / seconds) : "-",
        has_counts ? bytes_text(static_cast<double>(bytes(sum) - bytes(old)) / seconds) : "-",
        place.state != place_state::joined ? std::string{label(place.state)}
        : is_main_waiting                  ? describe(place.waits[0]).substr(5)
                                           : "runs");
  }
  if (!now.pairs.empty()) text += matrix_text(now);
  return text + situ::detail::format_placed(control);
}

std::string json_text_of(job_control& control, const sample& before, const sample& now, pid_t launcher) {
  std::string text = fmt::format("{{\"launcher\": {}, \"places\": [", launcher);
  for (std::size_t i = 0; i < now.places.size(); ++i) {
    const situ::detail::seen_place& place = now.places[i];
    const auto& slot = control.slot(place.place);
    const std::optional<double> load = load_of(before, now, i);
    text += fmt::format(
        "{}\n {{\"place\": {}, \"state\": {}, \"process\": {}, \"load\": {}, \"opened_bytes\": {}, "
        "\"resident_bytes\": {}, \"sleeps\": {}, \"waits\": {}, \"main\": {}}}",
        i == 0 ? "" : ",", place.place, situ::detail::json_text(label(place.state)), slot.pid.load(),
        load ? fmt::format("{:.3f}", *load) : "null", slot.extent.load(),
        now.uses[i].is_known ? fmt::format("{}", now.uses[i].resident_bytes) : "null", place.rests,
        place.waits.size() + place.unrecorded,
        !place.waits.empty() && place.waits[0].is_main ? situ::detail::json_text(describe(place.waits[0])) : "null");
  }
  text += "],\n\"pairs\": [";
  const char* separator = "";
  for (std::size_t from = 0; from < now.pairs.size(); ++from)
    for (std::size_t to = 0; to < now.pairs[from].size(); ++to) {
      const pair_counts& c = now.pairs[from][to];
      if (c.puts + c.gets + c.atomics + c.messages + c.waits == 0) continue;
      text += fmt::format(
          "{}\n {{\"from\": {}, \"to\": {}, \"puts\": {}, \"put_bytes\": {}, \"gets\": {}, \"get_bytes\": {}, "
          "\"atomics\": {}, \"messages\": {}, \"message_bytes\": {}, \"waits\": {}, \"waited_ns\": {}}}",
          std::exchange(separator, ","), from, to, c.puts, c.put_bytes, c.gets, c.get_bytes, c.atomics, c.messages,
          c.message_bytes, c.waits, c.wait_ns);
    }
  text += "],\n\"placed\": [";
  separator = "";
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    for (const auto& row : control.status(place).placed.all()) {
      text += fmt::format("{}\n {{\"place\": {}, \"intent\": {}, \"memory\": {}, \"bytes\": {}, \"most_bytes\": {}}}",
                          std::exchange(separator, ","), place, situ::detail::json_text(row.intent_name()),
                          situ::detail::json_text(row.memory_name()), row.bytes.load(), row.most.load());
    }
  }
  return text + "]}\n";
}

bool has_ended(job_control& control, pid_t launcher) {
  if (::kill(launcher, 0) != 0 && errno == ESRCH) return true;
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    const place_state state = control.slot(place).state.load();
    if (state == place_state::absent || state == place_state::joined) return false;
  }
  return true;
}

void top(const top_options& options) {
  using namespace std::chrono_literals;
  const running_job found = find_job(options.launcher);
  const job shown = open_job(found);
  job_control& control = shown.control();
  const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
  sample before = take_sample(control);
  do {
    std::this_thread::sleep_for(options.once ? 200ms : 1000ms);
    sample now = take_sample(control);
    auto* const form = options.json ? &json_text_of : &table_text;
    // from the upper left corner, on an empty screen
    print_out("{}{}", is_terminal && !options.once && !options.json ? "\x1b[H\x1b[2J" : "",
              form(control, before, now, found.launcher));
    if (!situ::detail::flush_output()) return;  // no reader is left for the next ones
    before = std::move(now);
  } while (!options.once && !has_ended(control, found.launcher));
}

}  // namespace

void add_top_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("top", "Show a running job: what each place does, and who sends to whom");
  auto options = std::make_shared<top_options>();
  command->add_option("PID", options->launcher, "The `situ run` to look at; needless where one runs")
      ->check(CLI::PositiveNumber);
  command->add_flag("--once", options->once, "Show it once, instead of each second");
  command->add_flag("--json", options->json, "As JSON, an object for each look");
  command->footer(
      "Examples:\n"
      "  situ top                     the job that runs, each second until it ends\n"
      "  situ top --once --json 4711  the job of situ run with process number 4711, for a script\n"
      "Messages, bytes and the matrix are there where the job was started with situ run --stats.");
  command->callback([options] { top(*options); });
}
