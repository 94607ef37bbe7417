// The driver of `situ bench graph`: which subject runs which cases, how long, and in what order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph_cases.h"

namespace situ::bench {

struct graph_options {
  std::vector<std::string> cases;     // names, or beginnings of names; empty: all
  std::vector<std::string> subjects;  // empty: all
  double seconds = 60;                // of samples, over all runs; making graphs and the first copy of each come on top
  bool quick = false;  // one round, graphs of up to 1e4 objects, 2 seconds unless `seconds` says otherwise
  bool may_install = true;
  std::string json_file;  // empty: none
};

struct planned_graph_run {
  std::string subject;
  int places;
  std::vector<std::string> cases;
  double seconds;
};

// Rounds over the subjects; graphs above 1e5 objects take part in the first only.
[[nodiscard]] std::vector<planned_graph_run> plan_graph(const graph_options& options,
                                                        std::span<const std::string> subjects);

// As run_core_bench().
int run_graph_bench(const graph_options& options);

}  // namespace situ::bench
