#include "model_sweep.h"

#include "base/print.h"
#include "os/child.h"
#include "os/descriptor.h"
#include "os/mapping.h"
#include "os/output_file.h"
#include "os/signals.h"
#include "settings_before_main.h"

#include <situ/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

namespace {

using nlohmann::ordered_json;
using situ::detail::print_out;
using situ::detail::tell;

struct swept_key {
  std::string name;
  std::vector<std::string> values;
};

// Parses "l2.size=64KiB,128KiB"; commas within brackets and quotes are part of a value.
swept_key parse_sweep(const std::string& text) {
  const std::size_t equals = text.find('=');
  swept_key made{.name = text.substr(0, equals), .values = {}};
  int depth = 0;
  bool is_quoted = false;
  std::string value;
  for (const char each : equals == std::string::npos ? "" : text.substr(equals + 1)) {
    if (each == '"') is_quoted = !is_quoted;
    if (!is_quoted && (each == '[' || each == '{')) ++depth;
    if (!is_quoted && (each == ']' || each == '}')) --depth;
    if (each == ',' && depth == 0 && !is_quoted)
      made.values.push_back(std::exchange(value, {}));
    else
      value += each;
  }
  made.values.push_back(value);
  if (made.name.empty() || std::ranges::find(made.values, "") != made.values.end())
    situ::throw_error(situ::errc::bad_argument,
                      fmt::format("--sweep {}: write KEY=VALUE,VALUE,..., as l2.size=64KiB,128KiB", text));
  return made;
}

struct one_run {
  std::vector<std::string> values;  // one value for each key
  situ::os::child process{};
  situ::os::descriptor report{};  // unnamed files: the program's JSON, and its output
  situ::os::descriptor out{};
  int exit_code = -1;  // -1: it was not started
  ordered_json json{};
};

std::vector<one_run> combinations(const std::vector<swept_key>& keys) {
  std::vector<std::vector<std::string>> all(1);
  for (const swept_key& key : keys) {
    std::vector<std::vector<std::string>> more;
    for (const std::vector<std::string>& each : all)
      for (const std::string& value : key.values) {
        more.push_back(each);
        more.back().push_back(value);
      }
    all = std::move(more);
  }
  std::vector<one_run> runs;
  for (std::vector<std::string>& each : all) runs.push_back({.values = std::move(each)});
  return runs;
}

std::string text_in(int file) {
  std::string text(static_cast<std::size_t>(std::max<off_t>(::lseek(file, 0, SEEK_END), 0)), '\0');
  const ssize_t read = ::pread(file, text.data(), text.size(), 0);
  text.resize(read < 0 ? 0 : static_cast<std::size_t>(read));
  return text;
}

situ::os::descriptor make_file(const char* name) {
  situ::os::descriptor made = situ::os::memory_file(name);
  if (!made) situ::throw_error(situ::errc::bad_launch, fmt::format("no memory for {}: {}", name, strerror(errno)));
  return made;
}

std::vector<std::string> settings_of(const one_run& run, const std::vector<swept_key>& keys,
                                     const sweep_options& options) {
  std::vector<std::string> all = options.settings;
  for (std::size_t i = 0; i < keys.size(); ++i) all.push_back(fmt::format("{}={}", keys[i].name, run.values[i]));
  return all;
}

void start_run(one_run& run, const std::string& machine, const std::vector<std::string>& settings,
               const std::string& file, const std::vector<std::string>& arguments) {
  run.report = make_file("report");
  run.out = make_file("out");
  ::fcntl(run.out.number(), F_SETFL, O_APPEND);
  const auto before_main = settings_before_main(machine, settings);
  std::vector<std::string_view> set_here{"SITU_MODEL_SET", "SITU_MODEL_JSON", "SITU_MODEL_QUIET"};
  for (const auto& each : before_main) set_here.emplace_back(each.first);
  std::vector<std::string> variables = situ::os::own_environment(set_here);
  for (const auto& [name, value] : before_main) variables.push_back(name + "=" + value);
  variables.push_back(fmt::format("SITU_MODEL_SET={}\n", fmt::join(settings, "\n")));
  variables.push_back(fmt::format("SITU_MODEL_JSON=/proc/self/fd/{}", run.report.number()));
  variables.emplace_back("SITU_MODEL_QUIET=1");
  const situ::os::exec_texts argument_texts{arguments};
  const situ::os::exec_texts environment{std::move(variables)};
  situ::os::start_failures failures;
  const auto in_child = [] {
    situ::os::reset_signal(SIGINT);
    return true;
  };
  run.process = situ::os::child::start({.file = file.c_str(),
                                        .arguments = argument_texts,
                                        .environment = &environment,
                                        .input = situ::os::program::nothing,
                                        .output = run.out.number(),
                                        .errors = run.out.number(),
                                        .kept = {run.report.number(), -1}},
                                       {.in_child = in_child}, failures);
  if (!run.process)
    situ::throw_error(situ::errc::bad_launch, fmt::format("cannot start {}: {}", file, std::strerror(errno)));
  (void)failures.wait();  // the run's exit code says it, too
}

void finish(one_run& run) {
  run.exit_code = run.process.wait().shell_code();
  run.json = ordered_json::parse(text_in(run.report.number()), nullptr, false);
  if (run.json.is_discarded()) run.json = nullptr;
  run.report.close();
}

std::atomic<bool> sweep_is_interrupted = false;

// Runs all. Runs of the terminal's group get its signal, too, and leave the results that they have.
void run_all(std::vector<one_run>& runs, std::uint32_t jobs, const auto& start_one) {
  situ::os::handle_signal(SIGINT, [](int) { sweep_is_interrupted = true; });
  std::size_t next = 0;
  std::uint32_t active = 0;
  while (active > 0 || (next < runs.size() && !sweep_is_interrupted)) {
    if (active < jobs && next < runs.size() && !sweep_is_interrupted) {
      start_one(runs[next++]);
      ++active;
      continue;
    }
    const pid_t ended = situ::os::await_ended_child();
    if (ended < 0 && errno == ECHILD)  // the parent has SIGCHLD ignored: the exit codes are unknown
      situ::throw_error(situ::errc::bad_launch,
                        "the runs cannot be waited for: SIGCHLD is ignored here; start the sweep without that");
    if (ended < 0) continue;
    const auto found = std::ranges::find(runs, ended, [](const one_run& each) { return each.process.id(); });
    if (found == runs.end()) {  // a child that this process had before it became the sweep
      situ::os::drop_ended_child(ended);
      continue;
    }
    finish(*found);
    --active;
  }
}

// Returns the misses of all caches of a level, in percent; an empty string if there are none.
std::string misses_of(const ordered_json& report, std::uint32_t level) {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  for (const ordered_json& node : report["shape"]["nodes"])
    for (const ordered_json& cache : node.value("caches", ordered_json::array()))
      if (cache["level"] == level && cache["instructions"] == false)
        for (const ordered_json& part : report["parts"])
          if (part["part"] == cache["name"] && part["kind"] == "cache") {
            hits += part["hits"].get<std::uint64_t>();
            misses += part["misses"].get<std::uint64_t>();
          }
  if (hits + misses == 0) return "-";
  return fmt::format("{:.2f}", 100.0 * static_cast<double>(misses) / static_cast<double>(hits + misses));
}

using row = std::vector<std::string>;

std::string nanoseconds(const ordered_json& ps) { return fmt::format("{:.0f}", ps.get<double>() * 1e-3); }

// Makes a line for each run; times are relative to the first run that has one.
std::vector<row> table_of(const std::vector<one_run>& runs, const std::vector<swept_key>& keys) {
  row head;
  for (const swept_key& key : keys) head.push_back(key.name);
  head.insert(head.end(), {"modelled ns", "of first", "accesses", "L1 misses %", "L2 misses %"});
  const auto first = std::ranges::find_if(runs, [](const one_run& each) { return !each.json.is_null(); });
  if (first != runs.end())
    for (const ordered_json& region : first->json["regions"]) head.push_back(region["name"].get<std::string>() + " ns");
  head.emplace_back("remark");
  std::vector<row> rows{head};
  for (const one_run& each : runs) {
    row line = each.values;
    if (!each.json.is_null()) {
      const double time = each.json["modelled_ps"].get<double>();
      line.insert(line.end(), {nanoseconds(each.json["modelled_ps"]),
                               fmt::format("{:.3f}", time / first->json["modelled_ps"].get<double>()),
                               each.json["accesses"].dump(), misses_of(each.json, 1), misses_of(each.json, 2)});
      for (const ordered_json& region : each.json["regions"]) line.push_back(nanoseconds(region["modelled_ps"]));
    }
    line.resize(head.size() - 1, "-");
    line.push_back(each.exit_code < 0                                  ? "not run"
                   : !each.json.is_null() && !each.json["is_complete"] ? "not complete"
                   : each.exit_code != 0                               ? fmt::format("exit code {}", each.exit_code)
                                                                       : "");
    rows.push_back(std::move(line));
  }
  return rows;
}

void print(const std::vector<row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const row& each : rows)
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], each[i].size());
  for (const row& each : rows) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) line += fmt::format("{:>{}}  ", each[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    print_out("{}\n", line);
  }
}

