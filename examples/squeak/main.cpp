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
#include <situ/situ.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace squeak {
namespace {

struct options {
  std::string image;
  std::vector<std::string> arguments;
  std::string snapshot;
  std::uint64_t memory_mib = 1024;
  bool count = false;
  bool json = false;
};

constexpr const char* examples =
    "Examples:\n"
    "  squeak Scratch.image --evaluate '3 + 4'\n"
    "  squeak Scratch.image --evaluate '100 factorial printString size' --count\n"
    "  squeak Scratch.image --send '20 benchFib' --count --json\n"
    "  squeak Scratch.image --send \"Compiler evaluate: '3 + 4'\"\n"
    "  squeak Scratch.image --evaluate 'Smalltalk at: #Answer put: 42' --snapshot changed.image\n"
    "Debian's package scratch has an image: /usr/share/scratch/Scratch.image.\n"
    "The exit status is 1 if an evaluation fails; the ones behind it are not begun.";

// One evaluation as it was asked for.
struct request {
  std::string text;
  bool is_message;
};

void print_failure(const std::string& text, const run_failure& failure) {
  fmt::print(stderr, "squeak: {}: {}\n", text, failure.reason);
  for (const std::string& line : failure.stack) fmt::print(stderr, "    {}\n", line);
}

void print_counts(const evaluation& done) {
  fmt::print("  {:>14} bytecodes\n  {:>14} sends\n  {:>14} primitives\n  {:>14} collections\n  {:>14.3f} ms\n",
             done.counts.bytecodes, done.counts.sends, done.counts.primitives, done.counts.collections, done.took_ms);
}

nlohmann::ordered_json to_json(const request& of, const evaluation& done) {
  nlohmann::ordered_json made{{"text", of.text}, {"ok", done.end == run_end::answered}, {"answer", done.text}};
  if (done.end == run_end::failed) made["reason"] = done.failure.reason, made["stack"] = done.failure.stack;
  made["bytecodes"] = done.counts.bytecodes;
  made["sends"] = done.counts.sends;
  made["primitives"] = done.counts.primitives;
  made["collections"] = done.counts.collections;
  made["ms"] = done.took_ms;
  return made;
}

// Runs the requests in order. Returns the exit status.
int run(const options& o, const std::vector<request>& requests) {
  interpreter_options settings;
  settings.most_bytes = o.memory_mib << 20;
  settings.image_path = std::filesystem::absolute(o.image).string();
  settings.vm_path = std::filesystem::current_path().string() + "/";
  settings.attributes = o.arguments;
  settings.counts = o.count;
  virtual_machine vm{read_image_file(o.image), settings};
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  int status = 0;
  for (const request& each : requests) {
    const evaluation done = each.is_message ? vm.send(each.text) : vm.evaluate(each.text);
    if (o.json)
      all.push_back(to_json(each, done));
    else if (done.end == run_end::answered)
      fmt::print("{}\n", done.text);
    if (!o.json && o.count) print_counts(done);
    if (done.end == run_end::failed) print_failure(each.text, done.failure), status = 1;
    if (done.end != run_end::answered) break;
  }
  if (o.json) fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  if (status == 0 && !o.snapshot.empty()) vm.snapshot(o.snapshot);
  return status;
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
  app.add_option("--snapshot", o.snapshot, "writes the image to this file when all else has succeeded")
      ->type_name("FILE");
  app.add_option("--argument", o.arguments, "what the image finds as its arguments, from attribute 2 on")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all();
  app.add_option("--memory", o.memory_mib, "MiB that the objects may take; 1024 unless given")
      ->type_name("MIB")
      ->check(CLI::Range(16, 65536));
  app.add_flag("--count", o.count, "prints how many bytecodes, sends and primitives it took");
  app.add_flag("--json", o.json, "prints answers and counts as JSON");
  CLI11_PARSE(app, argc, argv);
  if (requests.empty() && o.snapshot.empty()) {
    fmt::print(stderr, "squeak: there is nothing to do: give --evaluate, --send or --snapshot\n");
    return 2;
  }
  try {
    situ::runtime rt{argc, argv};
    return run(o, requests);
  } catch (const situ::error& failed) {
    fmt::print(stderr, "squeak: {}\n", failed.message());
    return 1;
  }
}

}  // namespace
}  // namespace squeak

int main(int argc, char** argv) { return squeak::main_of(argc, argv); }
