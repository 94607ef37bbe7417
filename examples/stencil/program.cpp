#include "program.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace stencil_programs {
namespace {

using namespace situ::stencil;

struct settings {
  request asked;
  std::string executor, budget, png, json;
  bool report = false;
};

void declare(CLI::App& app, const facts& about, settings& s) {
  s.asked.points = about.points;
  s.asked.steps = about.steps;
  app.add_option("--points,points", s.asked.points, about.points_help)
      ->type_name("N")
      ->check(CLI::Range(4, 100'000).description(""))
      ->capture_default_str();
  app.add_option("--steps,steps", s.asked.steps, "How many steps")
      ->type_name("N")
      ->check(CLI::Range(1, 100'000'000).description(""))
      ->capture_default_str();
  for (const choice& c : about.choices) {
    auto& value = s.asked.choices[c.name] = c.values.front();
    app.add_option("--" + c.name, value, c.help)
        ->type_name("NAME")
        ->check(CLI::IsMember(c.values))
        ->capture_default_str();
  }
  for (const number& n : about.numbers) {
    auto& value = s.asked.numbers[n.name] = n.value;
    app.add_option("--" + n.name, value, n.help)
        ->type_name("X")
        ->check(CLI::PositiveNumber.description(""))
        ->capture_default_str();
  }
  app.add_option("--executor", s.executor, "How chains are run [SITU_STENCIL_EXECUTOR, or tiled]")
      ->type_name("NAME")
      ->check(CLI::IsMember({"plain", "tiled", "out_of_core"}));
  app.add_option("--budget", s.budget,
                 "Fast memory of the out-of-core executor, such as '64 MiB' [SITU_STENCIL_FAST, or half of the memory]")
      ->type_name("BYTES");
  app.add_option("--threads", s.asked.how.threads, "0: one for each processor")
      ->type_name("N")
      ->check(CLI::Range(0, 1024).description(""));
  app.add_option("--png", s.png, "Draw the field to this file")->type_name("FILE");
  app.add_option("--json", s.json, "Write the results as JSON, too; - for standard output, in place of the table")
      ->type_name("FILE");
  app.add_flag("--report", s.report, "Time, bytes and GB/s of each loop");
  std::string text = "Examples:\n";
  for (const std::string& e : about.examples) text += "  " + about.name + " " + e + "\n";
  app.footer(text + "The variables SITU_STENCIL_* are those of docs/design/stencil.md.");
}

void apply(settings& s) {
  for (const auto e : {executor::plain, executor::tiled, executor::out_of_core})
    if (s.executor == name(e)) s.asked.how.run_by = e;
  if (!s.budget.empty()) s.asked.how.fast_bytes = situ::parse_bytes(s.budget);
  s.asked.how.report = s.asked.how.report || s.report;
}

bool passes(const outcome& o) {
  return std::all_of(o.checks.begin(), o.checks.end(), [](const check& c) { return c.passes(); });
}

std::string to_text(const facts& about, const request& asked, const outcome& o, double seconds) {
  std::string text = fmt::format("{}: {}, {} steps, {}\n", about.name, o.grid, asked.steps, name(asked.how.run_by));
  for (const figure& f : o.figures) text += fmt::format("  {:<48} {:>12.6g}\n", f.name, f.value);
  text += fmt::format("  {:<48} {:>12.3f} s, in chains {:.3f} s\n", "time", seconds, o.statistics.run_seconds);
  for (const check& c : o.checks)
    text += fmt::format("  {:<48} {:>12.3e} <= {:<9.3g} {}\n", c.name, c.value, c.limit, c.passes() ? "PASS" : "FAIL");
  return text + fmt::format("  {:<48} {:016x}\n", "checksum", o.checksum) + o.report;
}

std::string to_json(const facts& about, const request& asked, const outcome& o, double seconds) {
  nlohmann::ordered_json j{
      {"program", about.name}, {"points", asked.points}, {"steps", asked.steps}, {"executor", name(asked.how.run_by)}};
  for (const auto& [key, value] : asked.choices) j[key] = value;
  for (const auto& [key, value] : asked.numbers) j[key] = value;
  j["seconds"] = seconds;
  for (const figure& f : o.figures) j["figures"][f.name] = f.value;
  for (const check& c : o.checks)
    j["checks"].push_back({{"name", c.name}, {"value", c.value}, {"limit", c.limit}, {"pass", c.passes()}});
  j["checksum"] = fmt::format("{:016x}", o.checksum);
  j["chains"] = {{"count", o.statistics.chains},
                 {"loops", o.statistics.loops},
                 {"tiles", o.statistics.last_tiles},
                 {"seconds", o.statistics.run_seconds},
                 {"bytes_read", o.statistics.bytes_read},
                 {"bytes_written", o.statistics.bytes_written},
                 {"wait_seconds", o.statistics.wait_seconds}};
  return j.dump(2) + "\n";
}

void write_results(const settings& s, const facts& about, const outcome& o, double seconds) {
  if (s.json != "-") std::fputs(to_text(about, s.asked, o, seconds).c_str(), stdout);
  if (!s.png.empty()) draw_png(s.png, o.field, fmt::format("{}: {}, {} steps", about.name, o.grid, s.asked.steps));
  if (s.json.empty()) return;
  const std::string text = to_json(about, s.asked, o, seconds);
  if (s.json == "-") {
    std::fputs(text.c_str(), stdout);
    return;
  }
  std::ofstream file{s.json, std::ios::binary};
  file << text << std::flush;
  if (!file) throw std::runtime_error{"cannot write " + s.json};
}

}  // namespace

void add_statistics(outcome& result, const context& run) {
  result.statistics = run.statistics();
  if (!run.how().report) return;
  std::ostringstream text;
  run.report(text);
  result.report = text.str();
}

int run_program(int argc, char** argv, const facts& about, const std::function<outcome(const request&)>& play) {
  CLI::App app{about.what, about.name};
  try {
    settings s;
    s.asked.how = options::from_environment();
    declare(app, about, s);
    app.parse(argc, argv);
    apply(s);
    const auto start = std::chrono::steady_clock::now();
    const outcome o = play(s.asked);
    write_results(s, about, o, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return passes(o) ? 0 : 1;
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const situ::error& e) {
    std::fprintf(stderr, "%s: %s\n", about.name.c_str(), std::string{e.message()}.c_str());
  } catch (const std::runtime_error& e) {
    std::fprintf(stderr, "%s: %s\n", about.name.c_str(), e.what());
  }
  return 1;
}

}  // namespace stencil_programs
