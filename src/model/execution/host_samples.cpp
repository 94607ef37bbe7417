#include "model/execution/host_samples.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <string_view>

#include "kept_symbols.h"
#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/imported_calls.h"
#include "model/execution/stacks.h"
#include "os/signals.h"

namespace situ::model {
namespace {

constexpr long period_ns = 5'000'000;  // the kernel checks such timers about every 4 ms
constexpr std::uint64_t least_samples = 40;
constexpr double told_percent = 5;
constexpr std::size_t most_functions = 3;  // functions named per file

struct sample {
  std::uintptr_t code = 0;
  std::uint64_t count = 0;
};
constinit std::array<sample, 8192> samples{};  // by code; linear probing
constinit std::uint64_t all_samples = 0;
void (*also)() = nullptr;  // called at each sample
int timer = -1;

void note(std::uintptr_t code) noexcept {
  std::size_t at = code * 0x9e3779b97f4a7c15 >> 51;
  for (std::size_t i = 0; i < samples.size(); ++i, at = (at + 1) % samples.size()) {
    if (samples[at].count != 0 && samples[at].code != code) continue;
    samples[at].code = code;
    ++samples[at].count;
    return;
  }
}

bool is_of_program(std::uintptr_t code) noexcept {
  return code >= reinterpret_cast<std::uintptr_t>(&__executable_start) &&
         code < reinterpret_cast<std::uintptr_t>(&etext);
}

void on_tick(int, siginfo_t*, void* context) {
  // While the executor works, the running code is its own.
  if (running != &nobody) {
    const auto code = static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
    note(code);
    if (!is_of_program(code)) note_imported_sample();
  }
  ++all_samples;
  if (also != nullptr) also();
}

// Returns whether the function is the executor's: its own names, and the names of the C library that it replaces.
bool is_of_executor(const std::string& function) {
  if (function.starts_with("situ::model::")) return true;
  for (std::string_view rest = kept_symbols; !rest.empty();) {
    std::string_view name = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name.ends_with('*') ? function.starts_with(name.substr(0, name.size() - 1)) : function == name) return true;
  }
  return false;
}

// pre: the function is the program's.
bool has_hooks(code_range function) {
  return std::ranges::any_of(the_engine->cores(), [&](const core& c) {
    for (std::uintptr_t at = function.begin; at < function.end && is_of_program(at); ++at) {
      const std::uintptr_t byte = at - reinterpret_cast<std::uintptr_t>(&__executable_start);
      if (c.block_costs[byte].is_known()) return true;  // also of a core whose hooks ask the engine: text_bytes is 0
    }
    return false;
  });
}

struct origin {
  bool has_hooks = true;
  std::string file;
  std::string function;
};

origin origin_of(std::uintptr_t code) {
  if (is_import_stub(code)) return {};
  if (is_of_program(code)) {
    const code_range range = function_around(code);
    const std::string name = function_name(code);
    // Code outside all functions is only the linker's stubs.
    return {range.begin == range.end || is_of_executor(name) || has_hooks(range), "", name};
  }
  Dl_info found{};
  if (::dladdr(reinterpret_cast<void*>(code), &found) == 0 || found.dli_fname == nullptr)
    return {false, "code of no file", fmt::format("{:#x}", code)};
  const std::string_view file = found.dli_fname;
  return {false, std::string{file.substr(file.rfind('/') + 1)},
          found.dli_sname == nullptr ? "a function without a name" : found.dli_sname};
}

}  // namespace

void begin_host_samples(void (*each_time)()) {
  also = each_time;
  os::handle_signal(sampling_signal(), &on_tick, SA_ONSTACK | SA_RESTART);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = sampling_signal();
  // This timer ends when the program executes another program; an interval timer would not.
  if (host_call(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, reinterpret_cast<long>(&event),
                reinterpret_cast<long>(&timer)) != 0) {
    timer = -1;
    return;
  }
  const itimerspec every{.it_interval = {.tv_sec = 0, .tv_nsec = period_ns},
                         .it_value = {.tv_sec = 0, .tv_nsec = period_ns}};
  host_call(SYS_timer_settime, timer, 0, reinterpret_cast<long>(&every), 0);
}

int sampling_signal() noexcept { return SIGRTMAX; }
std::uint64_t host_samples() noexcept { return all_samples; }

void end_host_samples() noexcept {
  if (timer >= 0) host_call(SYS_timer_delete, std::exchange(timer, -1));
}

std::vector<code_without_hooks> find_code_without_hooks() {
  std::vector<code_without_hooks> found;
  if (all_samples < least_samples) return found;
  std::map<std::string, std::map<std::string, std::uint64_t>> files;
  for (const sample& each : samples) {
    if (each.count == 0) continue;
    const origin from = origin_of(each.code);
    if (!from.has_hooks) files[from.file][from.function] += each.count;
  }
  const auto percent = [](std::uint64_t count) {
    return 100.0 * static_cast<double>(count) / static_cast<double>(all_samples);
  };
  for (const auto& [file, functions] : files) {
    std::uint64_t sum = 0;
    code_without_hooks made{.file = file, .functions = {}};
    for (const auto& [name, count] : functions) {
      sum += count;
      made.functions.emplace_back(name, percent(count));
    }
    made.percent = percent(sum);
    if (made.percent <= told_percent) continue;
    std::ranges::stable_sort(made.functions, std::greater<>{}, &std::pair<std::string, double>::second);
    made.functions.resize(std::min(made.functions.size(), most_functions));
    found.push_back(std::move(made));
  }
  return found;
}

std::string to_text(const std::vector<code_without_hooks>& found) {
  std::string text;
  for (const code_without_hooks& each : found) {
    text += fmt::format(
        "situ model: warning: {:.0f} % of the host's time went to {}, which has no hooks and takes no "
        "modelled time:",
        each.percent, each.file.empty() ? "code of the program" : each.file);
    for (const auto& [name, percent] : each.functions) text += fmt::format(" {} {:.0f} %", name, percent);
    text += "\n";
  }
  return text;
}

std::string to_json(const std::vector<code_without_hooks>& found) {
  nlohmann::ordered_json made = nlohmann::ordered_json::array();
  for (const code_without_hooks& each : found) {
    nlohmann::ordered_json functions = nlohmann::ordered_json::array();
    for (const auto& [name, percent] : each.functions) functions.push_back({{"function", name}, {"percent", percent}});
    made.push_back({{"file", each.file}, {"percent", each.percent}, {"functions", std::move(functions)}});
  }
  return made.dump();
}

}  // namespace situ::model
