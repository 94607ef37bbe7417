// A store whose barrier finds nothing to do, beside the same store through the table without a test, and through a
// pointer. 1,000 objects: they stay in the nearest cache.
#include <algorithm>

#include "heap/cases.h"

namespace heap_bench {
namespace {

using job_bench::is_quick;
using job_bench::samples;
using situ::ref;

constexpr std::uint32_t objects = 1000;
std::uint32_t passes() { return is_quick() ? 10 : 2000; }
int rounds() { return is_quick() ? 1 : 41; }

// Nanoseconds of a store; pass k stores k into each object.
template <class Store>
double time_stores(Store store) {
  return time_of([&] {
           for (std::uint32_t k = 0; k < passes(); ++k) {
             store(k);
             asm volatile("" ::: "memory");
           }
         }) /
         (double(passes()) * objects);
}

void measure(situ::heap_thread& mine) {
  std::vector<ref<cell>> own;
  std::vector<plain_cell> cells(objects);
  std::vector<plain_cell*> plain;
  for (plain_cell& each : cells) {
    own.push_back(mine.make<cell>());
    plain.push_back(&each);
  }
  const auto by_pointer = [&](std::uint32_t value) {
    for (plain_cell* const each : plain) situ::detail::racing_store(each->value, value);
  };
  const auto by_table = [&](std::uint32_t value) {
    situ::heap_section section{mine};
    for (const ref<cell> each : own) {
      auto* const object = const_cast<situ::detail::heap_object*>(section.object(each.raw()));
      situ::detail::racing_store(reinterpret_cast<cell*>(object->bytes())->value, value);
    }
  };
  const auto by_barrier = [&](std::uint32_t value) {
    situ::heap_section section{mine};
    for (const ref<cell> each : own) section.store(each, &cell::value, value);
  };
  std::vector<samples> all{{"pointer"}, {"table"}, {"situ"}};
  samples price{"barrier"};
  for (int round = -1; round < rounds(); ++round) {
    const double pointer = time_stores(by_pointer), table = time_stores(by_table), situ_ns = time_stores(by_barrier);
    for (std::uint32_t i = 0; i < objects; ++i)
      check(mine.load(own[i], &cell::value) == passes() - 1 && plain[i]->value == passes() - 1, "a store is missing");
    if (round < 0) continue;
    all[0].ns.push_back(pointer);
    all[1].ns.push_back(table);
    all[2].ns.push_back(situ_ns);
    price.ns.push_back(std::max(situ_ns - table, 0.01));  // a difference, so it may be below what can be measured
  }
  if (job_bench::is_wanted("store_in_cache")) job_bench::print("store_in_cache", all);
  if (job_bench::is_wanted("barrier")) job_bench::print("barrier", {price}, all[1].ns);
}

}  // namespace

void barriers() {
  if (!is_wanted({"store_in_cache", "barrier"})) return;
  situ::object_heap heap;
  situ::heap_thread mine{heap};
  if (job_bench::is_first()) measure(mine);
  situ::barrier();
}

}  // namespace heap_bench
