#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "nemesys/macro_figures.h"

namespace situ::studies::nemesys {
namespace {

using enum variant;
using kernels = std::vector<std::size_t>;

struct verdict {
  bool holds = false;
  std::string figures;
};

struct observation {
  const char* number;
  const char* words;
  std::vector<variant> needed;
  verdict (*check)(const macro_runs&, const kernels&);
};

double mean(const macro_runs& runs, const kernels& all, variant of, double kernel_run::* figure) {
  double sum = 0;
  for (const std::size_t k : all) sum += runs.find(k, of)->*figure;
  return sum / static_cast<double>(all.size());
}
// Of all kernels, as a factor: how much longer `a` runs than `b`.
double mean_ratio(const macro_runs& runs, const kernels& all, variant a, variant b) {
  double sum = 0;
  for (const std::size_t k : all) sum += runs.find(k, a)->seconds / runs.find(k, b)->seconds;
  return sum / static_cast<double>(all.size());
}
bool has_small_graphs(std::size_t k) {
  return kernel_names[k].abbreviation == "LCR" || kernel_names[k].abbreviation == "HS";
}
// The kernels for which something does not hold, by name; empty: none.
std::string exceptions(const kernels& all, const std::function<bool(std::size_t)>& holds) {
  std::string names;
  for (const std::size_t k : all)
    if (!holds(k)) names += fmt::format("{}{}", names.empty() ? "" : ", ", kernel_names[k].abbreviation);
  return names;
}

verdict is_fastest(const macro_runs& runs, const kernels& all) {
  const std::string slow = exceptions(all, [&](std::size_t k) {
    return runs.speedup(k, message_single, nemesys_single) > 1 && runs.speedup(k, pegasus_single, nemesys_single) > 1 &&
           runs.speedup(k, message_twin, nemesys_twin) > 1 && runs.speedup(k, pegasus_twin, nemesys_twin) > 1;
  });
  kernels sorted = all;
  std::ranges::sort(sorted, {}, [&](std::size_t k) { return runs.speedup(k, pegasus_single, nemesys_single); });
  sorted.resize(std::min<std::size_t>(sorted.size(), 2));
  const bool are_least = std::ranges::all_of(sorted, has_small_graphs);
  std::string least;
  for (const std::size_t k : sorted)
    least += fmt::format("{}{} {:.2f} x", least.empty() ? "" : ", ", kernel_names[k].abbreviation,
                         runs.speedup(k, pegasus_single, nemesys_single));
  return {slow.empty() && are_least,
          fmt::format("slower: {}; least over Pegasus-single: {}", slow.empty() ? "none" : slow, least)};
}

verdict is_lower(double a, double b, std::string_view what, std::string_view unit) {
  return {a < b, fmt::format("{}: {:.3g}{} against {:.3g}{}", what, a, unit, b, unit)};
}
verdict both(const verdict& a, const verdict& b) { return {a.holds && b.holds, a.figures + "; " + b.figures}; }

verdict twin_helps_pegasus(const macro_runs& runs, const kernels& all) {
  return is_lower(mean_ratio(runs, all, pegasus_twin, pegasus_single), 1, "mean run time, twin by single", "");
}
verdict twin_costs_nemesys(const macro_runs& runs, const kernels& all) {
  const double ratio = mean_ratio(runs, all, nemesys_twin, nemesys_single);
  return {ratio >= 1 && ratio < 1.25, fmt::format("mean run time, twin by single: {:.2f} (small: below 1.25)", ratio)};
}
verdict communication_falls(const macro_runs& runs, const kernels& all) {
  double less = 0, before = 0, after = 0;
  const auto count = static_cast<double>(all.size());
  for (const std::size_t k : all) {
    const kernel_run &pegasus = *runs.find(k, pegasus_single_timed), &nemesys = *runs.find(k, nemesys_single_timed);
    less += (1 - nemesys.com_seconds / pegasus.com_seconds) / count;
    before += pegasus.com_seconds / pegasus.at_seconds / count;
    after += nemesys.com_seconds / nemesys.at_seconds / count;
  }
  return {less > 0.2 && std::abs(before - after) < 0.1,
          fmt::format("mean Tcom less by {:.0f} % (more than 20); Tcom / Tat {:.1f} % and {:.1f} % (within 10 points)",
                      100 * less, 100 * before, 100 * after)};
}
verdict adapters_rest(const macro_runs& runs, const kernels& all) {
  return is_lower(100 * mean(runs, all, nemesys_single, &kernel_run::adapter_use),
                  100 * mean(runs, all, pegasus_single, &kernel_run::adapter_use), "mean NA usage, NEMESYS by Pegasus",
                  " %");
}
verdict twin_latencies(const macro_runs& runs, const kernels& all) {
  const auto lower = [&](const char* what, double kernel_run::* figure, double scale, const char* unit) {
    return is_lower(scale * mean(runs, all, pegasus_twin, figure), scale * mean(runs, all, pegasus_single, figure),
                    what, unit);
  };
  return both(both(lower("Pegasus twin by single: load", &kernel_run::load_cycles, 1, " cycles"),
                   lower("store", &kernel_run::store_cycles, 1, " cycles")),
              lower("NA usage", &kernel_run::adapter_use, 100, " %"));
}
verdict fewer_accesses(const macro_runs& runs, const kernels& all) {
  return is_lower(mean(runs, all, nemesys_single, &kernel_run::megabytes),
                  mean(runs, all, pegasus_single, &kernel_run::megabytes), "mean MB, NEMESYS by Pegasus", "");
}
verdict twin_accesses(const macro_runs& runs, const kernels& all) {
  return is_lower(mean(runs, all, nemesys_single, &kernel_run::megabytes),
                  mean(runs, all, nemesys_twin, &kernel_run::megabytes), "mean MB, NEMESYS single by twin", "");
}
verdict accesses_per_time(const macro_runs& runs, const kernels& all) {
  const auto use = [&](variant of) { return 100 * mean(runs, all, of, &kernel_run::memory_use); };
  return both(
      is_lower(use(pegasus_single), use(nemesys_single), "mean MEM usage, Pegasus-single by NEMESYS-single", " %"),
      both(is_lower(use(nemesys_twin), use(nemesys_single), "NEMESYS twin by single", " %"),
           is_lower(use(pegasus_twin), use(pegasus_single), "Pegasus twin by single", " %")));
}
verdict memory_bound(const macro_runs& runs, const kernels& all) {
  double least = 1;
  for (const variant each : {pegasus_single, pegasus_twin, nemesys_single, nemesys_twin})
    least = std::min(least, mean(runs, all, each, &kernel_run::memory_bound));
  return {least > 0.5,
          fmt::format("of the time that cores are busy, accesses beyond the first cache take {:.0f} % or more; "
                      "other numbers of cores were not run",
                      100 * least)};
}
verdict units_at_work(const macro_runs& runs, const kernels& all) {
  double small = 0, others = 0, small_count = 0, other_count = 0;
  for (const std::size_t k : all) {
    const double use = runs.find(k, nemesys_single)->unit_use;
    (has_small_graphs(k) ? small : others) += use;
    (has_small_graphs(k) ? small_count : other_count) += 1;
  }
  return is_lower(100 * small / std::max(small_count, 1.0), 100 * others / std::max(other_count, 1.0),
                  "mean NMA utilization, LCR and HS by the others", " %");
}
verdict scales(const macro_runs& runs, const kernels& all) {
  const std::string not_larger = exceptions(all, [&](std::size_t k) {
    return runs.speedup(k, pegasus_single, nemesys_single) > runs.speedup(k, small_pegasus, small_nemesys);
  });
  const auto count = static_cast<std::size_t>(std::ranges::count(not_larger, ',')) + (not_larger.empty() ? 0 : 1);
  return {2 * count < all.size(),
          fmt::format("the speed-up on 4x4 is not larger than on 2x2: {}", not_larger.empty() ? "none" : not_larger)};
}
verdict small_caches(const macro_runs& runs, const kernels& all) {
  const double nemesys = mean_ratio(runs, all, nemesys_l2_8, nemesys_single);
  const double pegasus = mean_ratio(runs, all, pegasus_l2_8, pegasus_single);
  return {pegasus > nemesys + 0.01,
          fmt::format("mean run time with 4x8 KiB by 4x128: Pegasus {:.3f}, NEMESYS {:.3f} (more than 0.01 apart)",
                      pegasus, nemesys)};
}
verdict unit_alone(const macro_runs& runs, const kernels& all) {
  double gained = 0, gained_more = 0;
  for (const std::size_t k : all) {
    const double pegasus = runs.find(k, pegasus_single)->seconds;
    gained += 1 - runs.find(k, nemesys_no_nca)->seconds / pegasus;
    gained_more += 1 - runs.find(k, nemesys_single)->seconds / pegasus;
  }
  const auto count = static_cast<double>(all.size());
  return {gained > gained_more / 2 && gained_more > gained && gained_more > 0,
          fmt::format("mean run time less by {:.0f} % with the NMA alone, by {:.0f} % with both", 100 * gained / count,
                      100 * gained_more / count)};
}

const std::vector<observation>& all_observations() {
  static const std::vector<observation> all{
      {"1",
       "NEMESYS is faster than message passing and Pegasus in every case; least for HS and LCR",
       {message_single, message_twin, pegasus_single, pegasus_twin, nemesys_single, nemesys_twin},
       is_fastest},
      {"2", "Pegasus-twin is faster than Pegasus-single", {pegasus_single, pegasus_twin}, twin_helps_pegasus},
      {"3", "NEMESYS-twin is a little slower than NEMESYS-single", {nemesys_single, nemesys_twin}, twin_costs_nemesys},
      {"4",
       "communication takes less time, its part of Tat stays about equal",
       {pegasus_single_timed, nemesys_single_timed},
       communication_falls},
      {"5", "NEMESYS uses the network adapters less than Pegasus", {pegasus_single, nemesys_single}, adapters_rest},
      {"6",
       "Pegasus-twin: shorter round trips and less use of adapters",
       {pegasus_single, pegasus_twin},
       twin_latencies},
      {"7", "NEMESYS accesses fewer bytes of memory than Pegasus", {pegasus_single, nemesys_single}, fewer_accesses},
      {"8", "NEMESYS-twin accesses more than NEMESYS-single", {nemesys_single, nemesys_twin}, twin_accesses},
      {"9",
       "NEMESYS accesses memory more in a time; both twins less at each memory",
       {pegasus_single, pegasus_twin, nemesys_single, nemesys_twin},
       accesses_per_time},
      {"10",
       "no variant is bound by computing",
       {pegasus_single, pegasus_twin, nemesys_single, nemesys_twin},
       memory_bound},
      {"11", "the NMA works more for the kernels that gain much than for LCR and HS", {nemesys_single}, units_at_work},
      {"5.4.5",
       "most kernels gain more on 4x4 than on 2x2",
       {pegasus_single, nemesys_single, small_pegasus, small_nemesys},
       scales},
      {"5.4.6",
       "Pegasus slows down more with small L2s",
       {pegasus_single, nemesys_single, pegasus_l2_8, nemesys_l2_8},
       small_caches},
      {"5.4.7",
       "the NMA alone gives most of the speed-up, the NCA adds to it",
       {pegasus_single, nemesys_no_nca, nemesys_single},
       unit_alone}};
  return all;
}

}  // namespace

study_part observations(const macro_runs& runs) {
  study_part part{.name = "observations", .title = "What the paper's text observes (5.4.3 to 5.4.7)"};
  grid all{.headings = {"number", "observation", "here", "figures"}};
  for (const observation& each : all_observations()) {
    const kernels in = runs.kernels(each.needed);
    if (in.empty()) {
      part.missing.push_back(fmt::format("{} {}: no kernel has run in all that it needs", each.number, each.words));
      continue;
    }
    const verdict found = each.check(runs, in);
    all.lines.push_back({each.number, each.words, found.holds ? "holds" : "does not hold", found.figures});
  }
  part.grids.push_back(std::move(all));
  return part;
}

}  // namespace situ::studies::nemesys
