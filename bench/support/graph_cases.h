// The cases of `situ bench graph`: which graphs, of which sizes, what is done with them, and what Situ aims at.
//
// A case is OPERATION_FORM_SIZE: clone; ship_TRANSFER, from one place to another; free_TRANSFER, what of that the
// caller's processor does.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results.h"

namespace situ::bench {

struct graph_operation {
  std::string_view name;
  std::string_view words;
  std::vector<std::string_view> subjects;  // in the order in which they are printed
  int places = 1;
  std::vector<std::string_view> cases;  // FORM_SIZE; empty: all
};
[[nodiscard]] std::span<const graph_operation> graph_operations();

struct graph_form {
  std::string_view name;
  std::string_view words;
  std::string_view unit;   // what a figure is for one of
  double bytes_each;       // of the graph, for each of these
  bool is_recursion_deep;  // as deep as there are objects, for whoever follows pointers by recursion
};
[[nodiscard]] std::span<const graph_form> graph_forms();

// What Situ aims at: nanoseconds, or a ratio to the raw counterpart of the same sample.
struct graph_aim {
  double at_most;
  bool is_ratio;
};

struct graph_case {
  std::string name;
  const graph_operation* operation;
  const graph_form* form;
  std::size_t size;  // objects; bytes of flat; doubles of primitives
  std::optional<graph_aim> aim;
};

// In the order in which they are printed.
[[nodiscard]] const std::vector<graph_case>& all_graph_cases();
[[nodiscard]] const graph_case* find_graph_case(std::string_view name);
// Whether the subject can do the case in reasonable time and memory.
[[nodiscard]] bool measures_graph(std::string_view subject, const graph_case& info);

// The table that `situ bench graph` prints.
[[nodiscard]] std::string to_graph_table(std::span<const row> rows, const provenance& from);

}  // namespace situ::bench