ordered_json json_of(const std::vector<one_run>& runs, const std::vector<swept_key>& keys,
                     const sweep_options& options) {
  ordered_json made{{"machine", options.machine}, {"settings", options.settings}, {"runs", ordered_json::array()}};
  for (const one_run& each : runs) {
    ordered_json values;
    for (std::size_t i = 0; i < keys.size(); ++i) values[keys[i].name] = each.values[i];
    made["runs"].push_back({{"set", values}, {"exit_code", each.exit_code}, {"report", each.json}});
  }
  return made;
}

}  // namespace

int run_sweep(const sweep_options& options, const std::string& file, const std::vector<std::string>& arguments) {
  std::vector<swept_key> keys;
  for (const std::string& each : options.sweeps) keys.push_back(parse_sweep(each));
  std::optional<situ::detail::output_file> json;
  if (!options.json.empty()) json.emplace(options.json);
  std::vector<one_run> runs = combinations(keys);
  const std::uint32_t jobs = options.jobs != 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
  run_all(runs, jobs,
          [&](one_run& run) { start_run(run, options.machine, settings_of(run, keys, options), file, arguments); });
  print(table_of(runs, keys));
  if (json) {
    json->add(json_of(runs, keys, options).dump(2) + '\n');
    json->close();
  }
  int code = sweep_is_interrupted ? 128 + SIGINT : 0;
  for (const one_run& each : runs) {
    if (each.exit_code > 0 && code == 0) code = each.exit_code;
    if (each.exit_code > 0 && !sweep_is_interrupted)
      tell("{}\n{}", fmt::join(settings_of(each, keys, options), "\n"), text_in(each.out.number()));
  }
  return code;
}
