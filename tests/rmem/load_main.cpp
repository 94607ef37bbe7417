// `make test-load`: a server of remote memory under load, with what it has to hold. rmem_load [--json FILE] [--page
// FILE] writes the figures of the run, and from them the page of docs/results.
#include <sys/utsname.h>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "rmem/load.h"

namespace {

using namespace situ_rmem_test;
using nlohmann::ordered_json;

constexpr double most_slowdown = 3;

ordered_json to_json(const probe_times& of) {
  return {{"calls", of.calls}, {"median_us", of.median_us}, {"p99_us", of.p99_us}, {"most_us", of.most_us}};
}
ordered_json to_json(const burst_result& of) {
  return {{"connected", of.connected},
          {"failed", of.failed},
          {"first_failure", of.first_failure},
          {"longest_seconds", of.seconds}};
}
ordered_json to_json(const server_cost& of) {
  return {{"processors", of.processors}, {"peak_bytes", of.peak_bytes}, {"tcp_bytes", of.tcp_bytes}};
}

// "AMD EPYC, 2 processors, Linux 6.18, load average 0.50".
std::string machine() {
  std::string model = "processor";
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) model = line.substr(line.find(':') + 2);
  utsname kernel{};
  ::uname(&kernel);
  double load = 0;
  (void)::getloadavg(&load, 1);
  return fmt::format("{}, {} processors, Linux {}, load average {:.2f}", model, std::thread::hardware_concurrency(),
                     kernel.release, load);
}

