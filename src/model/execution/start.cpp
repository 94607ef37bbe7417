// The executor provides main: it reads the settings of `situ model run` from the environment, makes the machine, and
// runs the program's main as the first thread, with arguments and environment copied to addresses that are the same in
// each run.
//
//   SITU_MODEL_MACHINE   "flat", or a machine's file; required
//   SITU_MODEL_SET       figures of the machine that replace those of its file: KEY=VALUE, one a line
//   SITU_MODEL_PLACES    places of the Situ job; 1 unless given
//   SITU_MODEL_QUANTUM   ns that a core may run ahead between events that others can see
//   SITU_MODEL_STRICT    1: a core never runs ahead
//   SITU_MODEL_COHERENCE 1: tiles see the bytes of their caches; stale reads and lost writes are reported
//   SITU_MODEL_PROFILE   1: the report has the time of each function
//   SITU_MODEL_OBJECTS   1: the report has what the accesses to each object cost
//   SITU_MODEL_FAST_FORWARD  the region from whose begin on accesses are priced
//   SITU_MODEL_SAVE      file for the contents of caches, TLBs and predictors, at the end of the region SITU_MODEL_SAVE_AFTER
//                        or of the run
//   SITU_MODEL_WARM      such a file, with whose contents the run begins, or the region SITU_MODEL_FAST_FORWARD
//   SITU_MODEL_FUNCTIONAL_WARMING 1: accesses before that region keep caches, TLBs and prefetchers up to date
//   SITU_MODEL_TRACE     files for traces of the cores: this name and each core's number; or, of requests, this file
//   SITU_MODEL_TRACE_FORMAT champsim, ramulator-dram, ramulator2-loadstore, or ramulator-cpu; unless given, the first
//   SITU_MODEL_GRAPH_UNITS auto, devices, copy-only or software: copies graphs of offloads; auto: devices, if any
//   SITU_MODEL_COPY_MAP  linear or hashing: the copy map of these devices
//   SITU_MODEL_DUMMIES   0: makes no allocations that stand for those of a copy by software
//   SITU_MODEL_MEMORIES  how many of the memories that belong to no tile are used; all unless given
//   SITU_MODEL_INTENT    the intent whose ordering sorts the memories for the process; unless given, its own memory first
//   SITU_MODEL_JSON      file for the report
//   SITU_MODEL_REPORT    file for the report as a page, with samples over time
//   SITU_MODEL_QUIET     1: no table at the end
//   SITU_MODEL_CORES     the core of each processor, as "0-1,0-1" or "0,1,0,1"
//   SITU_MODEL_TILE_CORES  the processors of the first tile. Libraries ask for both before main, when there is no machine
//                        yet (affinity.h)
#include "model/execution/start.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_size.h"
#include "model/execution/calls.h"
#include "model/execution/coherence_log.h"
#include "model/execution/engine.h"
#include "model/execution/graph_devices.h"
#include "model/execution/host_calls.h"
#include "model/execution/host_samples.h"
#include "model/execution/imported_calls.h"
#include "model/execution/machines.h"
#include "model/execution/openmp.h"
#include "model/execution/regions.h"
#include "model/execution/report.h"
#include "model/execution/report_memories.h"
#include "model/execution/report_objects.h"
#include "model/execution/report_page.h"
#include "model/execution/run_watch.h"
#include "model/execution/stacks.h"
#include "model/execution/timeline.h"
#include "model/execution/warm_start.h"

// The mark by which `situ model run` recognises a modelled program (tools/command/program_file.h).
asm(".pushsection .note.situ_model, \"a\", @note\n"
    ".balign 4\n"
    ".long 10\n"  // bytes of the name
    ".long 4\n"   // bytes of the content
    ".long 1\n"   // the kind of note
    ".asciz \"SituModel\"\n"
    ".balign 4\n"
    ".long 1\n"
    ".popsection");

extern "C" int __real_main(int argc, char** argv, char** environment);  // NOLINT: the linker's name

