// What `situ bench pim` measures, and what Situ aims at. The programs that take the samples are in bench/pim.
#include "job_bench.h"

#include <array>

namespace situ::bench {
namespace {

using aim = comparison_aim;

std::vector<comparison_subject> beside_malloc(aim of_bmem, bool has_paper = true) {
  std::vector<comparison_subject> subjects{
      {"malloc", "itself: glibc's"},
      {"bmem", "malloc", of_bmem},
      {.name = "jemalloc", .counterpart = "malloc", .packages = "libjemalloc2"},
      {.name = "mimalloc", .counterpart = "malloc", .packages = "libmimalloc2.0"},
      {.name = "tcmalloc", .counterpart = "malloc", .packages = "libtcmalloc-minimal4"}};
  if (has_paper) subjects.push_back({"paper", "malloc"});
  return subjects;
}

comparison_case pair(std::string_view name, std::string_view words, double at_most = 1.2) {
  return {name, words, "pair", 0, beside_malloc(aim{at_most})};
}
comparison_case threads(std::string_view name, std::string_view words) {
  return {name,
          words,
          "pair",
          0,
          {{"one", "itself: one thread"}, {"two", "one", aim{1 / 1.9}}, {"eight", "one", aim{1 / 1.85}}}};
}
comparison_case simulated(std::string_view name, std::string_view words, double millions) {
  return {name,
          words,
          "element",
          0,
          {{"host", "itself: the host's own loop"}, {"one", "host", aim{1e3 / millions, false}}, {"two", "host"}}};
}
comparison_case on_two(std::string_view name, std::string_view words) {
  return {name, words, "element", 0, {{"one", "itself: one thread"}, {"two", "one", aim{1 / 1.8}}}};
}

std::vector<comparison_case> all_pim_cases() {
  return {{"full_horizontal", "1,024 x 1 MiB fill the device, in a fresh process", "allocation", 0,
           beside_malloc(aim{0.1})},
          {"full_horizontal_reused", "the same on a heap that had them before", "allocation", 0,
           beside_malloc(aim{2.5}, false)},
          {"full_vertical", "128 x a subarray fill the device, in a fresh process", "allocation", 0,
           beside_malloc(aim{0.1})},
          {"full_vertical_reused", "the same on a heap that had them before", "allocation", 0,
           beside_malloc(aim{2.5}, false)},
          pair("pair_h_8", "malloc-test, 8 bytes, horizontal, one thread"),
          pair("pair_h_64", "likewise, 64 bytes"),
          pair("pair_h_128", "likewise, 128 bytes"),
          pair("pair_h_512", "likewise, 512 bytes"),
          pair("pair_h_1024", "likewise, 1 KiB"),
          pair("pair_h_4096", "likewise, 4 KiB", 1),
          pair("pair_v_8", "malloc-test, columns of 8 bytes (64 rows), one thread"),
          pair("pair_v_16", "likewise, 16 bytes"),
          pair("pair_v_32", "likewise, 32 bytes"),
          pair("pair_v_64", "likewise, 64 bytes"),
          pair("pair_v_128", "likewise, 128 bytes, a whole subarray"),
          threads("threads_h_8", "malloc-test, 8 bytes, horizontal: all threads together"),
          threads("threads_h_64", "likewise, 64 bytes"),
          threads("threads_h_128", "likewise, 128 bytes"),
          threads("threads_h_512", "likewise, 512 bytes"),
          threads("threads_h_1024", "likewise, 1 KiB"),
          threads("threads_h_4096", "likewise, 4 KiB"),
          threads("threads_v_8", "malloc-test, columns of 8 bytes: all threads together"),
          threads("threads_v_16", "likewise, 16 bytes"),
          threads("threads_v_32", "likewise, 32 bytes"),
          threads("threads_v_64", "likewise, 64 bytes"),
          threads("threads_v_128", "likewise, 128 bytes"),
          {"mixed_allocate", "blocks of mixed shapes, 80 % of the device live: allocated", "allocation", 0,
           beside_malloc(aim{2000, false})},
          {"mixed_free", "the same, freed", "free", 0, beside_malloc(aim{2000, false})},
          simulated("simulate_add", "int32 added by row commands (bitsimd), 8 M elements", 600),
          simulated("simulate_multiply", "multiplied", 70),
          simulated("simulate_less", "compared", 800),
          simulated("simulate_simdram_add", "added by triple activations (simdram)", 400),
          on_two("simulate_add_threads", "int32 added (bitsimd), 8 M elements, two threads"),
          on_two("simulate_multiply_threads", "multiplied"),
          on_two("simulate_less_threads", "compared"),
          on_two("simulate_simdram_add_threads", "added (simdram)")};
}

std::vector<std::string_view> names_of(const std::vector<comparison_case>& cases) {
  std::vector<std::string_view> names;
  for (const comparison_case& each : cases) names.push_back(each.name);
  return names;
}

}  // namespace

const job_bench& pim_bench() {
  static const std::vector<comparison_case> cases = all_pim_cases();
  static const job_bench made{
      .name = "pim",
      .title = "Memory that computes",
      .words =
          "Each allocator in processes of its own, in turns; `paper` is the algorithm of the paper with exact vectors. "
          "malloc's blocks have as many bytes, and nobody touches them. Simulated elements are those of one operation, "
          "each command carried out on all columns; data in DRAM.",
      .help = "Bit-contiguous allocation beside malloc, and the simulation of memory that computes",
      .cases = cases,
      .programs = {{.name = "situ_bench_pim", .cases = names_of(cases), .places = 1}},
      .subjects = {"malloc", "host", "one", "bmem", "two", "eight", "jemalloc", "mimalloc", "tcmalloc", "paper"}};
  return made;
}

}  // namespace situ::bench
