// `situ pool copy`, `diff`, `repair` and `compact`: operations on whole pools.
#include "pool_command.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/print.h"
#include "pool/pool_tools.h"

namespace {

using nlohmann::ordered_json;
using situ::detail::pool_difference;
using situ::detail::print_out;
using situ::detail::tell;

struct two_pools {
  std::string first;
  std::string second;
  bool json = false;
  bool may_replace = false;
  situ_pool::patience_option patience;
};

void copy(const two_pools& arguments) {
  const auto done =
      situ::detail::copy_pool(arguments.first, arguments.second, arguments.may_replace, arguments.patience.value());
  if (arguments.json)
    return situ_pool::print({{"from", arguments.first},
                             {"to", arguments.second},
                             {"bytes", done.bytes},
                             {"copied_bytes", done.data_bytes}});
  print_out("{}: a copy of {}, {} long; copied {}\n", arguments.second, arguments.first, situ::format_bytes(done.bytes),
            situ::format_bytes(done.data_bytes));
}

std::string_view name_of(pool_difference::kind kind) {
  switch (kind) {
    case pool_difference::kind::only_in_first: return "only in the first";
    case pool_difference::kind::only_in_second: return "only in the second";
    case pool_difference::kind::differs: return "differs";
  }
  return "";
}

void print(const pool_difference& each) {
  const bool is_root = !each.name.empty();
  print_out("{}: {}",
            is_root ? "root " + situ_pool::printable(each.name) : fmt::format("block at byte {}", each.offset),
            name_of(each.what));
  if (each.what != pool_difference::kind::differs) {
    print_out(", {} bytes\n", each.block_bytes);
  } else if (is_root) {
    print_out(" in where it leads, or in its type\n");
  } else {
    print_out(" in {} of {} bytes, from byte {} of it on\n", each.bytes, each.block_bytes, each.first_byte);
  }
}

// Exit codes are those of diff(1): 0 for the same, 1 if they differ, 2 for an error.
constexpr int they_differ = 1;
constexpr int it_failed = 2;

void compare(const two_pools& arguments) {
  std::vector<pool_difference> found;
  try {
    found = situ::detail::compare_pools(arguments.first, arguments.second, arguments.patience.value());
  } catch (const situ::error& failed) {
    tell("{}\n", failed.what());
    throw CLI::RuntimeError{it_failed};
  }
  if (arguments.json) {
    ordered_json roots = ordered_json::array();
    ordered_json blocks = ordered_json::array();
    for (const pool_difference& each : found) {
      if (!each.name.empty()) {
        roots.push_back({{"name", each.name}, {"what", name_of(each.what)}});
      } else {
        blocks.push_back({{"offset", each.offset},
                          {"bytes", each.block_bytes},
                          {"what", name_of(each.what)},
                          {"first_byte", each.first_byte},
                          {"differing_bytes", each.bytes}});
      }
    }
    situ_pool::print({{"first", arguments.first},
                      {"second", arguments.second},
                      {"same", found.empty()},
                      {"roots", roots},
                      {"blocks", blocks}});
  } else {
    for (const pool_difference& each : found) print(each);
    if (found.empty()) print_out("{} and {} hold the same\n", arguments.first, arguments.second);
  }
  if (!found.empty()) throw CLI::RuntimeError{they_differ};
}

// --- repair ---

struct repair_arguments {
  std::string path;
  std::string to;
  bool json = false;
  bool in_place = false;
};

void repair(const repair_arguments& arguments) {
  const std::string to = arguments.in_place ? "" : arguments.to.empty() ? arguments.path + ".repaired" : arguments.to;
  const auto result = situ::detail::repair_pool(arguments.path, to);
  const std::string& written = to.empty() ? arguments.path : to;
  if (arguments.json) {
    situ_pool::print({{"path", arguments.path},
                      {"written", result.is_written ? ordered_json(written) : ordered_json()},
                      {"done", result.done},
                      {"damage", result.left}});
  } else {
    for (const std::string& each : result.done) print_out("mended: {}\n", each);
    for (const std::string& each : result.left) print_out("damage: {}\n", each);
    if (result.is_written) {
      print_out("{}: {}\n", written, result.left.empty() ? "a sound pool" : "a pool that is damaged still");
    } else if (result.left.empty()) {
      print_out("{} is sound: there is nothing to mend\n", arguments.path);
    }
  }
  if (!result.left.empty()) throw CLI::RuntimeError{EXIT_FAILURE};
}

void add_repair(CLI::App& to) {
  CLI::App* const command = to.add_subcommand("repair", "Mends what can be mended, and says each thing that it does");
  auto arguments = std::make_shared<repair_arguments>();
  command->add_option("FILE", arguments->path, "The pool")->required();
  CLI::Option* const target = command->add_option("--to", arguments->to, "The mended pool; default: FILE.repaired");
  command->add_flag("--yes", arguments->in_place, "Put the mended pool in the place of FILE")->excludes(target);
  command->add_flag("--json", arguments->json, "As JSON");
  command->callback([arguments] { repair(*arguments); });
  command->footer(
      "FILE stays as it is unless --yes is given; then the mended pool takes its place in one step. Put right are: "
      "bits\n"
      "of the header, of roots and of the map, by their checks; the heap's size, by its other copy; entries of slabs, "
      "by\n"
      "their heads; a file cut short, whose heap gets shorter. Given up, and said, is what cannot be told: roots that "
      "are\n"
      "damaged or lead to no object, runs behind the end. Of what objects hold, only those with checks are mended.\n"
      "Exit code: 0 it is sound, 1 it is damaged still, or cannot be mended.\n"
      "Examples:\n"
      "  situ pool repair index.pool                  writes index.pool.repaired, where there is something to mend\n"
      "  situ pool repair --to new.pool index.pool\n"
      "  situ pool repair --yes --json index.pool     in its place");
}

// --- compact ---

struct compact_arguments {
  std::string path;
  bool json = false;
};

void compact(const compact_arguments& arguments) {
  const auto done = situ::detail::compact_pool(arguments.path);
  if (arguments.json)
    return situ_pool::print({{"path", arguments.path},
                             {"heap_bytes", done.heap_bytes},
                             {"cut_bytes", done.cut_bytes},
                             {"hole_bytes", done.hole_bytes},
                             {"freed_bytes", done.freed_bytes}});
  print_out("{}: a heap of {}; cut off {} at its end, made holes of {} within it; its file takes {} less\n",
            arguments.path, situ::format_bytes(done.heap_bytes), situ::format_bytes(done.cut_bytes),
            situ::format_bytes(done.hole_bytes), situ::format_bytes(done.freed_bytes));
}

void add_compact(CLI::App& to) {
  CLI::App* const command =
      to.add_subcommand("compact", "Gives the disk back what is free in it, in whole chunks of 16 KiB");
  auto arguments = std::make_shared<compact_arguments>();
  command->add_option("FILE", arguments->path, "The pool, which nobody may have open")->required();
  command->add_flag("--json", arguments->json, "As JSON");
  command->callback([arguments] { compact(*arguments); });
  command->footer(
      "What is free at the end of the heap is cut off; what is free within it becomes holes of the file. No object is\n"
      "moved, since only a program knows its types: free blocks beside live ones in a slab stay. To have objects side "
      "by\n"
      "side, copy them to a new pool in a program.\n"
      "Examples:\n"
      "  situ pool compact index.pool\n"
      "  situ pool compact --json index.pool");
}

void add_copy(CLI::App& to) {
  CLI::App* const command = to.add_subcommand("copy", "A copy of it, as it is between two transactions");
  auto arguments = std::make_shared<two_pools>();
  command->add_option("FROM", arguments->first, "The pool")->required();
  command->add_option("TO", arguments->second, "The file to make")->required();
  command->add_flag("--replace", arguments->may_replace, "Replace the file TO, in one step, once the copy is whole");
  arguments->patience.add_to(*command);
  command->add_flag("--json", arguments->json, "As JSON");
  command->callback([arguments] { copy(*arguments); });
  command->footer(
      "Who writes FROM waits meanwhile. TO is there once all of it is on its device: who is killed leaves nothing.\n"
      "The copy has FROM's identity and addresses: a process opens one of the two at them, and reads the other\n"
      "elsewhere.\n"
      "Examples:\n"
      "  situ pool copy index.pool backup/index.pool\n"
      "  situ pool copy --replace --json index.pool backup/index.pool");
}

void add_diff(CLI::App& to) {
  CLI::App* const command = to.add_subcommand("diff", "How two pools differ, in roots, blocks and bytes");
  auto arguments = std::make_shared<two_pools>();
  command->add_option("FIRST", arguments->first, "A pool")->required();
  command->add_option("SECOND", arguments->second, "Another one")->required();
  arguments->patience.add_to(*command);
  command->add_flag("--json", arguments->json, "As JSON");
  command->callback([arguments] { compare(*arguments); });
  command->footer(
      "Blocks are the same ones by where they lie: it is meant for copies of one pool. Pointers are the same that "
      "lead\n"
      "to the same byte, wherever each pool has its addresses.\n"
      "Exit code: 0 they hold the same, 1 they differ, 2 one of them cannot be read.\n"
      "Examples:\n"
      "  situ pool diff index.pool backup/index.pool\n"
      "  situ pool diff --json index.pool backup/index.pool");
}

}  // namespace

void situ_pool::add_file_commands(CLI::App& pool_command) {
  add_copy(pool_command);
  add_diff(pool_command);
  add_repair(pool_command);
  add_compact(pool_command);
}
