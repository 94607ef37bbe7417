// What `situ bench memory` measures, and what Situ aims at. The program that takes the samples is
// bench/memory/spill.cpp.
#include "job_bench.h"

namespace situ::bench {

const job_bench& memory_bench() {
  using aim = comparison_aim;
  static const job_bench made{
      .name = "memory",
      .title = "Memory by intent",
      .words = "One place.",
      .help = "Pages along an ordering of memories, beside pages that the kernel places",
      .cases = {{"spill_small_pages",
                 "memory by intent, its pages existing, of 4 KiB: 256 MiB",
                 "4 KiB",
                 0,
                 {{"populate", "itself: memory without an intent, its pages made in calls"},
                  {"touch", "populate"},
                  {"situ_64k", "populate", aim{1.05}}}},
                {"spill_huge_pages",
                 "likewise, of 2 MiB",
                 "4 KiB",
                 0,
                 {{"huge_pages", "itself: memory without an intent, huge pages requested"},
                  {"situ", "huge_pages", aim{1.05}},
                  {"situ_over_two", "huge_pages", aim{1.05}}}},
                {"first_touch",
                 "memory by intent, each page made by who touches it: 256 MiB",
                 "4 KiB",
                 0,
                 {{"touch", "itself: memory without an intent, each page touched"},
                  {"situ_over_two", "touch", aim{1.3}},
                  {"situ_64k", "touch", aim{1.3}}}},
                {"small_blocks",
                 "64 bytes allocated and given back, an intent's arena warm",
                 "pair",
                 0,
                 {{"without_intent", "itself"},
                  {"situ", "without_intent"},
                  {"in_turns", "without_intent"},
                  {"above", "without_intent", aim{2, false}},
                  {"memkind", "without_intent"}}},
                {"where",
                 "situ::placement of 256 MiB",
                 "4 KiB",
                 0,
                 {{"move_pages", "itself: the system call"}, {"situ", "move_pages"}}}},
      .programs = {{.name = "situ_bench_memory",
                    .cases = {"spill_small_pages", "spill_huge_pages", "first_touch", "small_blocks", "where"},
                    .places = 1}},
      .subjects = {"touch", "populate", "huge_pages", "without_intent", "move_pages", "situ", "situ_over_two",
                   "situ_64k", "in_turns", "above", "memkind"}};
  return made;
}

}  // namespace situ::bench
