// `situ order`: the memories that an intent takes on a machine, and the orderings that the administrator or the user
// sets.
#include "base/json.h"
#include "base/print.h"
#include "commands.h"
#include "machine_source.h"
#include "os/numa_nodes.h"
#include "os/output_file.h"
#include "unknown_intent.h"

#include <situ/base/error.h>
#include <situ/base/spec_file.h>
#include <situ/base/units.h>
#include <situ/machine/orderings.h>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace machine = situ::machine;
namespace fs = std::filesystem;
using situ::detail::json;
using situ::detail::print_out;

struct order_options {
  machine_source source;
  std::vector<std::string> intents;
  std::vector<std::string> files;  // in addition to those of this machine
  bool json = false;

  std::string seen_from;  // option of show

  std::string intent;    // option of set
  std::string memories;  // of set, as the next three
  std::string from;
  double fill = 0;
  std::string no_room;
  bool remove = false;
  bool system = false;
  std::string file;
};

machine::orderings load(const order_options& options) {
  machine::orderings all = options.source.is_this_machine() ? machine::orderings::of_this_machine()
                                                            : machine::orderings{options.source.load()};
  for (const std::string& file : options.files) all.read(file);
  return all;
}

std::string_view name(machine::no_room policy) { return policy == machine::no_room::last ? "last" : "error"; }

std::vector<situ::intent> asked_for(const order_options& options, const machine::orderings& all) {
  if (options.intents.empty()) return all.intents();
  std::vector<situ::intent> asked;
  const std::vector<situ::intent> known = all.intents();
  for (const std::string& text : options.intents) {
    const situ::intent wanted = situ::intent::of(text);
    const auto found = std::find(known.begin(), known.end(), wanted);
    asked.push_back(found == known.end() ? wanted : *found);
  }
  return asked;
}

json json_of(const machine::memory_order& order) {
  json steps = json::array();
  for (const auto& step : order.steps) {
    json members = json::array();
    for (const machine::ordered_memory& memory : step) {
      json member{{"name", memory.name}, {"node", memory.node}, {"weight", memory.weight}};
      if (memory.budget_bytes != 0) member.set("budget_bytes", memory.budget_bytes);
      members.push(std::move(member));
    }
    steps.push(std::move(members));
  }
  return {
      {"steps", std::move(steps)}, {"fill", order.fill}, {"no_room", name(order.when_full)}, {"source", order.source}};
}

// Tells whether a device has this name: "gpu device 0", or one of the system's names, such as "eth0".
bool has_name(const machine::tree& tree, machine::node_id id, const std::string& name) {
  if (tree.label(id) == name) return true;
  if (tree.at(id).kind != machine::node_kind::device) return false;
  std::istringstream names{tree.at(id).name};
  for (std::string each; std::getline(names, each, ',');)
    if (each.substr(std::min(each.find_first_not_of(' '), each.size())) == name) return true;
  return false;
}

// Returns the initiators to show orderings for: all of them, or the one that the user names.
std::vector<machine::node_id> initiators_of(const order_options& options, const machine::orderings& all) {
  const machine::tree& tree = all.machine();
  const std::string& from = options.seen_from;
  if (from.empty()) return initiators(tree);
  if (from.find_first_not_of("0123456789-,") == std::string::npos) {
    machine::processor_set processors;
    for (const std::uint32_t node : machine::processor_set::parse(from).members()) {
      if (tree.memory(node) == machine::no_node)
        situ::throw_error(situ::errc::bad_argument,
                          fmt::format("--from {}: there is no NUMA node {} here", from, node));
      processors |= tree.at(tree.memory(node)).processors;
    }
    return {tree.covering(processors)};
  }
  for (machine::node_id id = 0; id < tree.nodes().size(); ++id)
    if (tree.at(id).kind != machine::node_kind::memory && has_name(tree, id, from)) return {id};
  situ::throw_error(
      situ::errc::bad_argument,
      fmt::format("--from {}: nothing here is called so; name NUMA nodes (0, 0-1), or a part or device as "
                  "`situ topo --all` labels it (\"package 1\", \"eth0\")",
                  from));
}

