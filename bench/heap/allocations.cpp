// Allocation of 44 bytes, all of them set: by the heap, by a pointer that is moved on, and by malloc.
//
//   allocate_young  5,000 objects at a time live; then they are dead. The heap collects each 16 MB, within the time,
//                   and the moved pointer begins again after 16 MB.
//   allocate_fresh  1e6 objects that all live. Their pages exist, but the memory is in no near cache.
#include <algorithm>
#include <cstdlib>

#include "heap/cases.h"

namespace heap_bench {
namespace {

using job_bench::is_quick;
using job_bench::samples;
using situ::ref;

constexpr std::uint32_t live = 5000;
constexpr std::size_t young_bytes = std::size_t{16} << 20;
std::uint32_t young_count() { return is_quick() ? 500'000 : 4'000'000; }
std::uint32_t fresh_count() { return is_quick() ? 10'000 : 1'000'000; }
int rounds() { return is_quick() ? 1 : 21; }

// The words that a heap sets in an object.
struct bare_cell {
  std::uint32_t header[4];
  std::uint32_t value, next, rest[5];
};
static_assert(sizeof(bare_cell) == 44);

void set(bare_cell* at, std::uint32_t value) {
  asm volatile("" : "+r"(at));  // the allocations stay apart
  *at = {{value, 7, 0, 1}, value, 0, {}};
}

class moved_pointer {
 public:
  explicit moved_pointer(std::size_t bytes) : block_{situ::allocate_bytes(bytes)}, bytes_{bytes} { begin_again(); }
  ~moved_pointer() { situ::deallocate(block_); }
  moved_pointer(const moved_pointer&) = delete;
  moved_pointer& operator=(const moved_pointer&) = delete;

  bare_cell* take() {
    if (next_ + cell_bytes > end_) [[unlikely]]
      begin_again();
    std::byte* const at = next_;
    next_ += cell_bytes;
    return reinterpret_cast<bare_cell*>(at);
  }
  void begin_again() {
    next_ = block_.local();
    end_ = next_ + bytes_;
  }

 private:
  situ::ptr<std::byte> block_;
  std::size_t bytes_;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
};

std::uint64_t sum_of(const std::vector<bare_cell*>& all) {
  std::uint64_t sum = 0;
  for (const bare_cell* const each : all) sum += each->value;
  return sum;
}
std::uint64_t sum_of(situ::heap_thread& mine, const std::vector<ref<cell>>& all) {
  situ::heap_section section{mine};
  std::uint64_t sum = 0;
  for (const ref<cell> each : all) sum += section.load(each, &cell::value);
  return sum;
}
void check_sum(std::uint64_t sum, std::uint64_t n) { check(sum == n * (n - 1) / 2, "an object was lost"); }

void young(situ::heap_thread& mine) {
  moved_pointer block{young_bytes};
  std::vector<bare_cell*> plain(live);
  std::vector<ref<cell>> own(live);
  std::vector<samples> all{{"bump"}, {"malloc"}, {"situ"}};
  const std::uint32_t batches = young_count() / live;
  const auto each_of = [&](auto batch) {
    return time_of([&] {
             for (std::uint32_t i = 0; i < batches; ++i) {
               batch();
               asm volatile("" ::: "memory");
             }
           }) /
           (double(batches) * live);
  };
  for (int round = -1; round < rounds(); ++round) {
    const double bump = each_of([&] {
      for (std::uint32_t k = 0; k < live; ++k) set(plain[k] = block.take(), k);
    });
    check_sum(sum_of(plain), live);
    const double by_malloc = each_of([&] {
      for (std::uint32_t k = 0; k < live; ++k) {
        plain[k] = static_cast<bare_cell*>(std::malloc(sizeof(bare_cell)));
        set(plain[k], k);
      }
      for (bare_cell* const each : plain) std::free(each);
    });
    const double by_heap = each_of([&] {
      mine.safe_point();
      for (std::uint32_t k = 0; k < live; ++k) own[k] = mine.make<cell>(k);
    });
    check_sum(sum_of(mine, own), live);
    if (round < 0) continue;
    all[0].ns.push_back(bump);
    all[1].ns.push_back(by_malloc);
    all[2].ns.push_back(by_heap);
  }
  check(mine.heap().counts().own_collections > 0, "no collection was in the time");
  if (job_bench::is_wanted("allocate_young")) job_bench::print("allocate_young", all);
  if (job_bench::is_wanted("allocate_young_malloc")) job_bench::print("allocate_young_malloc", {all[1], all[2]});
}

void fresh(situ::heap_thread& mine) {
  const std::uint32_t n = fresh_count();
  moved_pointer block{n * cell_bytes};
  std::vector<bare_cell*> plain(n);
  std::vector<ref<cell>> own(n);
  std::vector<samples> all{{"bump"}, {"malloc"}, {"situ"}};
  for (int round = -1; round < rounds(); ++round) {
    block.begin_again();
    const double bump = time_of([&] {
      for (std::uint32_t k = 0; k < n; ++k) set(plain[k] = block.take(), k);
    });
    check_sum(sum_of(plain), n);
    const double by_malloc = time_of([&] {
      for (std::uint32_t k = 0; k < n; ++k) {
        plain[k] = static_cast<bare_cell*>(std::malloc(sizeof(bare_cell)));
        set(plain[k], k);
      }
    });
    check_sum(sum_of(plain), n);
    for (bare_cell* const each : plain) std::free(each);
    const double by_heap = time_of([&] {
      for (std::uint32_t k = 0; k < n; ++k) own[k] = mine.make<cell>(k);
    });
    check_sum(sum_of(mine, own), n);
    mine.collect_own();
    if (round < 0) continue;
    all[0].ns.push_back(bump / n);
    all[1].ns.push_back(by_malloc / n);
    all[2].ns.push_back(by_heap / n);
  }
  if (job_bench::is_wanted("allocate_fresh")) job_bench::print("allocate_fresh", all);
}

}  // namespace

void allocations() {
  if (!is_wanted({"allocate_young", "allocate_young_malloc", "allocate_fresh"})) return;
  {
    situ::object_heap heap{{.young_bytes = young_bytes}};
    situ::heap_thread mine{heap};
    if (job_bench::is_first() && is_wanted({"allocate_young", "allocate_young_malloc"})) young(mine);
    situ::barrier();
  }
  situ::object_heap heap{{.young_bytes = std::uint64_t{1} << 30}};
  situ::heap_thread mine{heap};
  if (job_bench::is_first() && job_bench::is_wanted("allocate_fresh")) fresh(mine);
  situ::barrier();
}

}  // namespace heap_bench
