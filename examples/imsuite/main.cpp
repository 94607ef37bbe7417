// imsuite: classical distributed algorithms, their nodes spread over the places, each message an object graph.
//
//   situ run -n 4 imsuite mis                      one kernel, on the paper's input
//   situ run -n 4 imsuite all --log-graphs         all twelve, and which graphs they copied
//
// engine.h is the part worth reading first, then a file in kernels/. docs/results/imsuite.md explains what is computed.
#include "copy_log.h"
#include "kernels/kernels.h"
#include "network.h"
#include "report.h"
#include "validate.h"

#include <situ/graph.h>
#include <situ/model/region.h>
#include <situ/situ.h>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace imsuite {
namespace {

struct options {
  std::vector<kernel> kernels;
  std::optional<form> input;
  std::optional<vertex> nodes;
  std::uint64_t seed = 1;
  std::optional<std::int32_t> committee_size;
  situ::transfer how = situ::transfer::automatic;
  bool log_graphs = false;
  bool timers = false;
  std::uint32_t repeat = 1;
  std::string json;
};

const std::map<std::string, situ::transfer>& transfers() {
  static const std::map<std::string, situ::transfer> names{{"auto", situ::transfer::automatic},
                                                           {"message", situ::transfer::message},
                                                           {"pull", situ::transfer::pull},
                                                           {"offload", situ::transfer::offload}};
  return names;
}
const std::map<std::string, form>& forms() {
  static const std::map<std::string, form> names = [] {
    std::map<std::string, form> all;
    for (const form s : {form::ring, form::tree, form::spmax, form::rn, form::complete}) all.emplace(name_of(s), s);
    return all;
  }();
  return names;
}

std::string footer() {
  std::string text = "Kernels, and the inputs that they take (the first is the default):\n";
  for (const kernel_facts& f : all_kernels()) {
    std::string inputs{name_of(f.input)};
    for (const form s : f.inputs)
      if (s != f.input) inputs += ", " + std::string{name_of(s)};
    char line[160];
    std::snprintf(line, sizeof(line), "  %-18s %-42s %d nodes; %s\n", std::string{f.name}.c_str(),
                  std::string{f.what}.c_str(), f.nodes, inputs.c_str());
    text += line;
  }
  return text +
         "\nExamples:\n"
         "  situ run -n 4 imsuite all\n"
         "  situ run -n 4 imsuite mst --nodes 100 --seed 7 --transfer pull\n"
         "  situ run -n 4 imsuite all --log-graphs --json imsuite.json\n"
         "  situ run -n 7 --in-process imsuite kcommittee --input ring --committee 3 --repeat 5";
}

void declare(CLI::App& app, options& o, std::string& name) {
  std::vector<std::string> names{"all"};
  for (const kernel_facts& f : all_kernels()) names.emplace_back(f.name);
  app.add_option("kernel", name, "Which kernel, or all")
      ->type_name("KERNEL")
      ->required()
      ->check(CLI::IsMember(names).description(""));
  app.add_option(
         "--input", o.input,
         "Shape of the network: spmax (sparse, n log2 n links), rn (dense), ring, tree, complete [the kernel's]")
      ->type_name("SHAPE")
      ->transform(CLI::CheckedTransformer(forms()).description(""));
  app.add_option("--nodes", o.nodes, "How many nodes, up to 4096 [the paper's]")
      ->type_name("N")
      ->check(CLI::Range(1, 4096).description(""));
  app.add_option("--seed", o.seed, "Of the network, and of what is drawn at random")
      ->type_name("S")
      ->capture_default_str();
  app.add_option("--committee", o.committee_size, "Most members of a committee [6]")
      ->type_name("K")
      ->check(CLI::Range(1, 4096).description(""));
  app.add_option("--transfer", o.how, "How graphs get to other places: auto, message, pull or offload [auto]")
      ->type_name("HOW")
      ->transform(CLI::CheckedTransformer(transfers()).description(""));
  app.add_flag("--log-graphs", o.log_graphs, "Run once more, and tell which object graphs were copied");
  app.add_flag("--timers", o.timers, "Also time the ats and the functions that they run, for the JSON");
  app.add_option("--repeat", o.repeat, "Run so many times, and print the median time")
      ->type_name("R")
      ->check(CLI::Range(1, 100000).description(""))
      ->capture_default_str();
  app.add_option("--json", o.json, "Write the results as JSON, too; - for standard output, in place of the table")
      ->type_name("FILE");
  app.footer(footer());
}

bool is_first() { return situ::here() == situ::place{0}; }

// Runs the kernel as often as asked for. Collective; the outcome is complete at place 0.
outcome play(const problem& p, const options& o) {
  outcome result{p.which, p.input, p.size(), p.net.link_count(), p.seed, {}, {}, {}, {}, {}};
  const auto check = [&](const answer& a) {
    if (!is_first() || !result.fault.empty()) return;
    result.fault = validate(p, a);
    if (result.fault.empty()) result.answer = describe(p, a);
  };
  using clock = std::chrono::steady_clock;
  for (std::uint32_t i = 0; i < o.repeat; ++i) {
    clock::time_point begin;
    std::optional<situ::model::region> computing;  // of interest on modelled machines
    check(run(p, {[&] {
                    computing.emplace("compute");
                    if (o.timers) start_timers();
                    begin = clock::now();
                  },
                  [&] {
                    result.seconds.push_back(std::chrono::duration<double>(clock::now() - begin).count());
                    computing.reset();
                    stop_timers();
                  }}));
  }
  if (o.timers) {
    const at_times ats = collect_timers();
    if (is_first()) result.ats = ats;
  }
  if (o.log_graphs) {
    copy_log log;
    check(run(p, {[&] { log.start(); }, [&] { log.stop(); }}));
    const std::vector<copy_count> counts = log.collect();
    if (is_first()) result.copied = summarise(counts);
  }
  return result;
}

void write_report(const report& r, const std::string& json) {
  if (json != "-") std::fputs(to_text(r).c_str(), stdout);
  if (json.empty()) return;
  if (json == "-") {
    std::fputs(to_json(r).c_str(), stdout);
    return;
  }
  std::ofstream file{json, std::ios::binary};
  file << to_json(r) << std::flush;
  if (!file) situ::throw_error(situ::errc::bad_file, "cannot write " + json);
}

// The exit code, the same at every place.
int run_all(const options& o) {
  situ::set_default_transfer(o.how);
  report r;
  r.places = situ::place_count();
  for (const auto& [name, how] : transfers())
    if (how == o.how) r.transfer = name;
  for (const kernel k : o.kernels) {
    const kernel_facts& facts = facts_of(k);
    problem p = make_problem(k, o.input.value_or(facts.input), o.nodes.value_or(facts.nodes), o.seed);
    if (o.committee_size) p.committee_size = *o.committee_size;
    r.outcomes.push_back(play(p, o));
  }
  bool is_good = true;
  if (is_first()) {
    for (const outcome& each : r.outcomes) is_good = is_good && each.fault.empty();
    try {
      write_report(r, o.json);
    } catch (const situ::error& e) {
      std::fprintf(stderr, "imsuite: %s\n", std::string{e.message()}.c_str());
      is_good = false;
    }
  }
  return situ::broadcast(is_good, 0) ? 0 : 1;
}

}  // namespace
}  // namespace imsuite

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  imsuite::options options;
  std::string name;
  CLI::App app{
      "Runs the kernels of IMSuite: classical distributed algorithms over object graphs that travel. Every answer is "
      "validated.",
      "imsuite"};
  imsuite::declare(app, options, name);
  try {
    app.parse(argc, argv);
    for (const imsuite::kernel_facts& f : imsuite::all_kernels())
      if (name == f.name || name == "all") options.kernels.push_back(f.which);
    return imsuite::run_all(options);
  } catch (const CLI::ParseError& e) {
    return imsuite::is_first() ? app.exit(e) : e.get_exit_code();  // every place knows, one says it
  } catch (const situ::error& e) {
    if (e.code() != situ::errc::bad_argument) throw;
    if (imsuite::is_first()) std::fprintf(stderr, "imsuite: %s\n", std::string{e.message()}.c_str());
    return 1;
  }
}