namespace situ::model {
namespace {

struct run_options {
  std::string machine;
  std::vector<std::string> settings;  // settings of the machine
  std::string json;
  std::string page;
  std::string save;        // file for the state of caches
  std::string save_after;  // the region after which it is saved; empty: at the end
  std::string warm;
  std::uint32_t places = 1;
  std::uint32_t memories = 0;  // 0: all
  std::optional<intent> wanted;
  engine_options engine;
  graph_device_options graph;
  bool needs_graph_units = false;  // requested by name
  bool is_quiet = false;
  bool checks_coherence = false;
};

constexpr const char* settings = "SITU_MODEL_";
constexpr const char* spin_setting = "GOMP_SPINCOUNT=";  // openmp.h

// These objects are never destroyed: static destructors run on modelled time, and are the program's.
run_options& options = *new run_options;
int argument_count = 0;
char** arguments = nullptr;
std::uint64_t begin_ns = 0;
coherence_log* mistakes = nullptr;  // null unless coherence is checked
bool is_over = false;
bool is_cut_short = false;      // ended by the executor before the program's own end
timeline* over_time = nullptr;  // null unless samples are requested

// A report's file, opened before the program begins.
struct output_file {
  std::string name;
  long descriptor = -1;
};
constexpr const char* the_report = "the report";  // of messages
constexpr const char* the_state = "the state of the caches";
output_file& json_file = *new output_file;  // never destroyed, too
output_file& page_file = *new output_file;
output_file& state_file = *new output_file;

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (*text == '\0' || *end != '\0') give_up((std::string{name} + " in the environment is no number").c_str());
  return value;
}

// Returns the index of the environment's choice among these texts; 0 if the variable is not set.
std::size_t choice_of(const char* name, std::initializer_list<std::string_view> choices) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return 0;
  const auto* const found = std::find(choices.begin(), choices.end(), std::string_view{text});
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  std::string said = std::string{name} + " in the environment is none of";
  for (const std::string_view each : choices) (said += ' ') += each;
  give_up(said.c_str());
}

intent intent_of(const char* name) {
  for (const intent& each : intents_everywhere)
    if (each.name() == name) return each;
  give_up((std::string{"SITU_MODEL_INTENT: there is no intent "} + name + " that every machine has").c_str());
}

run_options read_options() {
  run_options made;
  const char* const machine = std::getenv("SITU_MODEL_MACHINE");
  if (machine == nullptr)
    give_up("this program is built for modelled machines: start it with `situ model run`, or set SITU_MODEL_MACHINE");
  made.machine = machine;
  if (const char* const set = std::getenv("SITU_MODEL_SET"))
    for (std::string_view rest = set; !rest.empty();) {
      const std::string_view each = rest.substr(0, rest.find('\n'));
      if (!each.empty()) made.settings.emplace_back(each);
      rest.remove_prefix(std::min(rest.size(), each.size() + 1));
    }
  made.places = static_cast<std::uint32_t>(number_of("SITU_MODEL_PLACES", 1));
  made.engine.quantum_ps = number_of("SITU_MODEL_QUANTUM", made.engine.quantum_ps / 1000) * 1000;
  made.engine.is_strict = number_of("SITU_MODEL_STRICT", 0) != 0;
  made.engine.profiles = number_of("SITU_MODEL_PROFILE", 0) != 0;
  made.engine.sees_objects = number_of("SITU_MODEL_OBJECTS", 0) != 0;
  if (const char* const trace = std::getenv("SITU_MODEL_TRACE")) made.engine.trace = trace;
  const std::size_t format =
      choice_of("SITU_MODEL_TRACE_FORMAT", {"champsim", "ramulator-dram", "ramulator2-loadstore", "ramulator-cpu"});
  if (format > 0 && !made.engine.trace.empty())
    made.engine.requests = ramulator_format{static_cast<std::uint8_t>(format - 1)};
  made.is_quiet = number_of("SITU_MODEL_QUIET", 0) != 0;
  made.checks_coherence = number_of("SITU_MODEL_COHERENCE", 0) != 0;
  if (const char* const region = std::getenv("SITU_MODEL_FAST_FORWARD")) made.engine.fast_forward = region;
  made.engine.warms = number_of("SITU_MODEL_FUNCTIONAL_WARMING", 0) != 0;
  made.memories = static_cast<std::uint32_t>(number_of("SITU_MODEL_MEMORIES", 0));
  if (const char* const wanted = std::getenv("SITU_MODEL_INTENT")) made.wanted = intent_of(wanted);
  const std::size_t units = choice_of("SITU_MODEL_GRAPH_UNITS", {"auto", "devices", "copy-only", "software"});
  made.needs_graph_units = units == 1 || units == 2;
  made.graph.used = units == 3   ? graph_units_used::software
                    : units == 2 ? graph_units_used::copy_only
                                 : graph_units_used::devices;
  made.graph.map = choice_of("SITU_MODEL_COPY_MAP", {"linear", "hashing"}) == 0 ? map_kind::linear : map_kind::hash;
  made.graph.dummy_allocations = number_of("SITU_MODEL_DUMMIES", 1) != 0;
  if (const char* const json = std::getenv("SITU_MODEL_JSON")) made.json = json;
  if (const char* const page = std::getenv("SITU_MODEL_REPORT")) made.page = page;
  if (const char* const save = std::getenv("SITU_MODEL_SAVE")) made.save = save;
  if (const char* const region = std::getenv("SITU_MODEL_SAVE_AFTER")) made.save_after = region;
  if (const char* const warm = std::getenv("SITU_MODEL_WARM")) made.warm = warm;
  return made;
}

