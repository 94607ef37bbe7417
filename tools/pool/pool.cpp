// `situ pool`: describes a persistent pool, and checks its own structures; the other parts of the command are in files
// of their own.
#include "command_line.h"
#include "pool_command.h"

#include <situ/base/error.h>
#include <situ/base/units.h>
#include <situ/pool/pool.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <memory>
#include <string>

#include "base/print.h"
#include "pool/pool_device.h"

namespace {

using nlohmann::ordered_json;
using situ::detail::print_out;

struct pool_arguments {
  std::string path;
  situ_pool::patience_option patience;
  bool json = false;
};

std::string promise_of(const situ::pool_info& info) {
  switch (info.promise) {
    case situ::pool_promise::process: return "process";
    case situ::pool_promise::machine: return "machine";
    case situ::pool_promise::batched: return "batched";
  }
  return "";
}

std::string incomplete_line(const situ::pool_info& info) {
  return fmt::format(
      "its last writer left a transaction incomplete: {} ranges of {} bytes are brought back when it is "
      "next opened for writing",
      info.restored_ranges, info.restored_bytes);
}

// --- info ---

situ::detail::pool_device device_of(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? situ::detail::find_device(status.st_dev) : situ::detail::pool_device{};
}

ordered_json device_as_json(const situ::detail::pool_device& device) {
  if (device.block.empty()) return nullptr;
  ordered_json all = {{"block", device.block}, {"model", device.model}, {"serial", device.serial}, {"region", nullptr}};
  if (device.region.empty()) return all;
  ordered_json modules = ordered_json::array();
  for (const auto& each : device.modules)
    modules.push_back({{"name", each.name}, {"id", each.id}, {"serial", each.serial}, {"handle", each.handle}});
  all["region"] = {{"name", device.region},
                   {"provider", device.provider},
                   {"range_index", device.range_index},
                   {"set_cookie", device.set_cookie},
                   {"size_bytes", device.size_bytes},
                   {"persistence_domain", device.persistence_domain},
                   {"numa_node", device.numa_node},
                   {"namespace", device.namespace_name},
                   {"namespace_uuid", device.namespace_uuid},
                   {"namespace_mode", device.namespace_mode},
                   {"modules", modules}};
  return all;
}

void print_device(const situ::detail::pool_device& device) {
  const auto known = [](const std::string& text) { return text.empty() ? std::string{"unknown"} : text; };
  if (device.block.empty()) {
    print_out("  device         none that the kernel names\n");
    return;
  }
  print_out("  device         {}{}{}\n", device.block, device.model.empty() ? "" : ", " + device.model,
            device.serial.empty() ? "" : ", serial " + device.serial);
  if (device.region.empty()) {
    print_out("  region         none: it is no persistent memory\n");
    return;
  }
  print_out("  region         {} of {}, identity {}, domain {}, namespace {} {}\n", device.region,
            known(device.provider), known(device.set_cookie), known(device.persistence_domain), device.namespace_name,
            device.namespace_uuid);
  for (const auto& each : device.modules)
    print_out("  module         {}: {}, serial {}\n", each.name, known(each.id), known(each.serial));
}

void print_info_as_json(const situ::pool_info& info) {
  ordered_json roots = ordered_json::array();
  for (const auto& each : info.roots)
    roots.push_back({{"name", each.name},
                     {"offset", each.offset},
                     {"bytes", each.bytes},
                     {"fingerprint", fmt::format("{:016x}", each.fingerprint)}});
  const ordered_json all = {{"path", info.path},
                            {"version", info.version},
                            {"object_checks", info.has_object_checks},
                            {"base", fmt::format("{:#x}", info.base)},
                            {"heap_bytes", info.heap_bytes},
                            {"free_bytes", info.free_bytes},
                            {"most_bytes", info.most_bytes},
                            {"transactions", info.transactions},
                            {"promise", promise_of(info)},
                            {"medium", info.medium},
                            {"primitive", info.primitive},
                            {"device", device_as_json(device_of(info.path))},
                            {"incomplete_ranges", info.restored_ranges},
                            {"incomplete_bytes", info.restored_bytes},
                            {"transactions_in_log", info.replayed_transactions},
                            {"roots", roots}};
  situ_pool::print(all);
}

void print_info(const situ::pool_info& info) {
  print_out("{}: a pool of format version {}\n", info.path, info.version);
  print_out("  heap           {}, {} of it free in whole chunks; at most {}\n", situ::format_bytes(info.heap_bytes),
            situ::format_bytes(info.free_bytes), situ::format_bytes(info.most_bytes));
  print_out("  address        {:#x}\n", info.base);
  const bool is_kept = info.promise != situ::pool_promise::process && info.primitive != "none";
  const bool is_batched = info.promise == situ::pool_promise::batched;
  print_out("  survives       the end of its process{}\n", !is_kept     ? ""
                                                           : is_batched ? ", and after a while the machine's"
                                                                        : ", and the machine's");
  print_out("  lies in        {}; flushed by {}\n", info.medium, info.primitive);
  print_device(device_of(info.path));
  print_out("  checks         of its own structures{}\n", info.has_object_checks ? ", and of each object" : "");
  print_out("  transactions   {}\n", info.transactions);
  if (info.restored_ranges != 0) print_out("  incomplete     {}\n", incomplete_line(info));
  if (info.replayed_transactions != 0)
    print_out("  in its log     {} transactions, since its last writer has not closed it\n",
              info.replayed_transactions);
  for (const auto& each : info.roots)
    print_out("  root           {}: {} bytes at byte {}, type {:016x}\n", situ_pool::printable(each.name), each.bytes,
              each.offset, each.fingerprint);
}

void show_info(const pool_arguments& arguments) {
  const situ::pool_info info = situ::pool::open(arguments.path, arguments.patience.to_read()).info();
  if (arguments.json) {
    print_info_as_json(info);
  } else {
    print_info(info);
  }
}

// --- check ---

struct check_result {
  situ::pool_findings found;
  situ::pool_info info;
  bool is_open = false;
};

check_result look_at(const pool_arguments& arguments) {
  check_result result;
  try {
    const situ::pool opened = situ::pool::open(arguments.path, arguments.patience.to_read());
    result.info = opened.info();
    result.found = opened.check();
    result.is_open = true;
  } catch (const situ::error& refused) {  // a pool that cannot be opened has no further findings
    // Damage is reported with its byte. A file that cannot be read, or that others have open, may be sound.
    const bool is_damage = refused.code() == situ::errc::bad_file &&
                           refused.message().starts_with(fmt::format("pool {}, byte ", arguments.path));
    if (!is_damage) throw;
    result.found.damage.emplace_back(refused.message());
  }
  if (result.info.restored_ranges != 0) result.found.notes.push_back(incomplete_line(result.info));
  return result;
}

std::string unreached_text(const situ::pool_findings& found) {
  if (found.unreached_blocks == 0) return {};
  return fmt::format("; {} of them, in {}, are reached from no root: they have leaked (pool::collect frees them)",
                     found.unreached_blocks, situ::format_bytes(found.unreached_bytes));
}

void check(const pool_arguments& arguments) {
  const check_result result = look_at(arguments);
  const bool is_sound = result.found.damage.empty();
  if (arguments.json) {
    const ordered_json all = {{"path", arguments.path},
                              {"sound", is_sound},
                              {"blocks", result.found.blocks},
                              {"block_bytes", result.found.block_bytes},
                              {"slabs", result.found.slabs},
                              {"checked_blocks", result.found.checked_blocks},
                              {"unreached_blocks", result.found.unreached_blocks},
                              {"unreached_bytes", result.found.unreached_bytes},
                              {"damage", result.found.damage},
                              {"notes", result.found.notes}};
    situ_pool::print(all);
  } else {
    for (const std::string& each : result.found.damage) print_out("damage: {}\n", each);
    for (const std::string& each : result.found.notes) print_out("note: {}\n", each);
    if (!is_sound && result.is_open)  // else the refusal has its own advice
      print_out("`situ pool repair {0}` mends what can be mended, in {0}.repaired\n", arguments.path);
    if (is_sound)
      print_out("{} is sound: {} objects in blocks of {}, {} slabs; {}{}\n", arguments.path, result.found.blocks,
                situ::format_bytes(result.found.block_bytes), result.found.slabs,
                result.info.has_object_checks ? "each object is what its check says" : "objects have no checks",
                unreached_text(result.found));
  }
  if (!is_sound) throw CLI::RuntimeError{EXIT_FAILURE};
}

void add(CLI::App& to, const char* name, const char* what, void (*run)(const pool_arguments&)) {
  CLI::App* const command = to.add_subcommand(name, what);
  auto arguments = std::make_shared<pool_arguments>();
  command->add_option("FILE", arguments->path, "The pool")->required();
  arguments->patience.add_to(*command);
  command->add_flag("--json", arguments->json, "As JSON");
  command->callback([arguments, run] { run(*arguments); });
}

}  // namespace