void show(const order_options& options) {
  const machine::orderings all = load(options);
  const std::vector<situ::intent> intents = asked_for(options, all);
  json rows = json::array();
  for (const machine::node_id from : initiators_of(options, all)) {
    std::size_t widest_intent = 0;
    std::size_t widest_list = std::string_view{"memories, best first"}.size();
    std::vector<machine::memory_order> orders;
    for (const situ::intent& what : intents) {
      orders.push_back(all.find(what, from));
      widest_intent = std::max(widest_intent, what.name().size());
      widest_list = std::max(widest_list, to_text(orders.back()).size());
    }
    if (!options.json)
      print_out("Seen from {}\n  {:<{}}  {:<{}}  fill  no room  by\n", all.machine().label(from), "intent",
                std::max<std::size_t>(widest_intent, 6), "memories, best first", widest_list);
    for (std::size_t i = 0; i < intents.size(); ++i) {
      const machine::memory_order& order = orders[i];
      if (options.json) {
        json row = json_of(order);
        row.set("intent", intents[i].name());
        row.set("from", all.machine().label(from));
        rows.push(std::move(row));
      } else {
        print_out("  {:<{}}  {:<{}}  {:>3.0f}%  {:<7}  {}\n", intents[i].name(),
                  std::max<std::size_t>(widest_intent, 6), to_text(order), widest_list, 100 * order.fill,
                  name(order.when_full), order.source);
      }
    }
    if (!options.json) print_out("\n");
  }
  if (options.json) {
    const json out{{"orderings", std::move(rows)},
                   {"complaints", std::vector<std::string>{all.complaints().begin(), all.complaints().end()}}};
    print_out("{}\n", out.text(2));
    return;
  }
  for (const std::string& complaint : all.complaints()) print_out("not used: {}\n", complaint);
  if (options.source.is_this_machine()) print_out("{}\n", kernel_order_line());
}

// Prints one sentence for each file and each fault. The exit code is 1 if there is a fault.
void check(const order_options& options) {
  machine::orderings all{options.source.load()};
  int faults = 0;
  const auto look = [&](const std::string& path, bool is_asked_for) {
    std::error_code unseen;  // if this fails, reading says why
    if (path.empty() || (!is_asked_for && fs::status(path, unseen).type() == fs::file_type::not_found)) return;
    const std::size_t before = all.complaints().size();
    try {
      all.read(path);
      print_out("{}: read{}\n", path, all.complaints().size() == before ? "" : ", with faults");
    } catch (const situ::error& bad) {
      print_out("{}\n", bad.message());
      ++faults;
    }
  };
  const machine::ordering_files files = machine::where_orderings_are();
  if (options.files.empty()) {
    look(files.system, false);
    look(files.user, false);
    look(files.environment, true);
  }
  for (const std::string& file : options.files) look(file, true);
  for (const std::string& complaint : all.complaints()) print_out("{}\n", complaint);
  faults += static_cast<int>(all.complaints().size());
  if (situ::os::is_numa_balancing_on())
    print_out(
        "automatic NUMA balancing is on: it leaves what Situ places where it is, but moves other pages to where they "
        "are used; "
        "turn it off by 0 in /proc/sys/kernel/numa_balancing\n");
  if (faults != 0) throw CLI::RuntimeError(1);
  print_out("no faults\n");
}

// Returns an empty string if there is no such file. A file that cannot be read is an error: the new entry alone would
// replace it.
std::string read_text(const std::string& path) {
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  if (!file.is_open() && (errno == ENOENT || errno == ENOTDIR)) return {};
  std::ostringstream text;
  if (file.is_open() && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || !text)
    situ::throw_error(situ::errc::bad_file, fmt::format("{}: cannot be read, and so not be changed: {}", path,
                                                        std::strerror(errno != 0 ? errno : EIO)));
  return text.str();
}

