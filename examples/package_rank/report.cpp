#include "report.h"

#include "base/json.h"

#include <situ/base/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace package_rank {
namespace {

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string seconds(double s) { return situ::format_nanoseconds(s * 1e9); }

// Terminal columns of UTF-8 text without wide characters: every byte but those that continue a character.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Rows of cells under a heading, each column as wide as it must be; the columns named in `left` start at the left.
class text_table {
 public:
  text_table(std::vector<std::string> heading, std::vector<bool> left)
      : rows_{std::move(heading)}, left_{std::move(left)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths(left_.size());
    for (const auto& row : rows_)
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
    std::string result;
    for (const auto& row : rows_) {
      std::string line = " ";
      for (std::size_t c = 0; c < row.size(); ++c) {
        const std::string padding(widths[c] - width(row[c]), ' ');
        line += " " + (left_[c] ? row[c] + padding : padding + row[c]) + " ";
      }
      line.erase(line.find_last_not_of(' ') + 1);
      result += line + "\n";
    }
    return result;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> left_;
};

std::string opening(const report& r) {
  std::string text = fmt::format("{} packages and {} dependencies from {}, over {} place{}\n", grouped(r.packages),
                                 grouped(r.edges), r.source, r.parts.size(), r.parts.size() == 1 ? "" : "s");
  text += fmt::format("  {} virtual names resolved to their providers; {} names that nobody provides\n",
                      grouped(r.virtual_names), grouped(r.unknown_names));
  if (r.from_status) {
    text += fmt::format("  {} packages are installed here, {} of them asked for or essential", grouped(r.installed),
                        grouped(r.roots));
    if (r.not_listed != 0) text += fmt::format("; {} not in the list", grouped(r.not_listed));
    text += "\n";
  }
  return text;
}

std::string parts_table(const report& r) {
  text_table table{{"place", "packages", "edges", "ghosts", "range"}, {false, false, false, false, true}};
  for (std::size_t p = 0; p < r.parts.size(); ++p) {
    const report::part& part = r.parts[p];
    table.add({std::to_string(p), grouped(part.packages), grouped(part.edges), grouped(part.ghosts),
               part.packages == 0 ? "(empty)" : fmt::format("{} .. {}", part.first, part.last)});
  }
  return "\nPartition: ranges of names, balanced by edges\n" + table.text();
}

std::string top_table(const report& r) {
  text_table table{{"", "package", "rank", "needed by"}, {false, true, false, false}};
  for (std::size_t i = 0; i < r.top.size(); ++i)
    table.add(
        {std::to_string(i + 1), r.top[i].package, fmt::format("{:.6f}", r.top[i].rank), grouped(r.top[i].needed_by)});
  return fmt::format("\nTop {} by PageRank ({} iterations, last change {:.1e}{})\n", r.top.size(), r.ranking.iterations,
                     r.ranking.residual, r.ranking.converged(r.options) ? "" : ", NOT converged") +
         table.text();
}

std::string reason_text(const report& r, const report::reason& why) {
  std::string text = fmt::format("\nWhy is {} installed?\n", why.package);
  if (!why.is_usable) return text + "  It is not.\n";
  if (why.is_root) text += r.from_status ? "  It was asked for, or is essential.\n" : "  It is a root itself.\n";
  if (why.chain.empty()) {
    if (!why.is_root)
      text +=
          r.from_status ? "  No installed package that was asked for needs it any more.\n" : "  No root needs it.\n";
    if (r.not_listed != 0)
      text += fmt::format("  ({} installed packages are not in the list; what they need is not known.)\n",
                          grouped(r.not_listed));
    return text;
  }
  text += fmt::format("  {}{}\n", why.chain.front(), r.from_status ? "  (asked for, or essential)" : "  (root)");
  for (std::size_t i = 1; i < why.chain.size(); ++i)
    text += fmt::format("  {}└ needs {}\n", std::string(2 * (i - 1), ' '), why.chain[i]);
  return text;
}

std::string phases_table(const report& r) {
  text_table table{{"phase", "time", "bytes", "messages", "how"}, {true, false, false, false, true}};
  double total = 0;
  for (const report::phase& phase : r.phases) {
    total += phase.seconds;
    table.add({phase.name, seconds(phase.seconds), phase.moved ? situ::format_bytes(phase.moved->bytes) : "",
               phase.moved ? grouped(phase.moved->messages) : "", phase.how});
  }
  table.add({"total", seconds(total), "", "", ""});
  return "\nTime, and what moved between places\n" + table.text();
}

std::string pairs_table(const report& r) {
  constexpr std::uint32_t widest = 12;  // columns that fit a terminal
  const std::uint32_t places = r.moved.places;
  if (places == 1) return "\nOne place: nothing moved between places.\n";
  std::string text =
      "\nBytes (messages) from each place, down, to each place, across; `situ run --stats` adds what the runtime "
      "itself sends\n";
  std::vector<std::string> heading{"from"};
  const std::uint32_t columns = places <= widest ? places : 0;
  for (std::uint32_t to = 0; to < columns; ++to) heading.push_back(fmt::format("to {}", to));
  heading.push_back("to all");
  text_table table{heading, std::vector<bool>(heading.size(), false)};
  const auto cell = [](const flow& f) {
    return f.bytes == 0 && f.messages == 0 ? std::string{"-"}
                                           : fmt::format("{} ({})", situ::format_bytes(f.bytes), f.messages);
  };
  for (std::uint32_t from = 0; from < places; ++from) {
    std::vector<std::string> row{std::to_string(from)};
    flow all;
    for (std::uint32_t to = 0; to < places; ++to) {
      all += r.moved.at(from, to);
      if (to < columns) row.push_back(cell(r.moved.at(from, to)));
    }
    row.push_back(cell(all));
    table.add(std::move(row));
  }
  return text + table.text();
}

std::string check_text(const report& r) {
  if (!r.checked) return "";
  const report::check& c = *r.checked;
  return fmt::format(
      "\nCheck: {}. Largest difference from the sequential ranks {:.1e} (relative {:.1e}); {}.\n"
      "  The sequential reference took {} and {} iterations for the ranks at one place.\n",
      c.passed ? "passed" : "FAILED", c.largest_difference, c.largest_relative_difference,
      c.chains_agree ? "the chains are the same" : "the CHAINS DIFFER", seconds(c.seconds), c.iterations);
}

}  // namespace

std::string to_text(const report& r) {
  std::string text = opening(r) + parts_table(r) + top_table(r);
  for (const report::reason& why : r.reasons) text += reason_text(r, why);
  return text + phases_table(r) + pairs_table(r) + check_text(r);
}

std::string to_json(const report& r) {
  using situ::detail::json;
  json j{{"source", r.source},
         {"packages", r.packages},
         {"edges", r.edges},
         {"virtual_names", r.virtual_names},
         {"unknown_names", r.unknown_names},
         {"iterations", r.ranking.iterations},
         {"residual", r.ranking.residual},
         {"converged", r.ranking.converged(r.options)}};
  if (r.from_status) j.set("installed", {{"packages", r.installed}, {"roots", r.roots}, {"not_listed", r.not_listed}});
  json parts = json::array(), top = json::array(), why = json::array(), phases = json::array();
  for (const auto& p : r.parts)
    parts.push(
        {{"packages", p.packages}, {"edges", p.edges}, {"ghosts", p.ghosts}, {"first", p.first}, {"last", p.last}});
  for (const auto& e : r.top) top.push({{"package", e.package}, {"rank", e.rank}, {"needed_by", e.needed_by}});
  for (const auto& w : r.reasons)
    why.push({{"package", w.package}, {"installed", w.is_usable}, {"root", w.is_root}, {"chain", w.chain}});
  for (const auto& p : r.phases) {
    json row{{"phase", p.name}, {"seconds", p.seconds}};
    if (p.moved) {
      row.set("bytes", p.moved->bytes);
      row.set("messages", p.moved->messages);
    }
    phases.push(std::move(row));
  }
  json bytes = json::array(), messages = json::array();
  for (std::uint32_t from = 0; from < r.moved.places; ++from) {
    json byte_row = json::array(), message_row = json::array();
    for (std::uint32_t to = 0; to < r.moved.places; ++to) {
      byte_row.push(r.moved.at(from, to).bytes);
      message_row.push(r.moved.at(from, to).messages);
    }
    bytes.push(std::move(byte_row));
    messages.push(std::move(message_row));
  }
  j.set("places", std::move(parts));
  j.set("top", std::move(top));
  j.set("why", std::move(why));
  j.set("phases", std::move(phases));
  j.set("traffic", {{"bytes", std::move(bytes)}, {"messages", std::move(messages)}});
  if (r.checked)
    j.set("check", {{"passed", r.checked->passed},
                    {"largest_difference", r.checked->largest_difference},
                    {"largest_relative_difference", r.checked->largest_relative_difference},
                    {"chains_agree", r.checked->chains_agree},
                    {"reference_iterations", r.checked->iterations},
                    {"reference_seconds", r.checked->seconds}});
  return j.text(2) + "\n";
}

}  // namespace package_rank
