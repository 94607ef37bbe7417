#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "nemesys/macro_figures.h"
#include "nemesys/table6.h"

// How an observation is judged. It has one claim or more, and each claim is asked of kernels one by one:
//
//   table 6   the claim is asked of the kernels for which the paper's own lines show it; the mean must agree, too
//   figures   the paper draws these, so the claim is asked of all kernels, by the bound that the text gives (speed-ups
//             of 1.35 to 3.85, communication less by 40 to 82 %); if it gives none, by ours, which the output names
//   "most"    the claim must hold for more than half of the kernels
//
// A claim holds if it holds for each kernel that it is asked of, and does not hold if it fails for more than half of
// them, or by its mean. An observation holds if all its claims do, does not hold if none does even in part, and holds
// in part otherwise.
namespace situ::studies::nemesys {
namespace {

using enum variant;
using kernels = std::vector<std::size_t>;

enum class judgement { holds, in_part, fails };
const char* words_of(judgement of) {
  if (of == judgement::holds) return "holds";
  return of == judgement::in_part ? "in part" : "does not hold";
}

struct claim {
  judgement found;
  std::string figures;
};
using claims = std::vector<claim>;

struct observation {
  const char* number;
  const char* words;
  std::vector<variant> needed;
  claims (*check)(const macro_runs&, const kernels&);
};

double mean(const kernels& all, const std::function<double(std::size_t)>& figure) {
  double sum = 0;
  for (const std::size_t k : all) sum += figure(k);
  return sum / static_cast<double>(all.size());
}
// The mean, over the kernels, of the time by `a` over the time by `b`.
double mean_ratio(const macro_runs& runs, const kernels& all, variant a, variant b) {
  return mean(all, [&](std::size_t k) { return runs.find(k, a)->seconds / runs.find(k, b)->seconds; });
}
bool has_small_graphs(std::size_t k) {
  return kernel_names[k].abbreviation == "LCR" || kernel_names[k].abbreviation == "HS";
}
kernels those(const kernels& all, const std::function<bool(std::size_t)>& are) {
  kernels made;
  std::ranges::copy_if(all, std::back_inserter(made), are);
  return made;
}
std::string names_of(const kernels& all) {
  std::string names;
  for (const std::size_t k : all) names += fmt::format("{}{}", names.empty() ? "" : ", ", kernel_names[k].abbreviation);
  return names;
}

// Judges one claim: by each kernel of `asked`, and by the mean if the paper has one.
claim judge(const std::string& what, const kernels& asked, const std::function<bool(std::size_t)>& holds,
            bool mean_holds = true) {
  const kernels against = those(asked, [&](std::size_t k) { return !holds(k); });
  const std::string found = asked.empty()     ? "no kernel to ask"
                            : against.empty() ? fmt::format("all {}", asked.size())
                                              : fmt::format("not {} (of {})", names_of(against), asked.size());
  const judgement judged = 2 * against.size() > asked.size() || !mean_holds ? judgement::fails
                           : against.empty()                                ? judgement::holds
                                                                            : judgement::in_part;
  return {judged, fmt::format("{}: {}", what, found)};
}
// Judges a claim that the paper makes of most kernels.
claim judge_most(const std::string& what, const kernels& asked, const std::function<bool(std::size_t)>& holds) {
  claim made = judge(what + ", most", asked, holds);
  const auto count = static_cast<std::size_t>(std::ranges::count_if(asked, holds));
  made.found = 2 * count > asked.size() ? judgement::holds : judgement::fails;
  return made;
}
// Judges the claim that LCR and HS have least of something: each other kernel must have more than both.
claim judge_least(const std::string& what, const kernels& all, const std::function<double(std::size_t)>& figure) {
  double most = 0;
  for (const std::size_t k : all)
    if (has_small_graphs(k)) most = std::max(most, figure(k));
  return judge(fmt::format("{}, LCR and HS up to {:.2f}, more for the others", what, most),
               those(all, [](std::size_t k) { return !has_small_graphs(k); }),
               [&](std::size_t k) { return figure(k) > most; });
}

// A column of table 6, in which one variant is lower than another.
struct column_order {
  const char* what;
  double kernel_run::* ours;
  double counters::* paper;
  double scale = 1;
  const char* unit = "";
};
constexpr column_order adapter_use{"NA usage", &kernel_run::adapter_use, &counters::adapter_use, 100, " %"};
constexpr column_order memory_use{"MEM usage", &kernel_run::memory_use, &counters::memory_use, 100, " %"};
constexpr column_order megabytes{"MB", &kernel_run::megabytes, &counters::megabytes};
constexpr column_order load{"load", &kernel_run::load_cycles, &counters::load_cycles, 1, " cycles"};
constexpr column_order store{"store", &kernel_run::store_cycles, &counters::store_cycles, 1, " cycles"};

claim is_lower(const macro_runs& runs, const kernels& all, const column_order& of, variant low, variant high) {
  const auto ours = [&](std::size_t k, variant in) { return runs.find(k, in)->*of.ours; };
  const kernels asked =
      those(all, [&](std::size_t k) { return paper_counters(low, k).*of.paper < paper_counters(high, k).*of.paper; });
  const double low_mean = mean(all, [&](std::size_t k) { return ours(k, low); });
  const double high_mean = mean(all, [&](std::size_t k) { return ours(k, high); });
  return judge(
      fmt::format("{}, {} below {}, means {:.3g}{} and {:.3g}{}", of.what, name(low), name(high), of.scale * low_mean,
                  of.unit, of.scale * high_mean, of.unit),
      asked, [&](std::size_t k) { return ours(k, low) < ours(k, high); }, low_mean < high_mean);
}

// The paper's bounds.
constexpr double least_speedup = 1.35, most_speedup = 3.85;  // abstract
constexpr double least_saved = 0.40, most_saved = 0.82;      // of the communication time: abstract
// Ours, for words that the paper puts no figure to.
constexpr double small_loss = 1.25;         // 3: "small"
constexpr double about_equal = 0.10;        // 4: "roughly equal", of the part of Tat
constexpr double dominates = 0.5;           // 10
constexpr double noticeably_slower = 0.01;  // 5.4.6

double saved_communication(const macro_runs& runs, std::size_t k) {
  return 1 - runs.find(k, nemesys_single_timed)->com_seconds / runs.find(k, pegasus_single_timed)->com_seconds;
}

claims is_in_range(const macro_runs& runs, const kernels& all) {
  return {judge(fmt::format("speed-up over Pegasus-single within {} to {}", least_speedup, most_speedup), all,
                [&](std::size_t k) {
                  const double found = runs.speedup(k, pegasus_single, nemesys_single);
                  return found >= least_speedup && found <= most_speedup;
                }),
          judge(fmt::format("Tcom less by {:.0f} to {:.0f} %", 100 * least_saved, 100 * most_saved), all,
                [&](std::size_t k) {
                  const double found = saved_communication(runs, k);
                  return found >= least_saved && found <= most_saved;
                })};
}
claims is_fastest(const macro_runs& runs, const kernels& all) {
  const auto faster = [&](variant without, variant with) {
    return judge(fmt::format("{} faster than {}", name(with), name(without)), all,
                 [&](std::size_t k) { return runs.speedup(k, without, with) > 1; });
  };
  return {faster(message_single, nemesys_single), faster(pegasus_single, nemesys_single),
          faster(message_twin, nemesys_twin), faster(pegasus_twin, nemesys_twin),
          judge_least("speed-up over Pegasus-single", all,
                      [&](std::size_t k) { return runs.speedup(k, pegasus_single, nemesys_single); })};
}
claims twin_helps_pegasus(const macro_runs& runs, const kernels& all) {
  return {judge(fmt::format("run time, twin below single, mean ratio {:.2f}",
                            mean_ratio(runs, all, pegasus_twin, pegasus_single)),
                all, [&](std::size_t k) { return runs.speedup(k, pegasus_single, pegasus_twin) > 1; })};
}
claims twin_costs_nemesys(const macro_runs& runs, const kernels& all) {
  return {judge(fmt::format("run time, twin by single from 1 to {} (ours), mean {:.2f}", small_loss,
                            mean_ratio(runs, all, nemesys_twin, nemesys_single)),
                all, [&](std::size_t k) {
                  const double ratio = runs.speedup(k, nemesys_twin, nemesys_single);
                  return ratio >= 1 && ratio < small_loss;
                })};
}
claims communication_falls(const macro_runs& runs, const kernels& all) {
  const auto part_of_at = [&](std::size_t k, variant of) {
    return runs.find(k, of)->com_seconds / runs.find(k, of)->at_seconds;
  };
  const auto mean_part = [&](variant of) { return 100 * mean(all, [&](std::size_t k) { return part_of_at(k, of); }); };
  return {judge(fmt::format("Tcom less by {:.0f} % or more, mean {:.0f} %", 100 * least_saved,
                            100 * mean(all, [&](std::size_t k) { return saved_communication(runs, k); })),
                all, [&](std::size_t k) { return saved_communication(runs, k) >= least_saved; }),
          judge(fmt::format("Tcom / Tat within {:.0f} points (ours), means {:.1f} and {:.1f} %", 100 * about_equal,
                            mean_part(pegasus_single_timed), mean_part(nemesys_single_timed)),
                all, [&](std::size_t k) {
                  return std::abs(part_of_at(k, pegasus_single_timed) - part_of_at(k, nemesys_single_timed)) <
                         about_equal;
                })};
}
claims adapters_rest(const macro_runs& runs, const kernels& all) {
  return {is_lower(runs, all, adapter_use, nemesys_single, pegasus_single),
          is_lower(runs, all, adapter_use, nemesys_twin, pegasus_twin)};
}
claims twin_latencies(const macro_runs& runs, const kernels& all) {
  return {is_lower(runs, all, load, pegasus_twin, pegasus_single),
          is_lower(runs, all, store, pegasus_twin, pegasus_single),
          is_lower(runs, all, adapter_use, pegasus_twin, pegasus_single)};
}
claims fewer_accesses(const macro_runs& runs, const kernels& all) {
  return {is_lower(runs, all, megabytes, nemesys_single, pegasus_single),
          is_lower(runs, all, megabytes, nemesys_twin, pegasus_twin)};
}
claims twin_accesses(const macro_runs& runs, const kernels& all) {
  return {is_lower(runs, all, megabytes, nemesys_single, nemesys_twin)};
}
claims accesses_per_time(const macro_runs& runs, const kernels& all) {
  return {is_lower(runs, all, memory_use, pegasus_single, nemesys_single),
          is_lower(runs, all, memory_use, pegasus_twin, nemesys_twin),
          is_lower(runs, all, memory_use, nemesys_twin, nemesys_single),
          is_lower(runs, all, memory_use, pegasus_twin, pegasus_single)};
}
claims memory_bound(const macro_runs& runs, const kernels& all) {
  claims made;
  for (const variant each : {pegasus_single, pegasus_twin, nemesys_single, nemesys_twin}) {
    const auto bound = [&](std::size_t k) { return runs.find(k, each)->memory_bound; };
    made.push_back(judge(fmt::format("{}: of the time that cores are busy, accesses and code take more than {:.0f} % "
                                     "(ours), mean {:.0f} %",
                                     name(each), 100 * dominates, 100 * mean(all, bound)),
                         all, [&](std::size_t k) { return bound(k) > dominates; }));
  }
  made.back().figures += "; other numbers of cores were not run";
  return made;
}
// Judges by a column in which a kernel has more than LCR and HS. It asks the kernels for which the paper's column has
// that.
claim more_than_small(const macro_runs& runs, const kernels& all, const char* what, double kernel_run::* ours,
                      double counters::* paper) {
  double most = 0, papers_most = 0;
  for (const std::size_t k : those(all, has_small_graphs)) {
    most = std::max(most, runs.find(k, nemesys_single)->*ours);
    papers_most = std::max(papers_most, paper_counters(nemesys_single, k).*paper);
  }
  const kernels asked = those(all, [&](std::size_t k) {
    return !has_small_graphs(k) && paper_counters(nemesys_single, k).*paper > papers_most;
  });
  return judge(fmt::format("{}, LCR and HS up to {:.0f} %, more for the others", what, 100 * most), asked,
               [&](std::size_t k) { return runs.find(k, nemesys_single)->*ours > most; });
}
claims units_at_work(const macro_runs& runs, const kernels& all) {
  return {more_than_small(runs, all, "NMA utilization", &kernel_run::unit_use, &counters::unit_use),
          more_than_small(runs, all, "MEM via NMA", &kernel_run::via_unit, &counters::via_unit)};
}
claims scales(const macro_runs& runs, const kernels& all) {
  const auto gain = [&](std::size_t k, variant pegasus, variant nemesys) {
    return runs.speedup(k, pegasus, nemesys) / runs.speedup(k, small_pegasus, small_nemesys);
  };
  return {judge_most("speed-up larger than on 2x2, single", all,
                     [&](std::size_t k) { return gain(k, pegasus_single, nemesys_single) > 1; }),
          judge_most("twin", all, [&](std::size_t k) { return gain(k, pegasus_twin, nemesys_twin) > 1; }),
          judge_least("increase, single", all, [&](std::size_t k) { return gain(k, pegasus_single, nemesys_single); })};
}
claims small_caches(const macro_runs& runs, const kernels& all) {
  const auto slower = [&](const char* what, variant pegasus, variant nemesys) {
    return judge_most(fmt::format("with {} KiB Pegasus slows down by {} more than NEMESYS (ours), means {:.3f} and "
                                  "{:.3f}",
                                  what, noticeably_slower, mean_ratio(runs, all, pegasus, pegasus_single),
                                  mean_ratio(runs, all, nemesys, nemesys_single)),
                      all, [&](std::size_t k) {
                        return runs.speedup(k, pegasus, pegasus_single) >
                               runs.speedup(k, nemesys, nemesys_single) + noticeably_slower;
                      });
  };
  return {slower("4x8", pegasus_l2_8, nemesys_l2_8), slower("4x16", pegasus_l2_16, nemesys_l2_16)};
}
claims unit_alone(const macro_runs& runs, const kernels& all) {
  const auto saved = [&](std::size_t k, variant of) { return 1 - 1 / runs.speedup(k, pegasus_single, of); };
  const auto mean_saved = [&](variant of) { return 100 * mean(all, [&](std::size_t k) { return saved(k, of); }); };
  return {judge(fmt::format("more than half of what both save in run time, LCR and HS left out, means {:.0f} and "
                            "{:.0f} %",
                            mean_saved(nemesys_no_nca), mean_saved(nemesys_single)),
                those(all, [](std::size_t k) { return !has_small_graphs(k); }),
                [&](std::size_t k) {
                  return saved(k, nemesys_no_nca) > 0 && saved(k, nemesys_no_nca) > saved(k, nemesys_single) / 2;
                }),
          judge("faster still with the NCA", all,
                [&](std::size_t k) { return runs.speedup(k, nemesys_no_nca, nemesys_single) > 1; }),
          judge_least("speed-up by the NMA alone", all,
                      [&](std::size_t k) { return runs.speedup(k, pegasus_single, nemesys_no_nca); })};
}

const std::vector<observation>& all_observations() {
  static const std::vector<observation> all{
      {"abstract",
       "speed-ups of 1.35 to 3.85 over the state of the art, communication less by 40 to 82 %",
       {pegasus_single, nemesys_single, pegasus_single_timed, nemesys_single_timed},
       is_in_range},
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
      {"5",
       "NEMESYS uses the network adapters less than Pegasus",
       {pegasus_single, pegasus_twin, nemesys_single, nemesys_twin},
       adapters_rest},
      {"6",
       "Pegasus-twin: shorter round trips and less use of adapters",
       {pegasus_single, pegasus_twin},
       twin_latencies},
      {"7",
       "NEMESYS accesses fewer bytes of memory than Pegasus",
       {pegasus_single, pegasus_twin, nemesys_single, nemesys_twin},
       fewer_accesses},
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
       "most kernels gain more on 4x4 than on 2x2, with one memory and with two; LCR and HS do so least",
       {pegasus_single, nemesys_single, pegasus_twin, nemesys_twin, small_pegasus, small_nemesys},
       scales},
      {"5.4.6",
       "Pegasus slows down more with small L2s",
       {pegasus_single, nemesys_single, pegasus_l2_8, pegasus_l2_16, nemesys_l2_8, nemesys_l2_16},
       small_caches},
      {"5.4.7",
       "the NMA alone gives most of the speed-up, least for LCR and HS; the NCA adds to it",
       {pegasus_single, nemesys_no_nca, nemesys_single},
       unit_alone}};
  return all;
}

judgement verdict_of(const claims& all) {
  const auto count = [&](judgement of) { return std::ranges::count(all, of, &claim::found); };
  if (count(judgement::fails) == std::ssize(all)) return judgement::fails;
  return count(judgement::holds) == std::ssize(all) ? judgement::holds : judgement::in_part;
}

}  // namespace

study_part observations(const macro_runs& runs) {
  study_part part{.name = "observations",
                  .title = "What the paper's text observes (abstract, 5.4.3 to 5.4.7), kernel by kernel"};
  grid all{.headings = {"number", "observation", "here", "figures"}};
  for (const observation& each : all_observations()) {
    const kernels in = runs.kernels(each.needed);
    if (in.empty()) {
      part.missing.push_back(fmt::format("{} {}: no kernel has run in all that it needs", each.number, each.words));
      continue;
    }
    const claims found = each.check(runs, in);
    std::string figures;
    for (const claim& one : found) figures += fmt::format("{}{}", figures.empty() ? "" : "; ", one.figures);
    all.lines.push_back({each.number, each.words, words_of(verdict_of(found)), std::move(figures)});
  }
  part.grids.push_back(std::move(all));
  return part;
}

}  // namespace situ::studies::nemesys
