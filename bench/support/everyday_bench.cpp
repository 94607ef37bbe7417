#include "everyday_bench.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "conditions.h"
#include "report.h"
#include "rivals.h"
#include "subject_run.h"

namespace situ::bench {
namespace {

// Which program takes a case's samples.
struct everyday_program {
  const char* name;
  std::vector<std::string_view> cases;
};
const std::vector<everyday_program>& programs() {
  static const std::vector<everyday_program> all{
      {"situ_bench_values", {"at_struct", "map_to_other", "include_situ"}},
      {"situ_bench_waiting", {"wait_awake", "wait_asleep", "puts_successive", "puts_random"}},
      {"situ_bench_spread",
       {"gups", "map_insert", "map_find", "array_ghost_rows", "array_ghosts", "array_walk", "array_jacobi", "sort",
        "uts"}},
      {"situ_bench_guide",
       {"guide_hash_join", "guide_sample_sort", "guide_jacobi", "guide_tree_search", "guide_pipeline",
        "guide_object_graph"}},
  };
  return all;
}

// In the order in which they are printed.
const std::vector<std::string> subject_order{"by_hand",
                                             "vector_char",
                                             "cereal_map",
                                             "raw",
                                             "futex",
                                             "local_atomics",
                                             "absl_flat_hash_map",
                                             "std_unordered_map",
                                             "std_sort",
                                             "memcpy",
                                             "memcpy_and_two_barriers",
                                             "plain_loop",
                                             "for_each_local",
                                             "views",
                                             "sequential",
                                             "standard_headers",
                                             "situ",
                                             "above",
                                             "precompiled",
                                             "put_async",
                                             "batch",
                                             "one_by_one",
                                             "one_by_one_by_all",
                                             "aggregated_by_all",
                                             "situ_in_batches",
                                             "situ_in_batches_by_one",
                                             "situ_by_calls"};

std::vector<requested_run> plan_everyday(const everyday_options& options) {
  std::vector<requested_run> runs;
  for (const everyday_program& program : programs()) {
    subject_request request;
    for (const std::string_view name : program.cases)
      if (is_named(*find_everyday_case(name), options.cases)) request.cases.emplace_back(name);
    if (request.cases.empty()) continue;
    const std::string situ = find_subject_program("situ").value().string();
    const std::string subject = find_subject_program(program.name).value().string();
    if (std::string_view{program.name} == "situ_bench_guide")  // it starts jobs itself
      request.command = {subject, situ};
    else
      request.command = {situ, "run", "-n", "2", "--bind", "core", subject};
    request.environment = {{"SITU_BENCH_QUICK", options.quick ? "1" : "0"}};
    request.timeout = std::chrono::seconds{600};
    runs.push_back({"situ", program.name, std::move(request)});
  }
  return runs;
}

}  // namespace

std::span<const comparison_case> all_everyday_cases() {
  using aim = comparison_aim;
  static const std::vector<comparison_case> cases{
      {"at_struct",
       "`at` with a struct of a string of 30 and a vector of 100 ints",
       "call",
       0,
       {{"vector_char", "itself: the same bytes"}, {"situ", "vector_char", aim{1.3}}}},
      {"map_to_other",
       "`at` with a map<string, vector<int>> of 1e5 entries",
       "map",
       0,
       {{"by_hand", "itself: written into a vector<char>, and read back"},
        {"cereal_map", "by_hand"},
        {"situ", "the faster of these", aim{0.7}}}},
      {"wait_awake",
       "wait_until woken by a put, both places awake",
       "round trip",
       0,
       {{"raw", "itself: ping-pong"}, {"situ", "raw", aim{1.5}}}},
      {"wait_asleep",
       "the same, the other place asleep",
       "round trip",
       0,
       {{"futex", "itself"}, {"situ", "futex", aim{1.2}}}},
      {"puts_successive",
       "1e6 asynchronous puts of 8 bytes, completed together, to successive addresses",
       "put",
       0,
       {{"raw", "itself: stores"}, {"put_async", "raw"}, {"batch", "raw", aim{3, false}}}},
      {"puts_random",
       "the same to random addresses",
       "put",
       0,
       {{"raw", "itself: stores"}, {"put_async", "raw"}, {"batch", "raw", aim{1.3}}}},
      {"gups",
       "random updates of a table of 1 GiB",
       "update",
       0,
       {{"local_atomics", "itself: one place"},
        {"one_by_one", "local_atomics", aim{1.2}},
        {"one_by_one_by_all", "local_atomics"},
        {"aggregated_by_all", "local_atomics", aim{0.5}}}},
      {"map_insert",
       "distributed_map, string keys, Zipf 0.99, 1e6 inserts from both places",
       "insert",
       0,
       {{"absl_flat_hash_map", "itself: one place"},
        {"std_unordered_map", "the first of these"},
        {"situ", "the first of these", aim{1.0}}}},
      {"map_find",
       "the same, 1e6 finds",
       "find",
       0,
       {{"absl_flat_hash_map", "itself: one place"},
        {"std_unordered_map", "the first of these"},
        {"situ", "the first of these", aim{1.0}},
        {"situ_in_batches", "the first of these"},
        {"situ_in_batches_by_one", "the first of these"},
        {"situ_by_calls", "the first of these"}}},
      {"array_ghost_rows",
       "ghost zones of a distributed_array of 2048 x 2048 doubles, cut by rows",
       "exchange",
       0,
       {{"memcpy", "itself: of as many bytes"}, {"memcpy_and_two_barriers", "memcpy"}, {"situ", "memcpy"}}},
      {"array_ghosts",
       "the same, cut by rows and columns",
       "exchange",
       0,
       {{"memcpy", "itself: of as many bytes"}, {"memcpy_and_two_barriers", "memcpy"}, {"situ", "memcpy"}}},
      {"array_walk",
       "a loop over a place's own elements of it",
       "element",
       0,
       {{"plain_loop", "itself"}, {"for_each_local", "plain_loop"}}},
      {"array_jacobi",
       "a sweep of Jacobi's iteration over it",
       "element",
       0,
       {{"plain_loop", "itself"}, {"views", "plain_loop"}}},
      {"sort",
       "2e7 integers, two places",
       "integer",
       0,
       {{"std_sort", "itself: one place"}, {"situ", "std_sort", aim{1 / 1.8}}}},
      {"uts",
       "an unbalanced tree of 1e7 nodes, two places",
       "node",
       0,
       {{"sequential", "itself: one place"}, {"situ", "sequential", aim{1 / 1.9}}}},
      {"guide_hash_join",
       "the guide's program, from its start to its end: customers joined with orders, 2e6 of each place",
       "run",
       0,
       {{"by_hand", "itself: with the foundation alone"}, {"situ", "by_hand", aim{1.0}}}},
      {"guide_sample_sort",
       "the same: 4e6 numbers of each place sorted",
       "run",
       0,
       {{"by_hand", "itself: with the foundation alone"}, {"situ", "by_hand", aim{1.0}}}},
      {"guide_jacobi",
       "the same: 1000 steps of Jacobi's iteration on 1024 x 1024 points",
       "run",
       0,
       {{"by_hand", "itself: with the foundation alone"}, {"situ", "by_hand", aim{1.0}}}},
      {"guide_tree_search",
       "the same: 15 queens",
       "run",
       0,
       {{"by_hand", "itself: with the foundation alone"}, {"situ", "by_hand", aim{1.0}}}},
      {"guide_pipeline",
       "the same: 3e5 items through two stages",
       "run",
       0,
       {{"by_hand", "itself: with the foundation alone"}, {"situ", "by_hand", aim{1.0}}}},
      {"guide_object_graph",
       "the same: a tree of 5e5 nodes to both places and back",
       "run",
       0,
       {{"by_hand", "itself: with the foundation alone"}, {"situ", "by_hand", aim{1.0}}}},
      {"include_situ",
       "compiling a file that includes situ.h",
       "file",
       0,
       {{"standard_headers", "itself: those that situ.h needs, alone"},
        {"situ", "standard_headers"},
        {"above", "standard_headers", aim{1e8, false}},
        {"precompiled", "standard_headers"}}},
  };
  return cases;
}

const comparison_case* find_everyday_case(std::string_view name) { return find_comparison(all_everyday_cases(), name); }

std::string to_everyday_table(std::span<const row> rows, const provenance& from) {
  return to_comparison_table(all_everyday_cases(), rows, from, "Two places, a processor each.");
}

int run_everyday_bench(const everyday_options& options) {
  check_comparison_names(all_everyday_cases(), options.cases, "everyday");
  bench everyday{.subjects = subject_order,
                 .own_program = [](const std::string&) { return "situ_bench_values"; },
                 .may_install = false,
                 .is_quick = options.quick,
                 .json_file = options.json_file};
  everyday.plan = [&](const std::vector<std::string>&, const std::filesystem::path&) { return plan_everyday(options); };
  everyday.position = [](std::string_view name) -> std::optional<std::size_t> {
    const comparison_case* const found = find_everyday_case(name);
    return found == nullptr ? std::nullopt : std::optional<std::size_t>{found - all_everyday_cases().data()};
  };
  everyday.table = to_everyday_table;
  return run_bench(everyday);
}

}  // namespace situ::bench
