#include "page_sections.h"

#include "aims.h"
#include "cases.h"
#include "graph_cases.h"
#include "report.h"
#include "stencil_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace situ::bench {
namespace {

std::string code(std::string_view text) { return fmt::format("`{}`", text); }

// Three digits, and never an exponent.
std::string ratio_text(double ratio) {
  return ratio < 999.5 ? fmt::format("{:.3g} x", ratio) : fmt::format("{:.0f} x", ratio);
}

// "1e4": sizes are powers of ten.
std::string size_text(std::size_t size) { return fmt::format("1e{:.0f}", std::log10(static_cast<double>(size))); }

// "<= 1.6 x: met", "<= 30 ns: **missed**".
std::string verdict_text(const std::string& aim, bool is_met) {
  return fmt::format("{}: {}", aim, is_met ? "met" : "**missed**");
}

std::vector<std::string> subjects_in(std::span<const row> rows, std::string_view bench) {
  std::vector<std::string> subjects;
  for (const row& r : rows)
    if (bench_of(r.case_name) == bench && std::find(subjects.begin(), subjects.end(), r.subject) == subjects.end())
      subjects.push_back(r.subject);
  return subjects;
}

void add_limit(std::vector<std::string>& limits, std::string_view case_name, std::string_view subject,
               std::string_view where) {
  const std::string_view words = limit_of(case_name, subject);
  limits.push_back(fmt::format("{}{}{}: {}.", code(case_name), where.empty() ? "" : ", ", where,
                               words.empty() ? "nobody has looked yet" : words));
}

// ---- aims ----

std::string value_text(const rival_aim& aim, double value) {
  return aim.base == aim_base::nanoseconds ? time_text(value) : ratio_text(value);
}

std::string where_text(const rival_aim& aim, const judged_aim& judged) {
  return judged.regime.empty() || !aim.regime.empty() ? "" : ", " + judged.regime;
}

void add_aim(page_section& section, plot_group& group, const rival_aim& aim, std::span<const row> rows) {
  const std::string at_most = "<= " + value_text(aim, aim.at_most);
  const auto verdicts = judge(aim, rows);
  for (const judged_aim& judged : verdicts) {
    section.table.rows.push_back({std::string{aim.what} + where_text(aim, judged), time_text(judged.ns), judged.against,
                                  value_text(aim, judged.value), at_most, judged.is_met ? "met" : "**missed**",
                                  judged.is_met ? "" : std::string{limit_of(aim.case_name, aim.subject)}});
    group.bars.push_back({judged.regime.empty() ? "measured" : judged.regime, judged.value / aim.at_most, 1.0});
  }
  if (verdicts.empty()) {
    const std::string ask = aim.measured.empty() ? "" : fmt::format(" (needs {})", aim.measured);
    section.table.rows.push_back({std::string{aim.what}, "", "", "", at_most, "not measured" + ask, ""});
  }
}

// ---- core ----

// The regimes of a row that were met; idle places have one figure.
std::vector<std::pair<std::string_view, const figures*>> regimes_of(const row& r) {
  std::vector<std::pair<std::string_view, const figures*>> met;
  if (r.near) met.emplace_back("near", &*r.near);
  if (r.far) met.emplace_back("far", &*r.far);
  return met;
}

const figures* in_regime(const row* r, std::string_view regime) {
  if (r == nullptr) return nullptr;
  for (const auto& [name, f] : regimes_of(*r))
    if (name == regime) return f;
  return nullptr;
}

std::string core_cell(const case_info& info, const figures* f) {
  if (f == nullptr) return {};
  if (is_idle(info)) return fmt::format("{:.3g} %, {:.3g} MB", f->ratio_to_raw * 100, f->bytes / 1e6);
  return fmt::format("{}, {}", spread_text(f->ns), ratio_text(f->ratio_to_raw));
}

void add_core_line(page_section& section, const case_info& info, std::string_view regime,
                   const std::vector<std::string>& subjects, std::span<const row> rows, double switch_ns) {
  std::vector<std::string> line{code(info.name), std::string{regime}};
  bool any = false;
  for (const std::string& subject : subjects) {
    const figures* const f = in_regime(find_row(rows, info.name, subject), regime);
    any = any || f != nullptr;
    line.push_back(core_cell(info, f));
  }
  if (!any) return;
  const figures* const own = in_regime(find_row(rows, info.name, "situ"), regime);
  const auto met = own == nullptr ? std::nullopt : meets_aim(info, *own, switch_ns);
  line.push_back(met ? verdict_text(describe(info, *info.aim), *met) : info.aim ? describe(info, *info.aim) : "");
  if (met && !*met) add_limit(section.limits, info.name, "situ", regime);
  section.table.rows.push_back(std::move(line));
}

// Ratios to the raw counterpart, over the samples of both regimes.
plot core_plot(const std::vector<std::string>& subjects, std::span<const row> rows) {
  plot drawn{
      "core.svg", "Time of an operation over that of its raw counterpart", "ratio to raw (less is better)", "", {}, {}};
  for (const case_info& info : all_cases()) {
    if (is_idle(info) || info.name == "context_switch") continue;  // no ratios
    plot_group group{std::string{info.name}, {}};
    for (const std::string& subject : subjects) {
      const row* const r = find_row(rows, info.name, subject);
      if (r == nullptr) continue;
      group.bars.push_back({subject, r->all.ratio_to_raw});
      if (subject == "situ" && info.aim && info.aim->unit == target_unit::ratio_to_raw)
        group.bars.back().aim = info.aim->at_most;
    }
    if (!group.bars.empty()) drawn.groups.push_back(std::move(group));
  }
  return drawn;
}

// ---- graphs ----

// A table of graphs: a line for each form and size, and in its columns who does what with them.
struct graph_column {
  std::string header;
  const graph_operation* operation;
  std::string_view subject;
};
struct graph_family {
  std::string name;  // "clone", "ship", "free"
  std::string title;
  std::vector<graph_column> columns;
};

// Operations that begin alike and that only Situ does share a table, a column for each transfer.
std::vector<graph_family> graph_families() {
  std::vector<graph_family> families;
  for (const graph_operation& operation : graph_operations()) {
    const std::string name{operation.name.substr(0, operation.name.find('_'))};
    if (families.empty() || families.back().name != name)
      families.push_back({name,
                          fmt::format("Object graphs: {} ({})",
                                      operation.words.substr(0, operation.words.find_first_of(",;")), code(name)),
                          {}});
    const bool is_alone = operation.subjects.size() == 1;
    for (const std::string_view subject : operation.subjects)
      families.back().columns.push_back(
          {std::string{is_alone ? operation.name.substr(name.size() + 1) : subject}, &operation, subject});
  }
  return families;
}

const graph_case* case_of(const graph_column& column, const graph_form& form, std::size_t size) {
  for (const graph_case& info : all_graph_cases())
    if (info.operation == column.operation && info.form == &form && info.size == size) return &info;
  return nullptr;
}

// Time and ratio, and on Situ's the verdict on its aim.
std::string graph_cell(const graph_case& info, const row& r, std::vector<std::string>& limits) {
  std::string cell = fmt::format("{}, {}", spread_text(r.all.ns), ratio_text(r.all.ratio_to_raw));
  if (!info.aim || r.subject != "situ") return cell;
  const bool is_met = (info.aim->is_ratio ? r.all.ratio_to_raw : r.all.ns.median) <= info.aim->at_most;
  if (!is_met) add_limit(limits, info.name, "situ", "");
  return cell + ", aim " +
         verdict_text(fmt::format("<= {:.3g} {}", info.aim->at_most, info.aim->is_ratio ? "x" : "ns"), is_met);
}

void add_graph_lines(page_section& section, const graph_family& family, const graph_form& form,
                     std::span<const row> rows) {
  std::map<std::size_t, std::vector<std::string>> lines;  // by size
  for (const graph_case& info : all_graph_cases())
    if (info.form == &form) lines[info.size];
  for (auto& [size, cells] : lines) {
    cells = {code(form.name), size_text(size)};
    bool any = false;
    for (const graph_column& column : family.columns) {
      const graph_case* const info = case_of(column, form, size);
      const row* const r = info == nullptr ? nullptr : find_row(rows, info->name, column.subject);
      any = any || r != nullptr;
      cells.push_back(r == nullptr ? "" : graph_cell(*info, *r, section.limits));
    }
    if (any) section.table.rows.push_back(cells);
  }
}

// Over sizes: one curve for each column; of one form.
plot graph_plot(const graph_family& family, const graph_form& form, std::span<const row> rows) {
  plot drawn{fmt::format("{}_{}.svg", family.name, form.name),
             fmt::format("{}: {}", family.name, form.words),
             fmt::format("size in {}s", form.unit),
             fmt::format("ns for one {}", form.unit),
             {},
             {}};
  for (const graph_column& column : family.columns) {
    plot_curve curve{column.header, {}};
    for (const graph_case& info : all_graph_cases())
      if (info.operation == column.operation && info.form == &form)
        if (const row* const r = find_row(rows, info.name, column.subject))
          curve.points.push_back({static_cast<double>(info.size), r->all.ns.median, r->all.ns.p10, r->all.ns.p90});
    if (curve.points.size() > 1) drawn.curves.push_back(std::move(curve));
  }
  return drawn;
}

// ---- comparisons ----

// Of a case that was measured, and a rival that could not be.
void add_absent_line(page_section& section, const comparison_case& info, const comparison_subject& subject, bool& first,
                     std::span<const row> rows) {
  const auto is_of_case = [&](const row& each) { return each.case_name == info.name; };
  const std::string absence = absence_text(subject);
  if (absence.empty() || std::none_of(rows.begin(), rows.end(), is_of_case)) return;
  section.table.rows.push_back({first ? code(info.name) : "", first ? std::string{info.words} : "",
                                std::string{subject.name}, absence, "", "", "", "", ""});
  first = false;
}

void add_comparison_lines(page_section& section, plot& drawn, const comparison_case& info, std::span<const row> rows) {
  plot_group group{std::string{info.name}, {}};
  bool first = true;
  for (const comparison_subject& subject : subjects_of(info, rows)) {
    const row* const r = find_row(rows, info.name, subject.name);
    if (r == nullptr) {
      add_absent_line(section, info, subject, first, rows);
      continue;
    }
    const bool is_base = subject.counterpart.starts_with("itself");
    std::string verdict;
    if (subject.aim) {
      verdict = verdict_text("<= " + text_of(*subject.aim), is_met(*subject.aim, *r));
      if (!is_met(*subject.aim, *r)) add_limit(section.limits, info.name, subject.name, subject.name);
    }
    section.table.rows.push_back(
        {first ? code(info.name) : "", first ? std::string{info.words} : "", std::string{subject.name},
         spread_text(r->all.ns), rate_text(info, *r), is_base ? "" : ratio_text(r->all.ratio_to_raw),
         is_base ? "" : std::string{subject.counterpart}, std::to_string(r->all.samples), verdict});
    if (!is_base) {
      group.bars.push_back({std::string{subject.name}, r->all.ratio_to_raw});
      if (subject.aim && subject.aim->is_ratio) group.bars.back().aim = subject.aim->at_most;
    }
    first = false;
  }
  if (!group.bars.empty()) drawn.groups.push_back(std::move(group));
}

}  // namespace

