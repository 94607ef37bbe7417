// `situ pool dump`: prints roots, blocks, and their contents.
#include "pool_command.h"

#include <situ/pool/pool.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/print.h"
#include "pool/pool_tools.h"

namespace {

using nlohmann::ordered_json;
using situ::detail::print_out;

struct dump_arguments {
  std::string path;
  std::string root;
  std::size_t bytes = 64;
  situ_pool::patience_option patience;
  bool json = false;
};

struct block {
  const std::byte* at;
  std::size_t bytes;
  std::vector<std::string> roots;
};
using block_map = std::map<std::uint64_t, block>;  // by offset in the file

block_map blocks_of(const situ::pool& pool, const situ::pool_info& info) {
  block_map blocks;
  pool.for_each_block([&](void* at, std::size_t bytes) {
    blocks[reinterpret_cast<std::uintptr_t>(at) - info.base] = {static_cast<const std::byte*>(at), bytes, {}};
  });
  for (const auto& each : info.roots)
    if (const auto found = blocks.find(each.offset); found != blocks.end())
      found->second.roots.push_back(situ_pool::printable(each.name));
  return blocks;
}

// Returns the block that an address of the pool's own points into, or end().
block_map::const_iterator target_of(std::uint64_t word, const block_map& blocks, std::uint64_t made_at) {
  auto after = blocks.upper_bound(word - made_at);
  if (word < made_at || after == blocks.begin()) return blocks.end();
  --after;
  return word - made_at - after->first < after->second.bytes ? after : blocks.end();
}

std::string hex_of(const std::byte* from, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i)
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned>(from[i]));
  return text;
}

template <class Visit>
void for_each_pointer(const block& in, std::size_t bytes, const block_map& blocks, std::uint64_t made_at, Visit visit) {
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, in.at + at, sizeof word);
    if (target_of(word, blocks, made_at) != blocks.end()) visit(at, word - made_at);
  }
}

ordered_json json_of(const block_map::value_type& each, const block_map& blocks, std::uint64_t made_at,
                     std::size_t most) {
  const auto& [offset, in] = each;
  const std::size_t shown = std::min(most, in.bytes);
  ordered_json pointers = ordered_json::array();
  for_each_pointer(in, shown, blocks, made_at,
                   [&](std::size_t at, std::uint64_t to) { pointers.push_back({{"at", at}, {"leads_to", to}}); });
  return {{"offset", offset},
          {"bytes", in.bytes},
          {"roots", in.roots},
          {"content", hex_of(in.at, shown)},
          {"pointers", pointers}};
}

void print_block(const block_map::value_type& each, const block_map& blocks, std::uint64_t made_at, std::size_t most) {
  const auto& [offset, in] = each;
  print_out("block at byte {}: {} bytes", offset, in.bytes);
  for (const std::string& root : in.roots) print_out(", root {}", root);
  print_out("\n");
  const std::size_t shown = std::min(most, in.bytes);
  for (std::size_t at = 0; at < shown; at += 16) {
    const std::size_t length = std::min<std::size_t>(16, shown - at);
    print_out("  {:6} {}", at, hex_of(in.at + at, length));
    for_each_pointer({in.at + at, length, {}}, length, blocks, made_at,
                     [](std::size_t, std::uint64_t to) { print_out("  -> byte {}", to); });
    print_out("\n");
  }
  if (shown < in.bytes && most != 0) print_out("  ... {} bytes more\n", in.bytes - shown);
}

void dump(const dump_arguments& arguments) {
  const situ::pool pool = situ::pool::open(arguments.path, arguments.patience.to_read());
  const situ::read_section nobody_writes{pool};
  const situ::pool_info info = pool.info();
  const std::uint64_t made_at = situ::detail::base_of_pool(arguments.path);
  const block_map blocks = blocks_of(pool, info);
  const auto is_wanted = [&](const block_map::value_type& each) {
    const auto& roots = each.second.roots;
    return arguments.root.empty() || std::find(roots.begin(), roots.end(), arguments.root) != roots.end();
  };
  if (arguments.json) {
    ordered_json roots = ordered_json::array();
    for (const auto& each : info.roots)
      roots.push_back({{"name", each.name},
                       {"offset", each.offset},
                       {"bytes", each.bytes},
                       {"fingerprint", fmt::format("{:016x}", each.fingerprint)}});
    ordered_json all = {{"path", info.path}, {"base", fmt::format("{:#x}", made_at)}, {"roots", roots}};
    all["blocks"] = ordered_json::array();
    for (const auto& each : blocks)
      if (is_wanted(each)) all["blocks"].push_back(json_of(each, blocks, made_at, arguments.bytes));
    return situ_pool::print(all);
  }
  for (const auto& each : info.roots)
    print_out("root {}: {} bytes at byte {}, type {:016x}\n", situ_pool::printable(each.name), each.bytes, each.offset,
              each.fingerprint);
  for (const auto& each : blocks)
    if (is_wanted(each)) print_block(each, blocks, made_at, arguments.bytes);
}

}  // namespace

void situ_pool::add_dump_command(CLI::App& pool_command) {
  CLI::App* const command = pool_command.add_subcommand("dump", "Its roots, and its blocks with what lies in them");
  auto arguments = std::make_shared<dump_arguments>();
  command->add_option("FILE", arguments->path, "The pool")->required();
  command->add_option("--root", arguments->root, "Only the block of this root");
  command->add_option("--bytes", arguments->bytes, "Of each block, so many at most; 0: none")->capture_default_str();
  arguments->patience.add_to(*command);
  command->add_flag("--json", arguments->json, "As JSON");
  command->callback([arguments] { dump(*arguments); });
  command->footer(
      "A type is shown by its fingerprint, which changes with its name and its fields, and with those of all that it\n"
      "leads to; what lies in an object is shown by bytes. \"-> byte N\": these 8 bytes are the address of byte N, in\n"
      "another block.\n"
      "Examples:\n"
      "  situ pool dump index.pool                   every block, 64 bytes of each\n"
      "  situ pool dump --bytes 0 index.pool         roots and blocks alone\n"
      "  situ pool dump --root head --bytes 4096 --json index.pool");
}