// Copies texts one after the other to a fixed address. The executor's own settings are left out, and the one of libgomp
// that `situ model run` makes, so that a run does not depend on the names of its report files.
char** copy_texts(char** from) {
  std::vector<const char*> kept;
  std::size_t bytes = 0;
  for (; *from != nullptr; ++from) {
    if (std::strncmp(*from, settings, std::strlen(settings)) == 0) continue;
    if (std::strncmp(*from, spin_setting, std::strlen(spin_setting)) == 0) continue;
    kept.push_back(*from);
    bytes += std::strlen(*from) + 1;
  }
  auto* const made = static_cast<char**>(fixed_pages((kept.size() + 1) * sizeof(char*) + bytes, false));
  char* text = reinterpret_cast<char*>(made + kept.size() + 1);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    made[i] = std::strcpy(text, kept[i]);
    text += std::strlen(text) + 1;
  }
  return made;
}

void write(const output_file& to, std::string_view text, const char* what = the_report) {
  const situ::detail::file_size_signal_held held;
  long failed = 0;  // errno's value
  while (!text.empty() && failed == 0) {
    const long written = host_call(SYS_write, to.descriptor, reinterpret_cast<long>(text.data()), std::ssize(text));
    if (written == -EINTR) continue;
    if (written <= 0)
      failed = written < 0 ? -written : ENOSPC;
    else
      text.remove_prefix(static_cast<std::size_t>(written));
  }
  const long closed = host_call(SYS_close, to.descriptor);
  if (failed == 0 && closed < 0) failed = -closed;
  if (failed == 0) return;
  std::fflush(nullptr);  // flushes the program's output
  const std::string why = situ::detail::write_failure(static_cast<int>(failed));
  give_up((std::string{"cannot write "} + what + " to " + to.name + ": " + why).c_str());
}

// The file keeps what it had until now: a run that stops early loses no other run's state.
void save_state() {
  host_call(SYS_ftruncate, state_file.descriptor, 0);
  write(state_file, saved_state(*the_engine), the_state);
  state_file.descriptor = -1;
}

// Saves the state at the end of the run, unless a region has ended before.
void save_at_end() {
  if (state_file.descriptor < 0) return;
  if (!options.save_after.empty())
    return say(
        ("situ model: region " + options.save_after + " never ended: " + options.save + " was not written\n").c_str());
  save_state();
}

void write_report(int code) {
  if (std::exchange(is_over, true)) return;
  running = &nobody;
  end_watch();
  the_regions().end_all(*the_engine);
  save_at_end();
  say(the_engine->end_traces().c_str());
  if (the_engine->is_fast_forward())
    say(("situ model: region " + options.engine.fast_forward + " never began: no access was priced\n").c_str());
  const run_figures figures = figures_of(*the_engine, host_ns() - begin_ns);
  if (!options.is_quiet) say(report_text(*the_engine, figures).c_str());
  objects_report by_object;
  if (the_engine->objects() != nullptr) by_object = report_objects(*the_engine->objects());
  if (!options.is_quiet) say(by_object.text.c_str());
  print_mistakes();
  say(refusals_text(*the_engine).c_str());
  const std::vector<code_without_hooks> without_hooks = find_code_without_hooks();
  say(to_text(without_hooks).c_str());
  if (json_file.descriptor < 0 && page_file.descriptor < 0) return;
  if (over_time != nullptr) over_time->end(*the_engine, figures.modelled_ps);
  const std::string json = report_json(*the_engine, figures,
                                       {.exit_code = code,
                                        .is_complete = !was_ended() && !is_cut_short,
                                        .mistakes = mistakes,
                                        .over_time = over_time,
                                        .without_hooks = to_json(without_hooks),
                                        .objects = by_object.json});
  if (json_file.descriptor >= 0) write(json_file, json);
  if (page_file.descriptor >= 0) write(page_file, report_page(json));
}

