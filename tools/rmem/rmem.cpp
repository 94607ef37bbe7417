// `situ rmem`: serves remote memory, and shows the contents of servers.
#include "command_line.h"
#include "rmem_run.h"

#include "base/print.h"
#include "os/signals.h"

#include <situ/base/error.h>
#include <situ/base/units.h>
#include <situ/rmem/client.h>
#include <situ/rmem/server.h>

#include <fmt/format.h>
#include <signal.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using nlohmann::ordered_json;
namespace rmem = situ::rmem;
using situ::detail::print_out;

constexpr const char* usual_endpoint = "127.0.0.1:7411";

// --- serve ---

struct serve_arguments {
  std::vector<std::string> listen{usual_endpoint};
  std::string memory;
  std::string kind;
  std::string keys;
  std::string names;
  std::string advertised;
  std::uint32_t index = 0;
  std::uint32_t clients = 256;
  double patience_s = 10;
  std::uint32_t replicas = 0;
  bool is_spare = false;
  double lease_s = 0.4;
  std::string mapped = "256MiB";
  bool json = false;
};

rmem::server* serving = nullptr;  // for signals

void serve(const serve_arguments& arguments) {
  rmem::server_options options;
  options.listen = arguments.listen;
  options.capacity_bytes = arguments.memory.empty() ? 0 : situ::parse_bytes(arguments.memory);
  options.memory = situ::memory_kind::parse(arguments.kind);
  options.index = arguments.index;
  options.keys = rmem::load_keys(arguments.keys);
  options.names = arguments.names;
  options.advertised = arguments.advertised;
  options.most_clients = arguments.clients;
  options.patience = std::chrono::milliseconds{static_cast<std::int64_t>(arguments.patience_s * 1000)};
  options.replicas = arguments.replicas;
  options.is_spare = arguments.is_spare;
  options.lease = std::chrono::milliseconds{static_cast<std::int64_t>(arguments.lease_s * 1000)};
  options.most_mapped_bytes = situ::parse_bytes(arguments.mapped);
  rmem::server server{options};
  serving = &server;
  for (const int signal : {SIGINT, SIGTERM}) situ::os::handle_signal(signal, [](int) { serving->stop(); });
  if (arguments.json) {
    print_out("{}\n", ordered_json{{"server", options.index},
                                   {"capacity_bytes", options.capacity_bytes},
                                   {"endpoints", server.endpoints()}}
                          .dump());
  } else {
    print_out("server {} {} at {}\n", options.index,
              options.capacity_bytes == 0 ? "keeps names"
                                          : "has " + situ::format_bytes(options.capacity_bytes) + " for its clients",
              fmt::join(server.endpoints(), " and "));
  }
  situ::detail::flush_output();  // the parent process waits for this line
  server.run();
}

void add_serve(CLI::App& to) {
  CLI::App* const command =
      to.add_subcommand("serve", "Serve memory, or names, until it is told to end (SIGTERM, SIGINT)");
  auto arguments = std::make_shared<serve_arguments>();
  command
      ->add_option("--listen", arguments->listen, "HOST:PORT (0: any free port), [ADDRESS]:PORT or unix:/path; several")
      ->capture_default_str();
  command->add_option("--memory", arguments->memory, "How much for clients, as 4GiB; without it, it keeps names only");
  command->add_option("--kind", arguments->kind,
                      "Where that comes from, as of `situ run --memory`: node:1, huge, file:/scratch");
  command->add_option("--keys", arguments->keys, "The file of its applications' keys (mode 0600)")->required();
  command->add_option("--index", arguments->index, "Its number, 0 to 255: the top bits of its addresses");
  command->add_option("--names", arguments->names, "The name server that clients find it by; needs an operator's key");
  command->add_option("--advertise", arguments->advertised,
                      "What its name leads to, where that is not where it listens");
  command->add_option("--clients", arguments->clients, "Most clients at a time, half as many of one application")
      ->capture_default_str();
  command
      ->add_option("--patience", arguments->patience_s,
                   "Seconds that a client may take for a message, or for 256 KiB of a longer one")
      ->capture_default_str();
  command->add_option("--replicas", arguments->replicas,
                      "1 to 3: the memory of this index lies at so many servers, which the name server keeps");
  command->add_flag("--spare", arguments->is_spare, "Takes the place of a server of replicas that is lost or drained");
  command
      ->add_option("--lease", arguments->lease_s,
                   "Of a name server: seconds of silence after which a server of replicas is replaced")
      ->capture_default_str();
  command->add_option("--map-up-to", arguments->mapped, "The largest region that readers on this host map")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Says where it listens as one line of JSON");
  command->callback([arguments] { serve(*arguments); });
}

