#include "pams_run.h"

#include "base/print.h"
#include "machine_file.h"
#include "os/output_file.h"
#include "pams_files.h"

#include <situ/base/error.h>
#include <situ/machine/processor_set.h>
#include <situ/model/pams_board.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifdef SITU_HAS_RTL
#include "hw/modelled_node.h"
#endif

namespace situ_pams {
namespace {

using nlohmann::ordered_json;
using situ::detail::print_out;
using situ::model::pams_board;
using outcome = pams_board::outcome;

struct run_arguments {
  std::string machine = "bee3";
  std::string units = "parts";
  std::vector<std::string> programs;  // NODES=FILE
  std::vector<std::string> memories;  // NODE=FILE
  std::vector<std::string> saved;     // NODE=FILE
  std::uint64_t cycles = 1'000'000;
  bool trace = false;
  std::uint64_t from = 0;
  bool json = false;
};

// --- what the user names

struct node_file {
  std::vector<unsigned> nodes;
  std::string file;
};

node_file split(const std::string& given, const char* what) {
  const std::size_t at = given.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == given.size())
    situ::throw_error(situ::errc::bad_argument,
                      fmt::format("{} `{}`: NODES=FILE is needed, e.g. 1-15=leaf.pams", what, given));
  node_file made{{}, given.substr(at + 1)};
  for (const std::uint32_t node : situ::machine::processor_set::parse(given.substr(0, at)).members())
    made.nodes.push_back(node);
  return made;
}

void check_node(const pams_board& board, unsigned node, const std::string& given) {
  if (node >= board.nodes())
    situ::throw_error(situ::errc::bad_argument,
                      fmt::format("`{}`: the machine has nodes 0 to {}", given, board.nodes() - 1));
}

// --- the nodes' units

pams_board::maker maker_of(const std::string& units) {
  if (units == "parts") return {};
#ifdef SITU_HAS_RTL
  return units == "rtl" ? situ::hw::rtl_nodes() : situ::hw::compared_nodes();
#else
  situ::throw_error(
      situ::errc::not_supported,
      fmt::format("--units {}: this command was built without RTL, since verilator was not there; install it "
                  "(packages-hw.txt), and build again",
                  units));
#endif
}

// --- the run

void load_memories(pams_board& board, const run_arguments& arguments) {
  for (const std::string& given : arguments.memories) {
    const node_file which = split(given, "--memory");
    const std::string bytes = text_of(which.file);
    for (const unsigned node : which.nodes) {
      check_node(board, node, given);
      const auto memory = board.memory(node);
      if (bytes.size() > memory.size_bytes())
        situ::throw_error(situ::errc::bad_argument, fmt::format("{} has {} bytes; the memory of node {} has {}",
                                                                which.file, bytes.size(), node, memory.size_bytes()));
      std::memcpy(memory.data(), bytes.data(), bytes.size());
    }
  }
}

// Done before the run, so that a mistake is told before its cycles are spent.
std::vector<node_file> files_to_save(const pams_board& board, const run_arguments& arguments) {
  std::vector<node_file> all;
  for (const std::string& given : arguments.saved) {
    node_file which = split(given, "--save");
    if (which.nodes.size() != 1)
      situ::throw_error(situ::errc::bad_argument, fmt::format("--save `{}`: one node goes into a file", given));
    check_node(board, which.nodes[0], given);
    all.push_back(std::move(which));
  }
  return all;
}

void save_memories(pams_board& board, const std::vector<node_file>& to_save) {
  for (const node_file& which : to_save) {
    const auto memory = board.memory(which.nodes[0]);
    std::string bytes(memory.size_bytes(), '\0');
    std::memcpy(bytes.data(), memory.data(), bytes.size());
    situ::detail::replace_file(which.file, bytes);
  }
}

std::map<unsigned, std::string> load_programs(pams_board& board, const run_arguments& arguments) {
  std::map<unsigned, std::string> loaded;
  for (const std::string& given : arguments.programs) {
    const node_file which = split(given, "program");
    const std::vector<std::uint32_t> words = program_words(which.file);
    for (const unsigned node : which.nodes) {
      check_node(board, node, given);
      if (!board.has_pams(node))
        situ::throw_error(situ::errc::bad_argument, fmt::format("`{}`: node {} has no PAMS", given, node));
      if (!loaded.emplace(node, which.file).second)
        situ::throw_error(situ::errc::bad_argument, fmt::format("`{}`: node {} has a program already", given, node));
      board.load(node, words);
    }
  }
  return loaded;
}

std::string_view name_of(outcome ended) {
  switch (ended) {
    case outcome::finished: return "finished";
    case outcome::stands: return "stands still";
    case outcome::fault: return "fault";
    case outcome::cycle_limit: return "cycle limit";
  }
  return "";
}

void print_result(pams_board& board, const std::map<unsigned, std::string>& loaded, outcome ended) {
  print_out("{:>4}  {:>11}  {:<24} {}\n", "node", "ArrivalTime", "program", "at the end");
  for (const auto& [node, file] : loaded)
    print_out("{:>4}  {:>11}  {:<24} {}\n", node, board.arrival_time(node), file, board.where(node));
  print_out("{} at cycle {}; parts had work in {} cycles\n", name_of(ended), board.now(), board.busy_cycles());
}

void print_json(pams_board& board, const std::map<unsigned, std::string>& loaded, outcome ended) {
  ordered_json nodes = ordered_json::array();
  for (const auto& [node, file] : loaded)
    nodes.push_back(
        {{"node", node}, {"program", file}, {"arrival_time", board.arrival_time(node)}, {"where", board.where(node)}});
  ordered_json calls = ordered_json::array();
  for (const pams_board::call& each : board.calls())
    calls.push_back({{"cycle", each.cycle}, {"handler", each.handler}, {"arguments", each.arguments}});
  const ordered_json all = {
      {"outcome", name_of(ended)},          {"cycle", board.now()},
      {"busy_cycles", board.busy_cycles()}, {"nodes", nodes},
      {"calls_at_loader", calls},           {"report", ended == outcome::finished ? "" : board.report()}};
  situ::detail::print_text(all.dump(2) + "\n");
}

void trace(pams_board& board, std::uint64_t from) {
  print_out("{:>8}  {:>4}  {:<15} {:<10} {}\n", "cycle", "node", "unit", "state", "word");
  board.observe([from](const pams_board::action& each) {
    if (each.cycle >= from)
      print_out("{:>8}  {:>4}  {:<15} {:<10} {:08x}\n", each.cycle, each.node, each.unit, each.state, each.word);
  });
}

void run(const run_arguments& arguments) {
  pams_board board{machine_file_of(arguments.machine), maker_of(arguments.units)};
  load_memories(board, arguments);
  const std::vector<node_file> to_save = files_to_save(board, arguments);
  const std::map<unsigned, std::string> loaded = load_programs(board, arguments);
  if (arguments.trace) trace(board, arguments.from);
  const outcome ended = board.try_run(arguments.cycles);
  if (arguments.json)
    print_json(board, loaded, ended);
  else
    print_result(board, loaded, ended);
  if (ended != outcome::finished) situ::detail::tell("{}", board.report());
  save_memories(board, to_save);
  if (ended == outcome::finished) return;
  throw CLI::RuntimeError{EXIT_FAILURE};
}

}  // namespace