// Opens a file by the host's calls: buffers of the C library would move the program's allocations.
void open(output_file& made, const std::string& name, const char* what = the_report, int truncates = O_TRUNC) {
  if (name.empty()) return;
  made = {.name = name,
          .descriptor = host_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(name.c_str()),
                                  O_WRONLY | O_CREAT | O_CLOEXEC | truncates, 0666)};
  if (made.descriptor < 0) give_up((std::string{"cannot write "} + what + " to " + name).c_str());
}

void make_graph_devices() {
  if (the_engine->machine().parts() != nullptr) {
    the_graph_devices = new graph_devices{*the_engine, options.graph};
    the_engine->machine().add_counters(
        [](std::vector<part_counters>& all) { the_graph_devices->append_counters(all); });
  }
  if (options.needs_graph_units && !situ_model_copies_graphs())
    give_up(
        "the machine has no units that copy graphs: it needs a graph_copy device beside a memory, and a "
        "range_operations device in each tile");
  if (options.needs_graph_units && options.graph.used == graph_units_used::devices && !situ_model_writes_graphs_back())
    give_up(
        "the machine has no units that write graphs back: it needs a graph_writeback device and a tile-local memory "
        "in each tile; or ask for copy-only");
}

void make_engine() {
  if (options.checks_coherence && !options.engine.fast_forward.empty())
    give_up("coherence is not checked before accesses are priced: leave out --fast-forward or --check-coherence");
  if (options.checks_coherence && !options.warm.empty())
    give_up("coherence is checked from cold caches on: leave out --warm or --check-coherence");
  the_engine =
      new engine{make_machine(options.machine, options.memories, options.settings, options.wanted), options.engine};
  make_graph_devices();
  if (!options.warm.empty()) begin_with_state(*the_engine, options.warm);
  if (!options.save_after.empty()) the_regions().at_end(options.save_after, &save_state);
  if (!options.checks_coherence) return;
  mistakes = new coherence_log;
  if (!the_engine->check_coherence([](const coherence_report& found) { mistakes->note(found); }))
    give_up("the machine's tiles are coherent, or there is one: nothing to check");
}

void run_main() {
  if (options.places > 1 && situ_model_make_job != nullptr) {
    const program_outside_time scope;
    situ_model_make_job(options.places);
  }
  if (situ_model_copies_graphs() && situ_model_use_graph_units != nullptr) {
    const program_outside_time scope;
    situ_model_use_graph_units();
  }
  std::exit(__real_main(argument_count, arguments, environ));
}

}  // namespace

// Runs before the program's static constructors, so that the report comes after its static destructors: these belong to
// the run, and may wait for threads.
[[gnu::constructor(101)]] void report_at_exit() {
  on_exit(
      [](int code, void*) {
        if (the_engine != nullptr) write_report(code);
      },
      nullptr);
}

void print_mistakes() {
  if (mistakes != nullptr) say(mistakes->text().c_str());
}

void end_out_of_memory(const std::string& why) {
  say(("situ model: out of memory: " + why + "\n").c_str());
  is_cut_short = true;
  host_exit_with_report(128 + SIGKILL);
}

void host_exit_with_report(int code) {
  running = &nobody;
  std::fflush(nullptr);
  write_report(code);
  host_call(SYS_exit_group, code);
  __builtin_trap();
}

}  // namespace situ::model

using namespace situ::model;

extern "C" {

int __wrap_main(int argc, char** argv, char** environment) {               // NOLINT: the linker's name
  if (the_engine != nullptr) return __real_main(argc, argv, environment);  // a place that runs the program's main
  executor_allocates = true;
  options = read_options();
  argument_count = argc;
  arguments = copy_texts(argv);
  environ = copy_texts(environ);
  open(json_file, options.json);
  open(page_file, options.page);
  install_crash_handler();
  begin_openmp();
  try {
    make_engine();
    open(state_file, options.save, the_state, 0);
    if (!options.page.empty()) over_time = new timeline;
    count_imported_calls();
    begin_watch(*the_engine, {.over_time = over_time, .shows_progress = !options.is_quiet});
  } catch (const std::exception& failure) {
    give_up(failure.what());
  }
  begin_ns = host_ns();
  the_engine->begin(&run_main);
}

void situ_model_print_threads() noexcept {
  if (the_engine == nullptr) return;
  const outside_time scope;
  the_engine->print_threads();
}

void _exit(int code) { host_exit_with_report(code); }
void _Exit(int code) noexcept { host_exit_with_report(code); }
}
