// Reads of a field of 1e6 objects, through the table and through pointers: in order, at random, and along a chain in
// which each object names the next. The plain objects lie in a block of the same segment, on pages of the same kind, in
// the same order and as far apart as the objects of the heap.
#include <algorithm>
#include <numeric>
#include <random>

#include "heap/cases.h"

namespace heap_bench {
namespace {

using job_bench::is_quick;
using job_bench::samples;
using situ::ref;

std::uint32_t object_count() { return is_quick() ? 10'000 : 1'000'000; }
int rounds() { return is_quick() ? 1 : 15; }

// Places of plain objects as a heap has them: chunks of 256 KiB with a header of 64 bytes.
class plain_objects {
 public:
  explicit plain_objects(std::size_t n) : block_{situ::allocate_bytes(bytes_of(n), {.alignment = chunk})} {}
  ~plain_objects() { situ::deallocate(block_); }
  plain_objects(const plain_objects&) = delete;
  plain_objects& operator=(const plain_objects&) = delete;

  [[nodiscard]] plain_cell* at(std::size_t i) const {
    return reinterpret_cast<plain_cell*>(block_.local() + i / each_chunk * chunk + 64 + i % each_chunk * cell_bytes);
  }

 private:
  static constexpr std::size_t chunk = std::size_t{256} << 10;
  static constexpr std::size_t each_chunk = (chunk - 64) / cell_bytes;
  static std::size_t bytes_of(std::size_t n) { return (n / each_chunk + 1) * chunk; }
  situ::ptr<std::byte> block_;
};

constexpr std::uint32_t reads_a_poll = 1000;

std::uint64_t sum_of(situ::heap_thread& mine, const std::vector<ref<cell>>& order) {
  situ::heap_section section{mine};
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < order.size(); section.poll()) {
    const std::size_t end = std::min(i + reads_a_poll, order.size());
    for (; i < end; ++i) sum += section.load(order[i], &cell::value);
  }
  return sum;
}
std::uint64_t sum_of(const std::vector<plain_cell*>& order) {
  std::uint64_t sum = 0;
  for (const plain_cell* const each : order) sum += situ::detail::racing_load(each->value);
  return sum;
}
std::uint64_t sum_of_chain(situ::heap_thread& mine, ref<cell> at) {
  situ::heap_section section{mine};
  std::uint64_t sum = 0;
  for (; at; section.poll())
    for (std::uint32_t i = 0; i < reads_a_poll && at; ++i) {
      const auto* const object = reinterpret_cast<const cell*>(section.object(at.raw())->bytes());
      sum += situ::detail::racing_load(object->value);
      at = situ::detail::racing_load(object->next);
    }
  return sum;
}
std::uint64_t sum_of_chain(const plain_cell* at) {
  std::uint64_t sum = 0;
  for (; at != nullptr; at = situ::detail::racing_load(at->next)) sum += situ::detail::racing_load(at->value);
  return sum;
}

std::uint64_t expected_sum() { return std::uint64_t{object_count()} * (object_count() - 1) / 2; }

template <class Plain, class Own>
void compare(const char* name, Plain plain, Own own) {
  if (!job_bench::is_wanted(name)) return;
  std::vector<samples> all{{"pointer"}, {"situ"}};
  const auto take = [&](samples& into, auto& body, bool is_kept) {
    std::uint64_t sum = 0;
    const double took = time_of([&] { sum = body(); });
    check(sum == expected_sum(), "a sum of fields is wrong");
    if (is_kept) into.ns.push_back(took / object_count());
  };
  for (int round = -1; round < rounds(); ++round) {  // the first one warms up
    take(all[0], plain, round >= 0);
    take(all[1], own, round >= 0);
  }
  job_bench::print(name, all);
}

void link(situ::heap_thread& mine, const std::vector<ref<cell>>& own, const std::vector<plain_cell*>& plain) {
  for (std::size_t i = 0; i < own.size(); ++i) {
    mine.store(own[i], &cell::next, i + 1 < own.size() ? own[i + 1] : ref<cell>{});
    plain[i]->next = i + 1 < plain.size() ? plain[i + 1] : nullptr;
  }
}

// By place 0. The chain's objects, and their entries, are in random order.
void measure(situ::heap_thread& mine) {
  const std::uint32_t n = object_count();
  plain_objects there{n};
  std::vector<ref<cell>> own(n);
  std::vector<plain_cell*> plain(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    own[i] = mine.make<cell>(i);
    plain[i] = new (there.at(i)) plain_cell{{}, nullptr, i, {}};
  }
  std::vector<ref<cell>>* kept = &own;
  const std::size_t roots = mine.add_roots([&](const auto& visit) {
    for (ref<cell>& each : *kept) {
      std::uint32_t word = each.raw();
      visit(word);
      each = ref<cell>{word};
    }
  });
  mine.collect_own();  // they are shared, and lie in the order in which they were made
  compare("read_in_order", [&] { return sum_of(plain); }, [&] { return sum_of(mine, own); });

  std::vector<std::uint32_t> shuffled(n);
  std::iota(shuffled.begin(), shuffled.end(), 0U);
  std::ranges::shuffle(shuffled, std::mt19937{1});
  std::vector<ref<cell>> own_shuffled(n);
  std::vector<plain_cell*> plain_shuffled(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    own_shuffled[i] = own[shuffled[i]];
    plain_shuffled[i] = plain[shuffled[i]];
  }
  if (job_bench::is_wanted("read_at_random")) {
    kept = &own_shuffled;
    mine.collect({.renumbers = true});  // entries in the order of use; the objects lie as before
    compare("read_at_random", [&] { return sum_of(plain_shuffled); }, [&] { return sum_of(mine, own_shuffled); });
    // Entries in the order of the objects again, for the chain.
    for (std::uint32_t i = 0; i < n; ++i) own[shuffled[i]] = own_shuffled[i];
    kept = &own;
    mine.collect({.renumbers = true});
    for (std::uint32_t i = 0; i < n; ++i) own_shuffled[i] = own[shuffled[i]];
  }

  link(mine, own_shuffled, plain_shuffled);
  situ::rooted<cell> head{mine, own_shuffled.front()};
  const plain_cell* const first = plain_shuffled.front();
  const auto along = [&] { return sum_of_chain(mine, head.get()); };
  compare("read_chain", [&] { return sum_of_chain(first); }, along);

  if (!is_wanted({"read_chain_sorted", "read_chain_made_sorted"})) return;
  mine.remove_roots(roots);
  mine.collect({.sorts = true, .renumbers = true});
  plain_objects sorted{n};
  for (std::uint32_t i = 0; i < n; ++i)
    new (sorted.at(i)) plain_cell{{}, i + 1 < n ? sorted.at(i + 1) : nullptr, plain_shuffled[i]->value, {}};
  compare("read_chain_sorted", [&] { return sum_of_chain(sorted.at(0)); }, along);
  compare("read_chain_made_sorted", [&] { return sum_of_chain(first); }, along);
}

}  // namespace

void reads() {
  if (!is_wanted({"read_in_order", "read_at_random", "read_chain", "read_chain_sorted", "read_chain_made_sorted"}))
    return;
  situ::object_heap heap{{.collect_after = 0}};
  situ::heap_thread mine{heap};
  if (job_bench::is_first()) measure(mine);
  situ::barrier();
}

}  // namespace heap_bench