// --- key ---

void add_key(CLI::App& to) {
  CLI::App* const command = to.add_subcommand("key", "Print a new key of an application, a line for key files");
  auto name = std::make_shared<std::string>();
  auto is_operator = std::make_shared<bool>(false);
  command->add_option("APPLICATION", *name, "Its name")->required();
  command->add_flag("--operator", *is_operator, "May link names of servers, and see all regions");
  command->callback(
      [name, is_operator] { print_out("{}\n", rmem::application_key::generate(*name, *is_operator).to_line()); });
}

// --- ls, stat ---

struct look_arguments {
  std::string endpoint = usual_endpoint;
  std::string keys;
  std::string application;
  std::optional<std::uint32_t> server;
  bool json = false;
};

// Returns the server of the given number, those that have linked their names, or the one that is asked itself.
std::vector<std::optional<std::uint32_t>> servers_of(rmem::client& by, const look_arguments& arguments) {
  if (arguments.server) return {arguments.server};
  std::vector<std::optional<std::uint32_t>> all;
  for (const rmem::name_info& each : by.list_names()) {
    std::uint32_t index = 0;
    if (std::sscanf(each.name.c_str(), "rmem.%3u", &index) == 1) all.emplace_back(index);
  }
  if (all.empty()) all.emplace_back();
  return all;
}

void list(rmem::client& by, const look_arguments& arguments) {
  const std::vector<rmem::name_info> names = by.list_names();
  const rmem::replica_list replicas = by.list_replicas();
  std::vector<rmem::region_info> regions;
  for (const auto& server : servers_of(by, arguments))
    for (rmem::region_info& each : by.list_regions(server)) regions.push_back(std::move(each));
  if (arguments.json) {
    ordered_json all{
        {"names", ordered_json::array()}, {"regions", ordered_json::array()}, {"replicas", ordered_json::array()}};
    for (const auto& each : names) all["names"].push_back({{"name", each.name}, {"endpoint", each.endpoint}});
    for (const auto& each : regions)
      all["regions"].push_back({{"address", fmt::format("{:#018x}", each.address)},
                                {"server", each.address >> 56},
                                {"bytes", each.bytes},
                                {"owner", each.owner},
                                {"capabilities", each.capabilities}});
    for (const auto& each : replicas.sets)
      all["replicas"].push_back({{"server", each.index},
                                 {"epoch", each.epoch},
                                 {"wanted", each.wanted},
                                 {"endpoints", each.endpoints},
                                 {"is_joining", each.is_joining}});
    all["spares"] = replicas.spares;
    print_out("{}\n", all.dump(2));
    return;
  }
  for (const auto& each : names) print_out("{} -> {}\n", each.name, each.endpoint);
  for (const auto& each : replicas.sets)
    print_out("server {} lies at {} of {}: {}{}\n", each.index, each.endpoints.size(), each.wanted,
              fmt::join(each.endpoints, ", "), each.is_joining ? "; another one joins" : "");
  if (replicas.spares > 0) print_out("spare servers: {}\n", replicas.spares);
  for (const auto& each : regions)
    print_out("{:#018x}  {}, of {}, {} {}\n", each.address, situ::format_bytes(each.bytes), each.owner,
              each.capabilities, each.capabilities == 1 ? "capability" : "capabilities");
  if (names.empty() && regions.empty()) print_out("neither names nor regions\n");
}