std::string bench_of(std::string_view case_name) {
  if (find_case(case_name) != nullptr) return "core";
  if (find_graph_case(case_name) != nullptr) return "graph";
  if (const job_bench* const found = find_job_bench(case_name)) return std::string{found->name};
  return find_stencil_case(case_name) != nullptr ? "stencil" : "";
}

std::optional<page_section> aims_section(std::span<const row> rows) {
  page_section section;
  section.title = "Aims against rivals";
  section.words =
      "The rival's figure is of the same run, but where it says that it is quoted. What limits a miss is what the time "
      "goes into, as far as it is known.";
  section.table.header = {"what", "Situ", "against", "measured", "aim", "verdict", "limited by"};
  plot drawn{"aims.svg", "Measured over aimed at", "share of the aim (1 or less is met)", "", {}, {}};
  for (const rival_aim& aim : all_rival_aims()) {
    plot_group group{fmt::format("{}, {}{}{}", aim.case_name, aim.subject, aim.regime.empty() ? "" : ", ", aim.regime),
                     {}};
    add_aim(section, group, aim, rows);
    if (!group.bars.empty()) drawn.groups.push_back(std::move(group));
  }
  if (drawn.groups.empty()) return std::nullopt;
  section.plots.push_back(std::move(drawn));
  return section;
}

