#include "aims.h"

#include "cases.h"
#include "report.h"
#include "stencil_bench.h"

#include <fmt/format.h>

#include <algorithm>

namespace situ::bench {
namespace {

using enum aim_base;

constexpr std::string_view with_programs = "`situ bench stencil --programs FOLDER`";

constexpr rival_aim table[] = {
    {"the tile chosen by itself, its trials included, against the best of a sweep by hand, 2-D", "tile_choice_2d",
     "tiled", counterpart, 1.05},
    {"the same, 3-D", "tile_choice_3d", "tiled", counterpart, 1.05},
    {"CloverLeaf 2D 3840 x 3840, tiled, against OPS tiled and mended at its best cache size",
     "cloverleaf_3840",
     "tiled_mended",
     counterpart,
     0.75,
     {},
     0,
     {},
     {},
     with_programs},
    {"CloverLeaf 3D 192 x 192 x 192, tiled, against the same",
     "cloverleaf_192",
     "tiled_mended",
     counterpart,
     0.80,
     {},
     0,
     {},
     {},
     with_programs},
    {"CloverLeaf 2D, plain, against OPS plain",
     "cloverleaf_3840",
     "plain",
     counterpart,
     1.0,
     {},
     0,
     {},
     {},
     with_programs},
    {"CloverLeaf 3D, plain, against OPS plain",
     "cloverleaf_192",
     "plain",
     counterpart,
     1.0,
     {},
     0,
     {},
     {},
     with_programs},
    {"CloverLeaf 2D, tiled: the tile chosen by itself against the best of a sweep by hand, from the tenth step on",
     "cloverleaf_3840",
     "tiled_chosen",
     counterpart,
     1.05,
     {},
     0,
     {},
     {},
     with_programs},
    {"CloverLeaf 3D, the same", "cloverleaf_192", "tiled_chosen", counterpart, 1.05, {}, 0, {}, {}, with_programs},
    {"CloverLeaf 2D, plain, against bytes over the bandwidth of each loop's mix of reads and writes",
     "cloverleaf_3840",
     "plain_bytes",
     counterpart,
     1.1,
     {},
     0,
     {},
     {},
     with_programs},
    {"CloverLeaf 3D, the same", "cloverleaf_192", "plain_bytes", counterpart, 1.1, {}, 0, {}, {}, with_programs},
    {"each kernel of CloverLeaf 2D, one thread, data in the second-level cache, against the larger of what its "
     "operations and its bytes take: half of them",
     "cloverleaf_kernels",
     "half",
     counterpart,
     1.5,
     {},
     0,
     {},
     {},
     with_programs},
    {"the same: the worst", "cloverleaf_kernels", "worst", counterpart, 3, {}, 0, {}, {}, with_programs},
    {"heat of 7 points, 384 x 384 x 384, single precision, 2 threads, tiled: 1.7 times Devito's rate", "devito_heat",
     "tiled", counterpart, 1 / 1.7},
    {"acoustic wave of order 8, likewise: 1.4 times Devito's rate", "devito_wave", "tiled", counterpart, 1 / 1.4},
    {"Euler 2-D out of core, one step a chain, against the larger of file and computing", "euler", "out_of_core",
     counterpart, 1.2},
    {"mb_shsgc, against OPS", "mb_shsgc", "plain", counterpart, 1.0, {}, 0, {}, {}, with_programs},
    {"`clone` of a list of 1e7 objects in order, an object", "clone_dlist_1e7", "situ", nanoseconds, 6},
    {"the same to another place by message", "ship_message_dlist_1e7", "situ", nanoseconds, 15},
    {"put of 1 MiB, against the fastest rival", "put_1m", "situ", fastest, 1.03, "openmpi,oshmem,gasnetex"},
    {"get of 1 MiB, against the fastest rival", "get_1m", "situ", fastest, 1.03, "openmpi,oshmem,gasnetex"},
    {"`at` with 1000 doubles, near, against GASNet-EX's long message", "at_1000_doubles", "situ", fastest, 1.1,
     "gasnetex", 313, "GASNet-EX", "near"},
    {"the same, far", "at_1000_doubles", "situ", fastest, 1.1, "gasnetex", 1117, "GASNet-EX", "far"},
    {"`at` with a list of 100 nodes, a node, against UPC++ with serialization by hand", "ship_auto_dlist_1e2", "situ",
     fastest, 0.9, "upcxx", 4.33, "UPC++", "near"},
    {"the same with 1000 nodes", "ship_auto_dlist_1e3", "situ", fastest, 0.9, "upcxx", 2.119, "UPC++", "near"},
    {"blocking `at` beside two programs that never yield, against a round trip by futex beside them", "at_beside_load",
     "situ", counterpart, 1.5},
};

// By the beginning of the case's name and, where it is not empty, the subject. The first that fits counts.
struct limit {
  std::string_view case_begin;
  std::string_view subject;
  std::string_view words;
};
constexpr limit limits[] = {
    {"read_at_random", "situ",
     "probably the entry of a reference, a second miss of the near caches: the table has 8 MB"},
    {"read_chain_sorted", "situ", "two loads in near caches, one after the other: the entry, then the object"},
    {"allocate_young", "situ",
     "probably the entry: 8 bytes more to store and, in a collection, to load and clear; collections are in the time"},
    {"allocate_fresh", "situ", "probably the entry: 8 bytes more to store"},
    {"store_while_moving", "moving",
     "a copy lies in the mover's cache, so the writer misses its entry and its object once for each move; where other "
     "objects move, that is absent"},
    {"vm_sieve", "situ",
     "0.85 to 1.06 x by the build, probably the place of the loop's code; each element is found through an entry"},
    {"vm_compile", "situ",
     "probably new pages, some 26 KB a method (counted by page faults), and the entries of short-lived objects"},
    {"pause_own", "p99",
     "other programs take the processor within a pause; of a pause by itself, the sweep of entries is the largest "
     "part"},

    {"put_8", "", "finding out whose address it is, and whether it may be touched"},
    {"get_8", "", "finding out whose address it is, and whether it may be touched"},
    {"put_1m", "", "the copy itself, at the speed of the shared cache"},
    {"get_1m", "", "the copy itself, at the speed of the shared cache"},
    {"fetch_add", "", "the locked add, which drains the pipeline"},
    {"am_short_rt", "", "two crossings of a line, and polling more than one line"},
    {"am_short_oneway", "", "one line a message, written by one core and read by the other"},
    {"at_empty_rt", "",
     "two crossings of a line, and 60 ns of at's own: the answer's slot, two parcels, the scope's account"},
    {"at_1000_doubles", "", "125 lines cross, and the copy out of the message"},
    {"at_beside_load", "", "the scheduler's time slices: who never yields keeps the processor for one"},
    {"barrier_2", "", "two flags that cross at once"},
    {"barrier_", "", "context switches"},
    {"idle_", "", "nothing: a place that waits sleeps"},
    {"clone_dlist_shuffled", "", "one miss of the source a node, as the raw walk has"},
    {"clone_dlist_1e7", "", "page faults of the segment's shared memory"},
    {"ship_message_dlist_1e7", "", "page faults of the segment's shared memory, for the image and for the copy"},
    {"clone_dlist", "", "40 instructions a node: a look-up in the side table and three words copied"},
    {"clone_primitives", "", "memcpy"},
    {"clone_flat", "", "memcpy"},
    {"ship_auto", "", "`at` itself, then the copy, whose lines come from the other core's cache"},
    {"ship_", "", "the copy, whose lines come from the other core's cache"},
    {"copy", "", "the memory's bandwidth"},
    {"seven_point", "", "the memory's bandwidth"},
    {"triad", "", "the memory's bandwidth"},
    {"twenty_seven_point", "", "computing"},
    {"jacobi_chain", "tiled", "the second-level caches, and how the processors share what is below"},
    {"jacobi_", "", "the memory's bandwidth"},
    {"taylor_green", "", "computing"},
    {"euler", "out_of_core", "the memory's bandwidth, which transfers and kernels share"},
    {"plan_", "", "the analysis of the chain's dependencies"},
    {"tile_choice", "", "chains that are spent on trials"},
    {"cloverleaf_192", "tiled", "tiles of 30 fields in three dimensions, which fit only the cache that threads share"},
    {"cloverleaf_kernels", "worst",
     "reductions over lines of 45 points, whose accumulators are fetched and kept for each line; then neighbours that "
     "are chosen by a condition, loaded one by one"},
    {"cloverleaf_kernels", "", "short lines, and loads that cross cache lines"},
    {"cloverleaf", "plain", "the memory's bandwidth; computing in viscosity and the upwind kernels"},
    {"cloverleaf", "tiled", "computing, once the tiles are in cache; chains that are spent on trials of tiles"},
    {"devito_", "tiled", "the second-level caches; chains that are spent on trials of tiles"},
    {"devito_", "plain", "the memory's bandwidth"},
    {"mb_shsgc", "", "kernels over datasets of several components a point, which are not vectorized"},
    {"at_struct", "", "two allocations of the struct where it arrives"},
    {"map_to_other", "", "three allocations an entry where it arrives"},
    {"puts_random", "", "finding out whose address each is, beside the misses"},
    {"gups", "one_by_one",
     "some 55 instructions an update beside 12: while a locked operation waits for memory the processor looks ahead "
     "over "
     "so many instructions, and so over fewer updates"},
    {"gups", "", "misses of the table, and of the batches"},
    {"sort", "", "a copy, a transfer and a merge of the numbers, together a tenth of the whole"},
    {"uts", "", "handing tasks to who has none"},
    {"small_machine", "", "the disk's own wait"},
    {"publish_1000", "", "the file's new pages, which the kernel makes: some 6 ns an object"},
    {"publish_1", "", "the transaction itself: a lock, two entries of the log with their checks, and the file's pages"},
    {"graph_store", "", "the kernel's new pages, once for the copy's plan and once for the pool"},
    {"hash_mixed", "", "misses of the table, and lines that two threads' locks share"},
    {"reopen_free", "", "checking the map, and tables of blocks where it is opened to write"},
    {"reopen", "addresses_taken", "the machine's pages: as many by hand are the row `pages`"},
    {"reopen", "cold", "the disk"},
    {"remote_page_random", "above",
     "waking the thread that fetches, if it is another; mapping the page and making room (some 7 us); and a read that "
     "takes longer here than in a loop"},
    {"remote_pages_in_order", "",
     "two copies of each page, and the kernel's moving it there and back, protecting it and dropping its translations: "
     "some "
     "1 us; the rest is the read, whose server is at work meanwhile, and waking who waits"},
    {"include_situ", "", "71 headers, none of which takes more than a tenth of what they take together"},
};

const figures* in_regime(const row& r, std::string_view regime) {
  if (regime.empty()) return &r.all;
  const std::optional<figures>& f = regime == "near" ? r.near : r.far;
  return f ? &*f : nullptr;
}

// The rivals that were measured in the regime: the fastest of them.
struct measured_rival {
  std::string_view name;
  double ns = 0;
};
std::optional<measured_rival> fastest_of(const rival_aim& aim, std::span<const row> rows, std::string_view regime) {
  std::optional<measured_rival> best;
  for (std::string_view left = aim.rivals; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::string_view name = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    const row* const r = find_row(rows, aim.case_name, name);
    const figures* const f = r == nullptr ? nullptr : in_regime(*r, regime);
    if (f != nullptr && (!best || f->ns.median < best->ns)) best = {name, f->ns.median};
  }
  return best;
}

// What a row's ratio is to, by its name.
std::string counterpart_of(const rival_aim& aim) {
  if (const comparison_case* const info = find_stencil_case(aim.case_name)) {
    for (const comparison_subject& each : info->subjects)
      if (each.name == aim.subject) return std::string{each.counterpart};
    if (!info->counterpart_of_others.empty()) return std::string{info->counterpart_of_others};
  }
  return "raw";
}

std::optional<judged_aim> judge_in(const rival_aim& aim, const row& own, std::span<const row> rows,
                                   std::string_view regime) {
  const figures* const f = in_regime(own, regime);
  if (f == nullptr) return std::nullopt;
  judged_aim result{std::string{regime}, f->ns.median, f->ns.median, {}, false};
  if (aim.base == counterpart) {
    result.value = f->ratio_to_raw;
    result.against = fmt::format("{}, {}", counterpart_of(aim), time_text(f->ns.median / f->ratio_to_raw));
  } else if (aim.base == fastest) {
    const auto rival = fastest_of(aim, rows, regime);
    if (!rival && aim.quoted_ns == 0) return std::nullopt;
    const double ns = rival ? rival->ns : aim.quoted_ns;
    result.value = f->ns.median / ns;
    result.against = rival ? fmt::format("{}, {}", rival->name, time_text(ns))
                           : fmt::format("quoted: {}, {}", aim.quoted, time_text(ns));
  }
  result.is_met = result.value <= aim.at_most;
  return result;
}

}  // namespace

std::span<const rival_aim> all_rival_aims() { return table; }

std::string_view limit_of(std::string_view case_name, std::string_view subject) {
  for (const limit& each : limits)
    if (case_name.starts_with(each.case_begin) && subject.starts_with(each.subject)) return each.words;
  return {};
}

std::vector<judged_aim> judge(const rival_aim& aim, std::span<const row> rows) {
  std::vector<judged_aim> verdicts;
  const row* const own = find_row(rows, aim.case_name, aim.subject);
  if (own == nullptr) return verdicts;
  const auto add = [&](std::string_view regime) {
    if (auto judged = judge_in(aim, *own, rows, regime)) verdicts.push_back(std::move(*judged));
  };
  if (!aim.regime.empty()) {
    add(aim.regime);
  } else if (find_case(aim.case_name) != nullptr) {
    for (const std::string_view regime : {"near", "far"}) add(regime);
  } else {
    add("");
  }
  return verdicts;
}

}  // namespace situ::bench