void add_run(CLI::App& to) {
  CLI::App* const command = to.add_subcommand("run", "Runs programs on a modelled network, cycle by cycle");
  auto arguments = std::make_shared<run_arguments>();
  command
      ->add_option(
          "PROGRAM", arguments->programs,
          "NODES=FILE: which nodes (0, 1-15, 0,4,8) run which program, a text or what `asm` wrote (.hex, .json)")
      ->required();
  command->add_option("--machine", arguments->machine, "The network: a machine file, or the name of one")
      ->capture_default_str();
  command
      ->add_option("--units", arguments->units,
                   "GAScore and PAMS as parts in C++ (parts), as RTL (rtl), or both in lock step (both)")
      ->check(CLI::IsMember({"parts", "rtl", "both"}))
      ->capture_default_str();
  command->add_option("--cycles", arguments->cycles, "Ends the run after so many cycles")->capture_default_str();
  command->add_flag("--trace", arguments->trace,
                    "Prints what each unit of each node does, cycle by cycle (not of RTL)");
  command->add_option("--from", arguments->from, "The first cycle of the trace")->capture_default_str();
  command->add_option("--memory", arguments->memories, "NODES=FILE: bytes for the nodes' memories, from address 0 on")
      ->allow_extra_args(false);
  command->add_option("--save", arguments->saved, "NODE=FILE: writes a node's memory into a file at the end")
      ->allow_extra_args(false);
  command->add_flag("--json", arguments->json, "The result as JSON, with the calls that reached the loader");
  command->callback([arguments] { run(*arguments); });
  command->footer(
      "Programs are loaded by messages of the first node without PAMS (on bee3: 16), from cycle 0 on. A program that\n"
      "measures begins with `timer_threshold N` and `wait timer`, with an N after which all are loaded.\n"
      "Exit code: 0 all programs have halted; 1 a fault, a standstill, or the limit, told on standard error.\n"
      "Examples:\n"
      "  situ pams run 0=root.pams 1-15=leaf.pams\n"
      "  situ pams run --trace --from 5000 0=ping.pams 1=pong.pams\n"
      "  situ pams run --units both 0=root.pams 1-15=leaf.pams\n"
      "  situ pams run --memory 0=in.bin --save 1=out.bin 0=copy.pams 1=wait.pams");
}

}  // namespace situ_pams