ordered_json to_json(const std::string& on, const load_plan& plan, const load_result& all) {
  ordered_json made{{"machine", on},
                    {"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
                    {"clients", plan.clients},
                    {"of_each_kind", plan.of_each_kind},
                    {"flooded_logins", plan.flooded_logins},
                    {"open_strangers", plan.open_strangers},
                    {"patience_seconds", plan.patience_seconds}};
  made["probe"] = {{"idle", to_json(all.idle)},
                   {"idle_beside_misbehaved", to_json(all.idle_beside)},
                   {"among_misbehaved", to_json(all.among_misbehaved)},
                   {"idle_beside_all", to_json(all.idle_beside_all)},
                   {"among_all", to_json(all.among_all)}};
  made["bursts"] = {{"tcp", to_json(all.by_tcp)}, {"unix", to_json(all.by_unix)}, {"flood", to_json(all.among_flood)}};
  made["flooded_strangers"] = all.flooded_strangers;
  made["clients_calls"] = all.clients_calls;
  made["clients_lost"] = all.clients_lost;
  for (std::size_t i = 0; i < std::size(misbehaviours); ++i)
    made["misbehaved"].push_back({{"how", misbehaviours[i]}, {"begun", all.turns[i]}, {"ended", all.ended[i]}});
  made["server"] = {{"with_misbehaved", to_json(all.with_misbehaved)},
                    {"with_all", to_json(all.with_all)},
                    {"logins", all.logins},
                    {"refused_logins", all.refused_logins},
                    {"cut_messages", all.cut_messages},
                    {"timeouts", all.timeouts},
                    {"turned_away", all.turned_away}};
  return made;
}

struct demand {
  std::string what;
  std::string got;
  bool holds;
};

demand none_fails(const std::string& what, const burst_result& of, std::uint32_t clients) {
  return {what, fmt::format("{} connected, {} failed; the longest took {:.2f} s", of.connected, of.failed, of.seconds),
          of.connected == clients && of.failed == 0};
}
demand is_not_slow(const std::string& what, const probe_times& idle, const probe_times& loaded) {
  return {what,
          fmt::format("{:.0f} us, idle {:.0f} us: {:.2f} x", loaded.p99_us, idle.p99_us, loaded.p99_us / idle.p99_us),
          loaded.p99_us <= most_slowdown * idle.p99_us};
}

std::vector<demand> demands(const load_plan& plan, const load_result& all) {
  return {
      none_fails(fmt::format("{} clients at once by TCP, within 10 s", plan.clients), all.by_tcp, plan.clients),
      none_fails(fmt::format("{} clients at once by a Unix socket, within 10 s", plan.clients), all.by_unix,
                 plan.clients),
      none_fails(
          fmt::format("{} clients one after another, beside {} strangers", plan.flooded_logins, all.flooded_strangers),
          all.among_flood, plan.flooded_logins),
      {"no client of the burst is lost, and its counts are right",
       fmt::format("{} lost of {}, {} calls", all.clients_lost, plan.clients, all.clients_calls),
       all.clients_lost == 0 && all.clients_calls > 0},
      is_not_slow("p99 of the probe among those that misbehave is at most 3 x that at an idle server", all.idle_beside,
                  all.among_misbehaved),
      is_not_slow("the same, with the clients of the burst", all.idle_beside_all, all.among_all),
  };
}

std::string row(const char* where, const ordered_json& of) {
  return fmt::format("| {} | {} | {:.0f} | {:.0f} | {:.0f} |\n", where, of["calls"].get<std::uint64_t>(),
                     of["median_us"].get<double>(), of["p99_us"].get<double>(), of["most_us"].get<double>());
}

std::string page(const ordered_json& of, const std::vector<demand>& all, const std::string& json_file) {
  std::string text = fmt::format(
      "# Remote memory under load\n\n{}; Release build; {}.\n\nWritten by `rmem_load` (`make test-load` runs it) from "
      "one run: [{}]({}). {} clients come at the same moment, first by TCP, then by a Unix socket; of each kind of "
      "misbehaviour there are {} clients, half of them by TCP, which come again a second after they are closed; the "
      "server's patience is {} s. A flood is a stranger without a key that connects without a pause and keeps {} "
      "connections. All are processes of this host and share its processors with the server; those that make the load "
      "have the lower priority (nice 10). The probe asks for `fetch_add` once a millisecond, in turns at the loaded "
      "server and at an idle one, so both meet the same machine; what the load itself takes of the processors shows "
      "beside the first row, before anybody else came.\n\n",
      of["machine"].get<std::string>(), of["time"].get<std::string>(), json_file, json_file, of["clients"].get<int>(),
      of["of_each_kind"].get<int>(), of["patience_seconds"].get<double>(), of["open_strangers"].get<int>());
  text += "| has to hold | measured | |\n| --- | --- | --- |\n";
  for (const demand& each : all)
    text += fmt::format("| {} | {} | {} |\n", each.what, each.got, each.holds ? "holds" : "**does not hold**");
  text += "\n| the probe's calls, us | calls | median | p99 | most |\n| --- | --- | --- | --- | --- |\n";
  const auto& probes = of["probe"];
  text += row("before anybody else came", probes["idle"]);
  text += row("among those that misbehave", probes["among_misbehaved"]);
  text += row("in turns with it, at an idle server", probes["idle_beside_misbehaved"]);
  text += row("among those and the clients of a burst, which ask once a second each", probes["among_all"]);
  text += row("in turns with it, at an idle server", probes["idle_beside_all"]);
  text += "\n| how they misbehave | begun | ended by the server |\n| --- | --- | --- |\n";
  for (const auto& each : of["misbehaved"])
    text += fmt::format("| {} | {} | {} |\n", each["how"].get<std::string>(), each["begun"].get<std::uint64_t>(),
                        each["ended"].get<std::uint64_t>());
  text +=
      "\n| the server | processors | peak of its process | kernel's memory for TCP, of all processes |\n| --- | --- "
      "| --- | --- |\n";
  for (const auto& [what, key] : {std::pair{"with those that misbehave", "with_misbehaved"},
                                  std::pair{"with the clients of a burst, too", "with_all"}}) {
    const auto& cost = of["server"][key];
    text += fmt::format("| {} | {:.2f} | {:.1f} MiB | {:.1f} MiB |\n", what, cost["processors"].get<double>(),
                        cost["peak_bytes"].get<double>() / (1 << 20), cost["tcp_bytes"].get<double>() / (1 << 20));
  }
  text += fmt::format(
      "\nIt counted {} logins, {} that it refused, {} messages that were cut, {} clients that it waited for no longer, "
      "and {} that it turned away.\n",
      of["server"]["logins"].get<std::uint64_t>(), of["server"]["refused_logins"].get<std::uint64_t>(),
      of["server"]["cut_messages"].get<std::uint64_t>(), of["server"]["timeouts"].get<std::uint64_t>(),
      of["server"]["turned_away"].get<std::uint64_t>());
  return text;
}

bool write(const std::string& file, const std::string& text) {
  std::ofstream to{file};
  if (to << text && to.flush()) return true;
  fmt::print(stderr, "{} cannot be written\n", file);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  std::string json_file;
  std::string page_file;
  load_plan plan;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view{argv[i]} == "--json") json_file = argv[i + 1];
    if (std::string_view{argv[i]} == "--page") page_file = argv[i + 1];
    if (std::string_view{argv[i]} == "--seconds") plan.probe_seconds = std::atof(argv[i + 1]);
  }
  const std::string on = machine();
  const load_result all = put_under_load(plan);
  const ordered_json figures = to_json(on, plan, all);
  fmt::print("{}\n", figures.dump(2));
  int status = 0;
  const std::vector<demand> wanted = demands(plan, all);
  for (const demand& each : wanted) {
    fmt::print("{}: {}: {}\n", each.holds ? "holds" : "DOES NOT HOLD", each.what, each.got);
    if (!each.holds) status = 1;
  }
  const std::size_t slash = json_file.rfind('/');
  const std::string folder = json_file.substr(0, slash == std::string::npos ? 0 : slash);
  const std::string linked = folder.substr(folder.rfind('/') + 1) + json_file.substr(std::min(slash, json_file.size()));
  if (!json_file.empty() && !write(json_file, figures.dump(2) + "\n")) status = 1;
  if (!page_file.empty() && !write(page_file, page(figures, wanted, linked))) status = 1;
  return status;
}
