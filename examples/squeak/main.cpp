// squeak: a Squeak image of format 6502, without a display, on an object heap.
//
//   squeak Scratch.image --evaluate '3 + 4'
//   squeak Scratch.image --send '20 benchFib' --count
//   squeak Scratch.image --evaluate 'Smalltalk at: #Answer put: 42' --snapshot changed.image
//
// virtual_machine.h is the part to read first, then interpreter_loop.cpp.
#include "image_file.h"
#include "virtual_machine.h"

#include <situ/base/error.h>
#include <situ/model/region.h>
#include <situ/situ.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace squeak {
namespace {

struct options {
  std::string image;
  std::vector<std::string> arguments;
  std::string snapshot;
  std::uint64_t memory_mib = 1024;
  std::uint32_t places = 1;
  std::uint32_t repeat = 1;
  place_options how;
  bool count = false;
  bool json = false;
};

constexpr const char* examples =
    "Examples:\n"
    "  squeak Scratch.image --evaluate '3 + 4'\n"
    "  squeak Scratch.image --evaluate '100 factorial printString size' --count\n"
    "  squeak Scratch.image --send '20 benchFib' --count --json\n"
    "  squeak Scratch.image --send \"Compiler evaluate: '3 + 4'\"\n"
    "  squeak Scratch.image --compile Integer 'double ^ self + self' --evaluate '21 double'\n"
    "  squeak Scratch.image --evaluate 'Smalltalk at: #Answer put: 42' --snapshot changed.image\n"
    "  squeak Scratch.image --places 2 --send '20 benchFib' --count\n"
    "  situ model run --machine tile64 --places 2 squeak_modelled Scratch.image --read-mostly all -s '10 benchFib'\n"
    "Debian's package scratch has an image: /usr/share/scratch/Scratch.image.\n"
    "The exit status is 1 if an evaluation fails; the ones behind it are not begun.";

// One evaluation as it was asked for.
struct request {
  std::string text;
  bool is_message;
  std::string of_class = {};  // empty unless the text is a method to compile into it
};

// Returns the text, or that of the file that "@FILE" names.
std::string text_or_file(const std::string& text) {
  if (text.size() < 2 || text[0] != '@' || std::isspace(static_cast<unsigned char>(text[1])) != 0) return text;
  std::ifstream file{text.substr(1), std::ios::binary};
  std::string all{std::istreambuf_iterator<char>{file}, {}};
  if (!file.is_open() || file.bad()) throw CLI::ValidationError{"--compile", "cannot read " + text.substr(1)};
  return all;
}

evaluation run(virtual_machine& vm, const request& asked) {
  if (!asked.of_class.empty()) return vm.compile(asked.of_class, asked.text);
  return asked.is_message ? vm.send(asked.text) : vm.evaluate(asked.text);
}

std::string name_of(const request& asked) {
  return asked.of_class.empty() ? asked.text : "compile into " + asked.of_class;
}

void print_failure(const std::string& text, const run_failure& failure) {
  fmt::print(stderr, "squeak: {}: {}\n", text, failure.reason);
  for (const std::string& line : failure.stack) fmt::print(stderr, "    {}\n", line);
}

void print_counts(const evaluation& done) {
  fmt::print("  {:>14} bytecodes\n  {:>14} sends\n  {:>14} primitives\n  {:>14} collections\n", done.counts.bytecodes,
             done.counts.sends, done.counts.primitives, done.counts.collections);
  if (situ::place_count() > 1) fmt::print("  {:>14} batons\n", done.counts.batons);
  fmt::print("  {:>14.3f} ms\n", done.took_ms);
}

nlohmann::ordered_json to_json(const request& of, const evaluation& done) {
  nlohmann::ordered_json made{{"text", of.text}, {"ok", done.end == run_end::answered}, {"answer", done.text}};
  if (done.end == run_end::failed) made["reason"] = done.failure.reason, made["stack"] = done.failure.stack;
  made["bytecodes"] = done.counts.bytecodes;
  made["sends"] = done.counts.sends;
  made["primitives"] = done.counts.primitives;
  made["collections"] = done.counts.collections;
  made["batons"] = done.counts.batons;
  made["ms"] = done.took_ms;
  return made;
}

// Runs the requests in order on the image, which is left empty; at another place than the main one, helps it. Returns
// the exit status.
int run(const options& o, const std::vector<request>& requests, image& of) {
  interpreter_options settings;
  settings.most_bytes = (o.memory_mib << 20) / situ::place_count();
  settings.image_path = std::filesystem::absolute(o.image).string();
  settings.vm_path = std::filesystem::current_path().string() + "/";
  settings.attributes = o.arguments;
  settings.counts = o.count;
  if (situ::here().index() != 0) {
    help_main_place(settings, heap_of_image(), o.how);
    return 0;
  }
  virtual_machine vm{std::move(of), settings, heap_of_image(), o.how};
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  int status = 0;
  const situ::model::region all_of_them{"evaluations"};
  std::vector<request> repeated;
  for (const request& each : requests) repeated.insert(repeated.end(), o.repeat, each);
  for (const request& each : repeated) {
    if (&each == &repeated.back()) vm.set_region("last");
    const evaluation done = run(vm, each);
    if (o.json)
      all.push_back(to_json(each, done));
    else if (done.end == run_end::answered)
      fmt::print("{}\n", done.text);
    if (!o.json && o.count) print_counts(done);
    if (done.end == run_end::failed) print_failure(name_of(each), done.failure), status = 1;
    if (done.end != run_end::answered) break;
  }
  if (o.json) fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  if (status == 0 && !o.snapshot.empty()) vm.snapshot(o.snapshot);
  return status;
}

// For a place that situ::launch has started.
int run_or_say_why(const options& o, const std::vector<request>& requests, image& of) {
  try {
    return run(o, requests, of);
  } catch (const situ::error& failed) {
    fmt::print(stderr, "squeak: {}\n", failed.message());
    return 1;
  }
}

int main_of(int argc, char** argv) {
  options o;
  CLI::App app{"Runs a Squeak image of format 6502, without a display, on an object heap.", "squeak"};
  app.footer(examples);
  app.add_option("IMAGE", o.image, "the image")->required();
  std::vector<request> requests;  // in the order of the command line
  app.add_option_function<std::string>(
         "--evaluate,-e", [&](const std::string& text) { requests.push_back({text, false}); },
         "Smalltalk to compile and run; prints the answer's printString")
      ->type_name("TEXT")
      ->trigger_on_parse();
  app.add_option_function<std::string>(
         "--send,-s", [&](const std::string& text) { requests.push_back({text, true}); },
         "a message to send: 'RECEIVER selector', or with arguments")
      ->type_name("MESSAGE")
      ->trigger_on_parse();
  app.add_option_function<std::pair<std::string, std::string>>(
         "--compile,-c", [&](const auto& of) { requests.push_back({text_or_file(of.second), false, of.first}); },
         "a class, and the text of a method to compile and install in it, or @FILE; prints its selector")
      ->type_name("CLASS TEXT")
      ->trigger_on_parse();
  app.add_option("--snapshot", o.snapshot, "writes the image to this file when all else has succeeded")
      ->type_name("FILE");
  app.add_option("--argument", o.arguments, "what the image finds as its arguments, from attribute 2 on")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all();
  app.add_option("--memory", o.memory_mib, "MiB that the objects may take; 1024 unless given")
      ->type_name("MIB")
      ->check(CLI::Range(16, 65536));
  app.add_option("--repeat", o.repeat, "evaluates each text, and sends each message, so many times")
      ->type_name("TIMES")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--places", o.places,
                 "runs the image at so many places: the interpreter goes where the receiver of a message lives")
      ->type_name("N")
      ->check(CLI::Range(1, 256));
  app.add_option("--read-mostly", o.how.replicated,
                 "what each place has a replica of, until it is stored into: none, methods, or all but contexts. On "
                 "one coherent host, an object is its own replica")
      ->type_name("none|methods|all")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, read_mostly>{
              {"none", read_mostly::none}, {"methods", read_mostly::methods}, {"all", read_mostly::all}},
          CLI::ignore_case));
  app.add_flag("--one-heap", o.how.one_heap, "the interpreter stays where it is for receivers that are read-mostly");
  app.add_option("--clock-call", o.how.clock_call,
                 "rounds of a loop whenever the interpreter goes to another place, for a clock that the system reads")
      ->type_name("ROUNDS");
  app.add_flag("--count", o.count, "prints how many bytecodes, sends and primitives it took");
  app.add_flag("--json", o.json, "prints answers and counts as JSON");
  CLI11_PARSE(app, argc, argv);
  if (requests.empty() && o.snapshot.empty()) {
    fmt::print(stderr, "squeak: there is nothing to do: give --evaluate, --send, --compile or --snapshot\n");
    return 2;
  }
  try {
    if (o.places > 1) {
      image of = read_image_file(o.image);  // an error is told once
      const situ::launch_result all = situ::launch(o.places, [&] { return run_or_say_why(o, requests, of); });
      if (all.first_lost) fmt::print(stderr, "squeak: {}\n", all.message());
      return all.exit_code();
    }
    situ::runtime rt{argc, argv};
    image of;
    if (situ::here().index() == 0) of = read_image_file(o.image);
    return run(o, requests, of);
  } catch (const situ::error& failed) {
    fmt::print(stderr, "squeak: {}\n", failed.message());
    return 1;
  }
}

}  // namespace
}  // namespace squeak

int main(int argc, char** argv) { return squeak::main_of(argc, argv); }
