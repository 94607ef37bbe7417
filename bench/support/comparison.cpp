#include "comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "report.h"

namespace situ::bench {

const comparison_case* find_comparison(std::span<const comparison_case> cases, std::string_view name) {
  const auto found =
      std::find_if(cases.begin(), cases.end(), [&](const comparison_case& each) { return each.name == name; });
  return found == cases.end() ? nullptr : &*found;
}

bool is_named(const comparison_case& info, std::span<const std::string> asked_for) {
  return asked_for.empty() || std::any_of(asked_for.begin(), asked_for.end(),
                                          [&](const std::string& each) { return info.name.starts_with(each); });
}

void check_comparison_names(std::span<const comparison_case> cases, std::span<const std::string> asked_for,
                            std::string_view bench) {
  for (const std::string& name : asked_for)
    if (std::none_of(cases.begin(), cases.end(),
                     [&](const comparison_case& each) { return each.name.starts_with(name); }))
      throw std::runtime_error{fmt::format("situ bench: no case '{}'; see `situ bench {} --help`", name, bench)};
}

std::vector<comparison_subject> subjects_of(const comparison_case& info, std::span<const row> rows) {
  std::vector<comparison_subject> all = info.subjects;
  if (info.counterpart_of_others.empty()) return all;
  for (const row& r : rows) {
    const auto is_it = [&](const comparison_subject& each) { return each.name == r.subject; };
    if (r.case_name == info.name && std::none_of(all.begin(), all.end(), is_it))
      all.push_back({r.subject, info.counterpart_of_others});
  }
  return all;
}

bool is_met(const comparison_aim& aim, const row& r) {
  return (aim.is_ratio ? r.all.ratio_to_raw : r.all.ns.median) <= aim.at_most;
}

std::string absence_text(const comparison_subject& subject) {
  return subject.packages.empty() ? std::string{}
                                  : fmt::format("absent: apt install {}, and build Situ again", subject.packages);
}

std::string text_of(const comparison_aim& aim) {
  return aim.is_ratio ? fmt::format("{:.3g} x", aim.at_most) : time_text(aim.at_most);
}

std::string rate_text(const comparison_case& info, const row& r) {
  if (info.bytes_each > 0) return fmt::format("{:.3g} GB/s", info.bytes_each / r.all.ns.median);
  if (r.all.bytes > 0) return fmt::format("{:.3g} GB, {:.3g} GB/s", r.all.bytes * 1e-9, r.all.bytes / r.all.ns.median);
  return {};
}

std::string to_comparison_table(std::span<const comparison_case> cases, std::span<const row> rows,
                                const provenance& from, std::string_view words) {
  std::string text = fmt::format("{}; commit {}, {} build\n", from.machine, from.commit, from.build);
  text += fmt::format("Median (p10..p90); x: the ratio to the counterpart in the same sample. {}\n\n", words);
  for (const comparison_case& info : cases) {
    const bool is_measured =
        std::any_of(rows.begin(), rows.end(), [&](const row& each) { return each.case_name == info.name; });
    if (!is_measured) continue;
    text += fmt::format("{}: {}, for one {}\n", info.name, info.words, info.unit);
    for (const comparison_subject& subject : subjects_of(info, rows)) {
      const row* const r = find_row(rows, info.name, subject.name);
      if (r == nullptr) {
        if (const std::string absence = absence_text(subject); !absence.empty())
          text += fmt::format("  {:<15} {}\n", subject.name, absence);
        continue;
      }
      const std::string verdict =
          subject.aim ? fmt::format("aim <= {}: {}", text_of(*subject.aim), is_met(*subject.aim, *r) ? "met" : "MISSED")
                      : std::string{};
      text += fmt::format("  {:<15} {:>9} ({}..{})  {:>7.3g} x {:<36} {:<22} n={:<4} {}\n", subject.name,
                          time_text(r->all.ns.median), time_text(r->all.ns.p10), time_text(r->all.ns.p90),
                          r->all.ratio_to_raw, subject.counterpart, rate_text(info, *r), r->all.samples, verdict);
    }
  }
  return text;
}

}  // namespace situ::bench
