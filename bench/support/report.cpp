#include "report.h"

#include "cases.h"

#include <fmt/format.h>

namespace situ::bench {
namespace {

constexpr const char* line_form = "{:<16} {:<8} {:<38} {:<38} {}\n";

struct time_unit {
  double ns;
  const char* name;
};

time_unit unit_for(double ns) {
  if (ns < 999.5) return {1, "ns"};
  if (ns < 999.5e3) return {1e3, "us"};
  return {1e6, "ms"};
}

// Three significant digits, and never an exponent.
std::string number_text(double value) {
  return value < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

std::string median_text(const std::optional<figures>& f) {
  if (!f) return "-";
  const time_unit unit = unit_for(f->ns.median);
  return fmt::format("{:>5} {} ({}..{}) {}x n={}", number_text(f->ns.median / unit.ns), unit.name,
                     number_text(f->ns.p10 / unit.ns), number_text(f->ns.p90 / unit.ns), number_text(f->ratio_to_raw),
                     f->samples);
}

std::string idle_text(const std::optional<figures>& f) {
  if (!f) return "-";
  return fmt::format("{:.3g}% of a core, {:.3g} MB", f->ratio_to_raw * 100, f->bytes / 1e6);
}

std::string verdict_in(const case_info& info, const char* regime, const std::optional<figures>& f, double switch_ns) {
  if (!f) return {};
  const std::optional<double> value = in_unit_of(info, *f, switch_ns);
  if (!value) return {};
  std::string figure;
  if (info.aim->unit == target_unit::context_switches) figure = fmt::format(" {:.2g} x", *value);
  return fmt::format("; {}{} {}", regime, figure, *meets_aim(info, *f, switch_ns) ? "met" : "MISSED");
}

// Beside raw: the best rival known when the goals were set. Beside Situ: its target.
std::string remark(const case_info& info, const row& r, double switch_ns) {
  if (r.subject == "raw" && !info.best_rival.empty()) return fmt::format("best known rival: {}", info.best_rival);
  if (r.subject != "situ" || !info.aim) return {};
  return describe(info, *info.aim) + verdict_in(info, "near", r.near, switch_ns) +
         verdict_in(info, "far", r.far, switch_ns);
}

}  // namespace

std::string time_text(double ns) {
  const time_unit unit = unit_for(ns);
  return number_text(ns / unit.ns) + " " + unit.name;
}

std::string spread_text(const spread& s) {
  const time_unit unit = unit_for(s.median);
  return fmt::format("{} [{}, {}]", time_text(s.median), number_text(s.p10 / unit.ns), number_text(s.p90 / unit.ns));
}

std::string to_table(std::span<const row> rows, const provenance& from) {
  const row* switches = find_row(rows, "context_switch", "raw");
  const double switch_ns = switches == nullptr ? 0 : switch_cost(*switches);
  std::string text = fmt::format("{}; commit {}, {} build\n", from.machine, from.commit, from.build);
  text +=
      "Median (p10..p90), with x the ratio to the case's raw counterpart in the same sample, and the number of "
      "samples. Near and far:\n"
      "the regime that a raw ping-pong found right before each sample.\n\n";
  text += fmt::format(line_form, "case", "subject", "near", "far", "best known rival; target for situ");
  for (const case_info& info : all_cases()) {
    bool first = true;
    for (const row& r : rows) {
      if (r.case_name != info.name) continue;
      const auto figure = is_idle(info) ? idle_text : median_text;
      text += fmt::format(line_form, first ? info.name : "", r.subject, figure(r.near), figure(r.far),
                          remark(info, r, switch_ns));
      first = false;
    }
  }
  if (switch_ns > 0)
    text += fmt::format(
        "\nA barrier's switches: each of its places must run once, so as many as there are places, {} each.\n",
        time_text(switch_ns));
  return text;
}

}  // namespace situ::bench
