// How long a thread's collection of its own objects lasts: 16 MB of objects of 44 bytes, of which each twentieth lives.
#include <algorithm>

#include "heap/cases.h"

namespace heap_bench {
namespace {

using job_bench::is_quick;
using job_bench::samples;
using situ::ref;

constexpr std::uint32_t dead_for_each_live = 19;
constexpr double share = 0.99;
int pauses_a_sample() { return is_quick() ? 5 : 200; }
int rounds() { return is_quick() ? 1 : 7; }

// The median and the 99th percentile of the pauses of one sample.
struct sample_pauses {
  double median, p99;
};

sample_pauses take_sample(situ::heap_thread& mine, std::vector<std::uint32_t>& kept) {
  std::vector<double> pauses;
  std::uint32_t made = 0;
  while (pauses.size() < std::size_t(pauses_a_sample())) {
    while (!mine.state().is_due()) {
      kept.push_back(mine.make<cell>(made++).raw());
      for (std::uint32_t i = 0; i < dead_for_each_live; ++i) (void)mine.make<cell>(i);
    }
    pauses.push_back(time_of([&] { mine.safe_point(); }));
    std::uint32_t expected = made - static_cast<std::uint32_t>(kept.size());
    for (const std::uint32_t raw : kept)
      check(mine.load(ref<cell>{raw}, &cell::value) == expected++, "a live object was lost");
    kept.clear();
    if (pauses.size() % 50 == 0) mine.collect();  // what lived is dead by now
  }
  std::ranges::sort(pauses);
  return {pauses[pauses.size() / 2], pauses[static_cast<std::size_t>(share * double(pauses.size() - 1))]};
}

void measure(situ::heap_thread& mine) {
  std::vector<std::uint32_t> kept;
  const std::size_t roots = mine.add_roots([&](const auto& visit) {
    for (std::uint32_t& each : kept) visit(each);
  });
  std::vector<samples> all{{"median"}, {"p99"}};
  for (int round = -1; round < rounds(); ++round) {
    const sample_pauses taken = take_sample(mine, kept);
    if (round < 0) continue;
    all[0].ns.push_back(taken.median);
    all[1].ns.push_back(taken.p99);
  }
  job_bench::print("pause_own", all);
  mine.remove_roots(roots);
}

}  // namespace

void pauses() {
  if (!job_bench::is_wanted("pause_own")) return;
  situ::object_heap heap{{.young_bytes = std::uint64_t{16} << 20, .collect_after = 0}};
  situ::heap_thread mine{heap};
  if (job_bench::is_first()) measure(mine);
  situ::barrier();
}

}  // namespace heap_bench