// Returns the counts in the order of rmem::statistics.
std::vector<std::pair<const char*, std::uint64_t>> counts_of(const rmem::statistics& s) {
  return {{"capacity_bytes", s.capacity_bytes},
          {"used_bytes", s.used_bytes},
          {"regions", s.regions},
          {"capabilities", s.capabilities},
          {"names", s.names},
          {"clients", s.clients},
          {"logins", s.logins},
          {"allocations", s.allocations},
          {"frees", s.frees},
          {"reads", s.reads},
          {"read_bytes", s.read_bytes},
          {"writes", s.writes},
          {"written_bytes", s.written_bytes},
          {"atomics", s.atomics},
          {"grants", s.grants},
          {"revocations", s.revocations},
          {"refused_logins", s.refused_logins},
          {"denied", s.denied},
          {"refused", s.refused},
          {"full", s.full},
          {"bad_messages", s.bad_messages},
          {"cut_messages", s.cut_messages},
          {"timeouts", s.timeouts},
          {"turned_away", s.turned_away}};
}

void show(rmem::client& by, const look_arguments& arguments) {
  ordered_json all = ordered_json::array();
  for (const auto& server : servers_of(by, arguments)) {
    const auto counts = counts_of(by.server_statistics(server));
    if (!arguments.json) print_out("{}\n", server ? fmt::format("server {}", *server) : arguments.endpoint);
    ordered_json one;
    if (server) one["server"] = *server;
    for (const auto& [name, count] : counts) {
      const std::string_view text{name};
      one[name] = count;
      if (!arguments.json)
        print_out("  {:15} {}\n", text.ends_with("_bytes") ? text.substr(0, text.size() - 6) : text,
                  text.ends_with("_bytes") ? situ::format_bytes(count) : std::to_string(count));
    }
    all.push_back(one);
  }
  if (arguments.json) print_out("{}\n", all.dump(2));
}

void add_look(CLI::App& to, const char* name, const char* what, void (*look)(rmem::client&, const look_arguments&)) {
  CLI::App* const command = to.add_subcommand(name, what);
  auto arguments = std::make_shared<look_arguments>();
  command->add_option("SERVER", arguments->endpoint, "A server, or the name server of several")->capture_default_str();
  command->add_option("--keys", arguments->keys, "A file with the application's key (mode 0600)")->required();
  command->add_option("--as", arguments->application, "Which application of that file; the first where it is left out");
  command->add_option("--index", arguments->server, "The server of that number alone");
  command->add_flag("--json", arguments->json, "As JSON");
  command->callback([arguments, look] {
    rmem::client by{arguments->endpoint, rmem::load_key(arguments->keys, arguments->application)};
    look(by, *arguments);
  });
}

// --- drain ---

struct drain_arguments {
  look_arguments look;
  std::string server;
  double timeout_s = 60;
};

// Waits until another server has the drained one's regions, and the drained one has left its chain.
void drain(const drain_arguments& arguments) {
  rmem::client by{arguments.look.endpoint, rmem::load_key(arguments.look.keys, arguments.look.application)};
  by.drain(arguments.server);
  const auto ends = std::chrono::steady_clock::now() + std::chrono::duration<double>{arguments.timeout_s};
  const auto is_there = [&](const rmem::replica_list& all) {
    for (const rmem::replica_set& each : all.sets)
      if (std::find(each.endpoints.begin(), each.endpoints.end(), arguments.server) != each.endpoints.end())
        return true;
    return false;
  };
  for (rmem::replica_list all = by.list_replicas(); is_there(all); all = by.list_replicas()) {
    if (std::chrono::steady_clock::now() > ends)
      situ::throw_error(situ::errc::out_of_memory,
                        fmt::format("no other server has the memory of {} after {} s ({} spare); it goes on, and goes "
                                    "when one has: start one (situ rmem serve --spare)",
                                    arguments.server, arguments.timeout_s, all.spares));
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  print_out("{} has been drained\n", arguments.server);
}

void add_drain(CLI::App& to) {
  CLI::App* const command =
      to.add_subcommand("drain", "Move what a server of replicas has to another one, and end it, while clients work");
  auto arguments = std::make_shared<drain_arguments>();
  command->add_option("SERVER", arguments->server, "Where it listens, as situ rmem ls shows it")->required();
  command->add_option("NAMES", arguments->look.endpoint, "The name server")->capture_default_str();
  command->add_option("--keys", arguments->look.keys, "A file with an operator's key (mode 0600)")->required();
  command->add_option("--as", arguments->look.application, "Which application of that file; the first otherwise");
  command->add_option("--timeout", arguments->timeout_s, "Seconds to wait for it")->capture_default_str();
  command->callback([arguments] { drain(*arguments); });
}

// --- run ---

struct run_arguments {
  remote_program_options options;
  std::string local;
  std::string remote;
  std::string from = "1MiB";
};

// CLI11 does not know that a program follows the options.
class rmem_run_help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: situ rmem run --local BYTES [OPTIONS] PROGRAM [ARGUMENTS...]\n";
  }
};

