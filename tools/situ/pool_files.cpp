// `situ pool copy` and `diff`: a pool and another one.
#include "commands.h"
#include "pool_command.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "pool/pool_tools.h"

namespace {

using nlohmann::ordered_json;
using situ::detail::pool_difference;

struct two_pools {
  std::string first;
  std::string second;
  bool json = false;
  bool may_replace = false;
};

void copy(const two_pools& arguments) {
  const auto done = situ::detail::copy_pool(arguments.first, arguments.second, arguments.may_replace);
  if (arguments.json)
    return situ_pool::print({{"from", arguments.first},
                             {"to", arguments.second},
                             {"bytes", done.bytes},
                             {"copied_bytes", done.data_bytes}});
  fmt::print("{}: a copy of {}, {} long; copied {}\n", arguments.second, arguments.first,
             situ::format_bytes(done.bytes), situ::format_bytes(done.data_bytes));
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
  fmt::print("{}: {}",
             is_root ? "root " + situ_pool::printable(each.name) : fmt::format("block at byte {}", each.offset),
             name_of(each.what));
  if (each.what != pool_difference::kind::differs) {
    fmt::print(", {} bytes\n", each.block_bytes);
  } else if (is_root) {
    fmt::print(" in where it leads, or in its type\n");
  } else {
    fmt::print(" in {} of {} bytes, from byte {} of it on\n", each.bytes, each.block_bytes, each.first_byte);
  }
}

// Exit codes as diff(1) has them: 0 the same, 1 they differ, 2 it could not be told.
constexpr int they_differ = 1;
constexpr int it_failed = 2;

void compare(const two_pools& arguments) {
  std::vector<pool_difference> found;
  try {
    found = situ::detail::compare_pools(arguments.first, arguments.second);
  } catch (const situ::error& failed) {
    fmt::print(stderr, "{}\n", failed.what());
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
    if (found.empty()) fmt::print("{} and {} hold the same\n", arguments.first, arguments.second);
  }
  if (!found.empty()) throw CLI::RuntimeError{they_differ};
}

void add_copy(CLI::App& to) {
  CLI::App* const command = to.add_subcommand("copy", "A copy of it, as it is between two transactions");
  auto arguments = std::make_shared<two_pools>();
  command->add_option("FROM", arguments->first, "The pool")->required();
  command->add_option("TO", arguments->second, "The file to make")->required();
  command->add_flag("--replace", arguments->may_replace, "Replace the file TO, in one step, once the copy is whole");
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
}
