#include "graph_cases.h"

#include <fmt/format.h>

#include <algorithm>

#include "report.h"

namespace situ::bench {
namespace {

constexpr graph_form forms[] = {
    {"dlist", "doubly linked list, in order", "object", 24, true},
    {"dlist_shuffled", "doubly linked list, shuffled in memory", "object", 24, true},
    {"ptr_array", "array of pointers to one-word objects", "object", 16, false},
    {"tree", "complete binary tree", "object", 24, false},
    {"random4", "random graph, four pointers a node", "object", 40, true},
    {"flat", "one large flat object", "byte", 1, false},
    {"primitives", "array of doubles", "byte", 1, false},
};

struct size_name {
  std::string_view name;
  std::size_t size;
};
constexpr size_name sizes[] = {{"1e2", 100},     {"1e3", 1'000},     {"1e4", 10'000},
                               {"1e5", 100'000}, {"1e6", 1'000'000}, {"1e7", 10'000'000}};

// A rate of 0.9 of memcpy is a time of 1 / 0.9.
struct named_aim {
  std::string_view case_name;
  graph_aim aim;
};
constexpr named_aim aims[] = {
    {"clone_dlist_1e2", {5, false}},
    {"clone_dlist_1e4", {6, false}},
    {"clone_dlist_1e6", {15, false}},
    {"clone_dlist_shuffled_1e6", {1.5, true}},
    {"clone_primitives_1e6", {1 / 0.9, true}},
    // `at` with a list of 100 or 1000 nodes, there: 900 and 4000 ns.
    {"ship_auto_dlist_1e2", {9, false}},
    {"ship_auto_dlist_1e3", {4, false}},
    {"ship_message_dlist_1e6", {30, false}},
};

// Beyond this, a library that follows a list by recursion needs more than 16 GiB of stack.
constexpr std::size_t deepest_recursion = 1'000'000;

std::string figure_text(const figures& f, std::string_view unit) {
  return fmt::format("{:>9.4g} ns/{} ({:.4g}..{:.4g})", f.ns.median, unit, f.ns.p10, f.ns.p90);
}

}  // namespace

std::span<const graph_operation> graph_operations() {
  static const std::vector<graph_operation> operations{
      {"clone", "a copy within the place", {"raw_walk", "memcpy", "situ", "map_clone", "boost", "cereal"}},
      {"ship_auto", "at() with the graph, as it goes by itself", {"situ"}, 2, {"dlist_1e2", "dlist_1e3", "dlist_1e4"}},
      {"ship_message", "the same by message: checked bytes", {"situ"}, 2},
      {"ship_pull", "the same by pull: the receiver copies", {"situ"}, 2},
      {"ship_offload", "the same by offload: an agent copies", {"situ"}, 2},
      {"free_message",
       "the caller's processor time for that; x: of the time until the graph is there",
       {"situ"},
       2,
       {"dlist_1e2", "dlist_1e4", "dlist_1e6"}},
      {"free_pull", "likewise", {"situ"}, 2, {"dlist_1e2", "dlist_1e4", "dlist_1e6"}},
      {"free_offload", "likewise", {"situ"}, 2, {"dlist_1e2", "dlist_1e4", "dlist_1e6"}},
  };
  return operations;
}

std::span<const graph_form> graph_forms() { return forms; }

const std::vector<graph_case>& all_graph_cases() {
  static const std::vector<graph_case> cases = [] {
    std::vector<graph_case> all;
    for (const graph_operation& operation : graph_operations())
      for (const graph_form& form : forms)
        for (const size_name& size : sizes) {
          const std::string form_and_size = fmt::format("{}_{}", form.name, size.name);
          if (!operation.cases.empty() &&
              std::find(operation.cases.begin(), operation.cases.end(), form_and_size) == operation.cases.end())
            continue;
          graph_case one{fmt::format("{}_{}_{}", operation.name, form.name, size.name), &operation, &form, size.size,
                         std::nullopt};
          const auto* const found = std::find_if(std::begin(aims), std::end(aims),
                                                 [&](const named_aim& each) { return each.case_name == one.name; });
          if (found != std::end(aims)) one.aim = found->aim;
          all.push_back(std::move(one));
        }
    return all;
  }();
  return cases;
}

const graph_case* find_graph_case(std::string_view name) {
  const auto& cases = all_graph_cases();
  const auto found =
      std::find_if(cases.begin(), cases.end(), [&](const graph_case& each) { return each.name == name; });
  return found == cases.end() ? nullptr : &*found;
}

bool measures_graph(std::string_view subject, const graph_case& info) {
  const auto& subjects = info.operation->subjects;
  if (std::find(subjects.begin(), subjects.end(), subject) == subjects.end()) return false;
  const bool recurses = subject == "boost" || subject == "cereal";
  return !recurses || !info.form->is_recursion_deep || info.size <= deepest_recursion;
}

std::string to_graph_table(std::span<const row> rows, const provenance& from) {
  std::string text = fmt::format("{}; commit {}, {} build\n", from.machine, from.commit, from.build);
  text +=
      "Median (p10..p90) for one object or byte; x: the ratio to the raw walk of the same graph in the same sample (of "
      "flat and primitives: to memcpy).\n\n";
  for (const graph_case& info : all_graph_cases()) {
    bool first = true;
    for (const row& r : rows) {
      if (r.case_name != info.name) continue;
      std::string verdict;
      if (r.subject == "situ" && info.aim) {
        const double value = info.aim->is_ratio ? r.all.ratio_to_raw : r.all.ns.median;
        verdict = fmt::format("aim <= {:.3g} {}: {}", info.aim->at_most, info.aim->is_ratio ? "x" : "ns",
                              value <= info.aim->at_most ? "met" : "MISSED");
      }
      text += fmt::format("{:<26} {:<10} {:<44} {:>8.3g} x  {:>7.3g} GB/s  n={:<4} {}\n", first ? info.name : "",
                          r.subject, figure_text(r.all, info.form->unit), r.all.ratio_to_raw,
                          info.form->bytes_each / r.all.ns.median, r.all.samples, verdict);
      first = false;
    }
  }
  return text;
}

}  // namespace situ::bench