std::optional<page_section> core_section(std::span<const row> rows) {
  const auto subjects = subjects_in(rows, "core");
  if (subjects.empty()) return std::nullopt;
  const row* const switches = find_row(rows, "context_switch", "raw");
  const double switch_ns = switches == nullptr ? 0 : switch_cost(*switches);
  page_section section;
  section.title = "Core: one-sided access, messages, `at`, barriers";
  section.words =
      "x is the ratio to the case's raw counterpart in the same sample. Near and far are the two regimes of the "
      "machine, "
      "told apart by a raw ping-pong right before each sample.";
  section.table.header = {"case", "regime"};
  section.table.header.insert(section.table.header.end(), subjects.begin(), subjects.end());
  section.table.header.emplace_back("aim of Situ");
  for (const case_info& info : all_cases())
    for (const std::string_view regime : {"near", "far"})
      add_core_line(section, info, regime, subjects, rows, switch_ns);
  section.plots.push_back(core_plot(subjects, rows));
  return section;
}

std::vector<page_section> graph_sections(std::span<const row> rows) {
  std::vector<page_section> sections;
  for (graph_family& family : graph_families()) {
    std::erase_if(family.columns, [&](const graph_column& column) {
      return std::none_of(rows.begin(), rows.end(), [&](const row& r) {
        const graph_case* const found = find_graph_case(r.case_name);
        return found != nullptr && found->operation == column.operation && r.subject == column.subject;
      });
    });
    if (family.columns.empty()) continue;
    page_section section;
    section.title = family.title;
    section.words =
        "For one object, or one byte of `flat` and `primitives`; x is the ratio to the raw walk of the same graph (of "
        "these two: to memcpy) in the same sample, of `free` to the time until the graph is there.";
    section.table.header = {"form", "size"};
    for (const graph_column& column : family.columns) section.table.header.push_back(column.header);
    for (const graph_form& form : graph_forms()) {
      add_graph_lines(section, family, form, rows);
      if (plot drawn = graph_plot(family, form, rows); !drawn.curves.empty()) section.plots.push_back(std::move(drawn));
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

namespace {

page_section comparison_section(std::span<const comparison_case> cases, const std::string& plot_file,
                                std::span<const row> rows) {
  page_section section;
  section.table.header = {"case", "what", "subject", "time", "rate", "ratio", "to", "samples", "aim"};
  plot drawn{plot_file, "Time over that of the counterpart", "ratio to the counterpart (less is better)", "", {}, {}};
  for (const comparison_case& info : cases) add_comparison_lines(section, drawn, info, rows);
  if (!drawn.groups.empty()) section.plots.push_back(std::move(drawn));
  return section;
}

}  // namespace

std::optional<page_section> job_section(const job_bench& of, std::span<const row> rows) {
  if (subjects_in(rows, std::string{of.name}).empty()) return std::nullopt;
  page_section section = comparison_section(of.cases, std::string{of.name} + ".svg", rows);
  section.title = of.title;
  section.words = std::string{of.words} + " The ratio is to the counterpart in the same sample.";
  return section;
}

std::optional<page_section> stencil_section(std::span<const row> rows) {
  if (subjects_in(rows, "stencil").empty()) return std::nullopt;
  page_section section = comparison_section(all_stencil_cases(), "stencil.svg", rows);
  section.title = "Stencils";
  section.words =
      "GB/s is of memory, each field once for each loop that reads or writes it; where bytes are given, of the file. "
      "The ratio is to the counterpart in the same sample.";
  return section;
}

page_table terms_table(std::span<const row> rows) {
  page_table table{{"subject", "flags", "how it was built"}, {}};
  for (const row& r : rows) {
    if (r.terms.flags.empty() && r.terms.built.empty()) continue;
    const std::string bench = bench_of(r.case_name);
    // Programs built elsewhere differ from case to case; everything else is one program for all.
    const comparison_case* const found = find_stencil_case(r.case_name);
    const std::string where = found != nullptr && found->is_programs ? std::string{r.case_name} : bench;
    std::vector<std::string> line{fmt::format("{}: {}", where, r.subject),
                                  r.terms.flags.empty() ? "" : code(r.terms.flags), r.terms.built};
    if (std::find(table.rows.begin(), table.rows.end(), line) == table.rows.end())
      table.rows.push_back(std::move(line));
  }
  return table;
}

}  // namespace situ::bench