// Cuts a file into pieces: the text before the first table, then each table with the comment lines right above it.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces{""};
  std::string comments;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    at = end;
    const std::size_t first = line.find_first_not_of(" \t");
    const char start = first == std::string::npos ? '\n' : line[first];
    if (start == '#') {
      comments += line;
      continue;
    }
    if (start == '[') pieces.emplace_back();
    pieces.back() += comments + line;
    comments.clear();
  }
  pieces.back() += comments;
  return pieces;
}

// Tells whether a piece is the entry for this intent and these initiators.
bool is_entry(const std::string& piece, const std::string& intent, const machine::processor_set& from) {
  try {
    const situ::spec_table spec = situ::parse_spec(piece, "");
    if (!spec.has("ordering")) return false;
    const situ::spec_table entry = spec.tables("ordering").at(0);
    return entry.text("intent") == intent && machine::processor_set::parse(entry.text("from", "")) == from;
  } catch (const situ::error&) {
    return false;  // `situ order` would not write such a piece
  }
}

std::string toml_string(const std::string& text) { return json{text}.text(-1); }  // TOML's strings are JSON's

std::string entry_text(const order_options& options) {
  std::string text = fmt::format("[[ordering]]\nintent = {}\n", toml_string(options.intent));
  if (!options.from.empty()) text += fmt::format("from = {}\n", toml_string(options.from));
  text += fmt::format("memories = {}\n", toml_string(options.memories));
  if (options.fill != 0) text += fmt::format("fill = {}\n", options.fill);
  if (!options.no_room.empty()) text += fmt::format("no_room = {}\n", toml_string(options.no_room));
  return text;
}

std::string file_to_write(const order_options& options) {
  if (!options.file.empty()) return options.file;
  const machine::ordering_files files = machine::where_orderings_are();
  if (options.system) return files.system;
  if (files.user.empty())
    situ::throw_error(situ::errc::bad_argument,
                      "there is no home folder to keep orderings in; name a file with --file, or use --system");
  return files.user;
}

void write_orderings(const std::string& path, const std::string& text) {
  std::error_code failed;
  if (const fs::path folder = fs::path{path}.parent_path(); !folder.empty()) fs::create_directories(folder, failed);
  try {
    situ::detail::replace_file(path, text);
  } catch (const situ::error& lost) {
    situ::throw_error(situ::errc::bad_file,
                      fmt::format("{}; check that the folder exists and that you may write to it, or name another "
                                  "file with --file",
                                  lost.message()));
  }
}

void set(const order_options& options) {
  if (options.remove != options.memories.empty())
    throw CLI::ValidationError(
        "MEMORIES", options.remove ? "is not wanted with --remove" : "is missing: node numbers or names, best first");
  (void)situ::intent{options.intent};  // throws if it is no valid name
  const std::string path = file_to_write(options);
  const machine::processor_set from = machine::processor_set::parse(options.from);
  std::string text;
  bool was_there = false;
  for (const std::string& piece : pieces_of(read_text(path))) {
    if (is_entry(piece, options.intent, from))
      was_there = true;
    else
      text += piece;
  }
  if (options.remove && !was_there)
    situ::throw_error(situ::errc::bad_argument, fmt::format("{}: orders nothing for {}{}", path, options.intent,
                                                            options.from.empty() ? "" : " from " + options.from));
  machine::orderings all{options.source.load()};
  const std::string doubt = options.remove ? "" : suggestion_for(situ::intent{options.intent}, all);
  const std::size_t before = all.complaints().size();
  if (!options.remove) {
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    if (!text.empty() && !text.ends_with("\n\n")) text += '\n';
    // The new entry must be valid here; earlier ones may be about other machines.
    machine::orderings only_new = all;
    const std::string added = entry_text(options);
    std::string names;  // the file's own memories
    for (const std::string& piece : pieces_of(text))
      if (piece.find("[[memory]]") != std::string::npos) names += piece;
    only_new.parse(names + added, path);
    if (only_new.complaints().size() != before)
      situ::throw_error(situ::errc::bad_argument, fmt::format("{}\nnothing is written", only_new.complaints().back()));
    text += added;
  }
  all.parse(text, path);  // the whole file must be readable
  write_orderings(path, text);
  print_out("{}: {}\n", path,
            options.remove ? "no longer orders memories for " + options.intent
                           : "orders memories for " + options.intent + doubt);
}