void add_run(CLI::App& to) {
  CLI::App* const command = to.add_subcommand("run", "Run any program with remote memory for its large allocations");
  auto arguments = std::make_shared<run_arguments>();
  remote_program_options& options = arguments->options;
  options.server = usual_endpoint;
  command->formatter(std::make_shared<rmem_run_help>());
  command
      ->add_option("--local", arguments->local,
                   "Most bytes of them that lie here, as 256MiB; what is touched is fetched")
      ->required();
  command->add_option("--server", options.server, "A server, or the name server of several")
      ->envname("SITU_RMEM_SERVER")
      ->capture_default_str();
  command->add_option("--keys", options.keys, "A file with the application's key (mode 0600)")
      ->envname("SITU_RMEM_KEYS")
      ->required();
  command->add_option("--as", options.application, "Which application of that file; the first where it is left out");
  command->add_option("--remote", arguments->remote,
                      "Bytes at the server, for all its processes together; half of what is "
                      "free there where it is left out");
  command->add_option("--from", arguments->from, "An allocation of so many bytes is a large one")
      ->capture_default_str();
  command->add_flag("--stats", options.stats, "Says on standard error what was fetched and written");
  command->add_option("--report", options.report_file, "The same as JSON, to this file");
  command->add_option("--timeout", options.timeout_seconds, "Seconds without a byte after which the server is lost")
      ->capture_default_str();
  command->prefix_command();  // from the program's name on, everything is the program's
  command->callback([arguments, command] {
    const std::vector<std::string> program = command->remaining();
    if (program.empty()) throw CLI::ValidationError("PROGRAM", "is missing; see situ rmem run --help");
    if (program.front().starts_with("-"))
      throw CLI::ValidationError(program.front(), "is no option of situ rmem run; see situ rmem run --help");
    arguments->options.local_bytes = situ::parse_bytes(arguments->local);
    arguments->options.threshold_bytes = situ::parse_bytes(arguments->from);
    if (!arguments->remote.empty()) arguments->options.remote_bytes = situ::parse_bytes(arguments->remote);
    if (const int code = run_remote_program(arguments->options, program); code != 0) throw CLI::RuntimeError(code);
  });
}

void add_rmem_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("rmem", "Serve remote memory, and look at its servers");
  command->require_subcommand(1);
  add_serve(*command);
  add_run(*command);
  add_key(*command);
  add_drain(*command);
  add_look(*command, "ls", "The names, and the regions of an application; of all for an operator", list);
  add_look(*command, "stat", "What servers have, and what they have counted", show);
  command->footer(
      "Examples:\n"
      "  umask 077; situ rmem key packages >keys                     a key, in a file that nobody else may read\n"
      "  situ rmem serve --memory 4GiB --keys keys                   serves 4 GiB on this host, port 7411\n"
      "  situ rmem serve --memory 4GiB --keys keys --listen unix:/run/user/1000/rmem    to this host alone\n"
      "  situ rmem serve --keys keys --listen 10.0.0.1:7411          keeps names (key with --operator)\n"
      "  situ rmem serve --memory 64GiB --keys keys --index 1 --listen 10.0.0.2:7411 --names 10.0.0.1:7411\n"
      "  situ rmem serve --memory 64GiB --keys keys --index 1 --replicas 2 --listen 10.0.0.3:7411 --names "
      "10.0.0.1:7411    on two hosts\n"
      "  situ rmem drain 10.0.0.3:7411 10.0.0.1:7411 --keys keys --as cluster    moves what it has, and ends it\n"
      "  situ rmem run --local 256MiB --keys keys -- sort big.txt    large allocations lie there, 256 MiB of them "
      "here\n"
      "  situ rmem ls --keys keys 10.0.0.1:7411                      names and regions\n"
      "  situ rmem stat --keys keys --json                           counts, for a script");
}

}  // namespace

int main(int argc, char** argv) { return main_of_command(argc, argv, "rmem", add_rmem_command); }