void situ_pool::patience_option::add_to(CLI::App& command) {
  constexpr double longest = 1e6;
  command
      .add_option("--patience", seconds_,
                  "How long to wait for a process that is in a transaction or a read section, or is opening the pool, "
                  "in seconds")
      ->check(CLI::Range(0.0, longest))
      ->capture_default_str();
}

std::string situ_pool::printable(std::string_view name) {
  std::string text;
  for (const char each : name) {
    if (each >= ' ' && each <= '~') {
      text += each;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(each));
    }
  }
  return text;
}

void situ_pool::print(const ordered_json& all) {
  print_out("{}\n", all.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

namespace {

void add_pool_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("pool", "Look at a persistent pool");
  command->require_subcommand(1);
  add(*command, "info", "What it is: size, address, what it survives, roots", show_info);
  add(*command, "check", "Whether it is sound; exit code 1 where it is damaged", check);
  situ_pool::add_dump_command(*command);
  situ_pool::add_file_commands(*command);
  command->footer(
      "Examples:\n"
      "  situ pool info index.pool                       size, address, roots\n"
      "  situ pool check --json index.pool               what is damaged, by its byte, for a script\n"
      "  situ pool dump --root head index.pool           the block that a root leads to\n"
      "  situ pool copy index.pool backup.pool           a copy of what is there between two transactions\n"
      "  situ pool diff index.pool backup.pool           exit code 1 where they differ\n"
      "  situ pool repair index.pool                     what can be mended, in index.pool.repaired\n"
      "  situ pool compact index.pool                    gives free chunks back to the disk\n"
      "  situ pool COMMAND --help                        more of each\n"
      "All but repair and compact may be used beside processes that write the pool; these two need it alone.");
}

}  // namespace

int main(int argc, char** argv) { return main_of_command(argc, argv, "pool", add_pool_command); }