constexpr const char* order_examples =
    "Examples:\n"
    "  situ order show                                 where allocations of each intent go on this machine\n"
    "  situ order show bandwidth --json\n"
    "  situ order show --from 'package 1'              seen from there; also from NUMA nodes, and devices by name\n"
    "  situ order show --machine xeon-max-9480-flat\n"
    "  situ order set bandwidth '2, 0, 1, 3'           nodes, best first, in your own file\n"
    "  situ order set bandwidth '2*3 + 0, 1' --from 0 --fill 80 --no-room last --system\n"
    "                                                  three times 2 MiB on node 2, then 2 MiB on node 0; then "
    "node 1; for all\n"
    "  situ order set checkpoint 'hbm 1, dram 0'       an intent of a program's own\n"
    "  situ order set bandwidth --remove\n"
    "  situ order kernel --write                       have the kernel place along them, where it can "
    "(kernel/README.md)\n"
    "  situ order check                                what is wrong with the files, and with the firmware's figures";

}  // namespace

void add_order_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("order", "Show and set which memories an allocation goes to, for each intent");
  command->require_subcommand(1);
  command->footer(order_examples);
  auto options = std::make_shared<order_options>();

  CLI::App* shown = command->add_subcommand("show", "The memories for each intent, best first, and what decided it");
  shown->add_option("INTENT", options->intents, "Only these; also names of your own");
  shown
      ->add_option("--from", options->seen_from,
                   "Seen from the processors of these NUMA nodes (0, 0-1), or from a part or device: \"package 1\", "
                   "\"eth0\"")
      ->type_name("WHAT");
  shown->add_option("--orderings", options->files, "Also read this file")->type_name("FILE");
  shown->add_flag("--json", options->json, "Write JSON instead of a table");
  options->source.add_to(*shown);
  shown->callback([options] { show(*options); });

  CLI::App* checked = command->add_subcommand("check", "Say what is wrong with the files; exit code 1 if anything is");
  checked->add_option("FILE", options->files, "These, instead of the machine's, the user's and SITU_ORDERINGS");
  options->source.add_to(*checked);
  checked->callback([options] { check(*options); });
  add_kernel_order_command(*command);

  CLI::App* written = command->add_subcommand("set", "Write an ordering into a file, in place of the one it has");
  written->add_option("INTENT", options->intent, "What is ordered: bandwidth, latency, .. or a name of your own")
      ->required();
  written->add_option("MEMORIES", options->memories,
                      "Nodes, labels or names, best first, with commas; + between those that take turns");
  written->add_option("--from", options->from, "Only for processors of these NUMA nodes: 0, 0-1,4")->type_name("NODES");
  written->add_option("--fill", options->fill, "Percent of a memory in use before the next is taken (90)")
      ->check(CLI::Range(1.0, 100.0))
      ->type_name("PERCENT");
  written->add_option("--no-room", options->no_room, "When all are full: error, or the last memory (error)")
      ->check(CLI::IsMember({"error", "last"}))
      ->type_name("error|last");
  written->add_flag("--remove", options->remove, "Take the ordering out of the file");
  auto* for_all = written->add_flag("--system", options->system, "Write the machine's file: /etc/situ/orderings.toml");
  written->add_option("--file", options->file, "Write this file (~/.config/situ/orderings.toml)")
      ->type_name("FILE")
      ->excludes(for_all);
  options->source.add_to(*written);
  written->callback([options] { set(*options); });
}
