// Data spread over places, beside the same work at one place: `situ bench everyday`, or by hand situ run -n 2 --bind
// core situ_bench_spread (bench/support/job_samples.h).
#include <situ/situ.h>
#include <situ/spread/conveyor.h>
#include <situ/spread/distributed_map.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "cases.h"

#if defined(SITU_BENCH_WITH_ABSL)
#include <absl/container/flat_hash_map.h>
#endif

namespace {

using namespace situ_spread;

// --- GUPS: random updates of a table ---

void measure_gups() {
  const std::size_t words = is_quick() ? 1 << 16 : std::size_t{1} << 27;  // 1 GiB
  const std::size_t updates = is_quick() ? 1 << 14 : 1 << 22;
  const std::uint32_t places = situ::place_count();
  const std::size_t own_words = std::bit_floor(words / places);
  const situ::ptr<std::uint64_t> own = situ::allocate<std::uint64_t>(own_words, {.huge_pages = true});
  std::fill_n(own.local(), own_words, 0);
  const std::vector<situ::ptr<std::uint64_t>> parts = situ::all_gather(own);
  situ::ptr<std::uint64_t> whole;
  if (is_first()) {
    whole = situ::allocate<std::uint64_t>(own_words * places, {.huge_pages = true});
    std::fill_n(whole.local(), own_words * places, 0);
  }
  std::vector<samples> all{{"local_atomics"}, {"one_by_one"}, {"one_by_one_by_all"}, {"aggregated_by_all"}};
  // The word of a random number: the same in all subjects, and without a division, which takes as long as what is
  // measured.
  const auto owner_of = [=](std::uint64_t r) { return static_cast<std::uint32_t>((r >> 32) * places >> 32); };
  const auto index_of = [mask = own_words - 1](std::uint64_t r) { return r & mask; };
  std::uint64_t* const table = own.local();
  situ::conveyor<std::uint64_t> conveyor{[=](std::uint64_t r) { table[index_of(r)] ^= r; }};
  std::uint64_t random = 0x9e3779b97f4a7c15 * (situ::here().index() + 1);
  // The next address is looked up before a word is changed: a load behind a locked operation waits for that.
  const auto one_by_one = [&](std::size_t count) {
    const auto word_of = [&](std::uint64_t r) { return parts[owner_of(r)] + static_cast<std::ptrdiff_t>(index_of(r)); };
    std::uint64_t r = next_random(random);
    situ::ptr<std::uint64_t> word = word_of(r);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t next = next_random(random);
      const situ::ptr<std::uint64_t> next_word = word_of(next);
      (void)situ::atomic_fetch_xor(word, r);
      r = next;
      word = next_word;
    }
  };
  for (int sample = 0; sample < (is_quick() ? 1 : 7); ++sample) {
    all[0].ns.push_back(
        time_alone([&] {
          for (std::size_t i = 0; i < updates; ++i) {
            const std::uint64_t r = next_random(random);
            (void)std::atomic_ref<std::uint64_t>{whole.local()[owner_of(r) * own_words + index_of(r)]}.fetch_xor(
                r, std::memory_order_relaxed);
          }
        }) /
        static_cast<double>(updates));
    all[1].ns.push_back(time_alone([&] { one_by_one(updates); }) / static_cast<double>(updates));
    all[2].ns.push_back(time_together([&] { one_by_one(updates / places); }) / static_cast<double>(updates));
    all[3].ns.push_back(time_together([&] {
                          for (std::size_t i = 0; i < updates / places; ++i) {
                            const std::uint64_t r = next_random(random);
                            conveyor.push(situ::place{owner_of(r)}, r);
                          }
                          conveyor.flush();
                        }) /
                        static_cast<double>(updates));
  }
  print("gups", all);
  situ::barrier();
  situ::deallocate(own);
  situ::deallocate(whole);
}

// --- a hash table with string keys, drawn by Zipf's law with exponent 0.99 ---

class zipf {
 public:
  explicit zipf(std::size_t n) : sums_(n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sums_[i] = sum += std::pow(static_cast<double>(i + 1), -0.99);
  }
  template <class Random>
  std::size_t operator()(Random& random) const {
    const double at = std::uniform_real_distribution<>{0, sums_.back()}(random);
    return static_cast<std::size_t>(std::lower_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

std::vector<std::string> draw_keys(std::size_t count, const zipf& law, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t n = law(random) * 0x9e3779b97f4a7c15;  // so that frequent keys are no neighbours
    keys.push_back("user" + std::to_string(n));                // as YCSB has them: some 23 characters
  }
  return keys;
}

template <class Map>
void take_local(samples& inserts, samples& finds, const std::vector<std::string>& in,
                const std::vector<std::string>& out) {
  Map map;
  inserts.ns.push_back(time_alone([&] {
                         for (const std::string& key : in) map.try_emplace(key, key.size());
                       }) /
                       static_cast<double>(in.size()));
  std::uint64_t sum = 0;
  finds.ns.push_back(time_alone([&] {
                       for (const std::string& key : out)
                         if (const auto found = map.find(key); found != map.end()) sum += found->second;
                     }) /
                     static_cast<double>(out.size()));
  if (sum == 1) std::puts("");  // used
}

void measure_map() {
  const std::size_t count = is_quick() ? 2000 : 1'000'000;
  const std::uint32_t places = situ::place_count();
  const zipf law{count};
  // Place 0 has all keys, for the reference; each place the share that it uses with Situ.
  const auto share = [&](std::vector<std::string> all) {
    std::vector<std::string> mine;
    for (std::size_t i = situ::here().index(); i < all.size(); i += places) mine.push_back(all[i]);
    return mine;
  };
  const std::vector<std::string> in = draw_keys(count, law, 1);
  const std::vector<std::string> out = draw_keys(count, law, 2);
  const std::vector<std::string> my_in = share(in), my_out = share(out);
  std::vector<samples> inserts{
#if defined(SITU_BENCH_WITH_ABSL)
      {"absl_flat_hash_map"},
#endif
      {"std_unordered_map"},
      {"situ"}};
  std::vector<samples> finds = inserts;
  finds.push_back({"situ_in_batches"});
  finds.push_back({"situ_in_batches_by_one"});
  samples one_by_one{"situ_by_calls"};
  for (int sample = 0; sample < (is_quick() ? 1 : 5); ++sample) {
    std::size_t at = 0;
#if defined(SITU_BENCH_WITH_ABSL)
    take_local<absl::flat_hash_map<std::string, std::uint64_t>>(inserts[at], finds[at], in, out);
    ++at;
#endif
    take_local<std::unordered_map<std::string, std::uint64_t>>(inserts[at], finds[at], in, out);
    ++at;
    situ::distributed_map<std::string, std::uint64_t> map;
    inserts[at].ns.push_back(time_together([&] {
                               for (const std::string& key : my_in) map.insert(key, key.size());
                               map.flush();
                             }) /
                             static_cast<double>(count));
    std::uint64_t sum = 0;
    finds[at].ns.push_back(time_together([&] {
                             for (const std::string& key : my_out) sum += map.find(key).value_or(0);
                           }) /
                           static_cast<double>(count));
    const auto in_batches = [&](const std::vector<std::string>& keys) {
      constexpr std::size_t batch = 1000;
      for (std::size_t first = 0; first < keys.size(); first += batch)
        for (const auto& found : map.find(std::span{keys}.subspan(first, std::min(batch, keys.size() - first))))
          sum += found.value_or(0);
    };
    ++at;
    finds[at].ns.push_back(time_together([&] { in_batches(my_out); }) / static_cast<double>(count));
    ++at;
    finds[at].ns.push_back(time_alone([&] { in_batches(out); }) / static_cast<double>(count));
    if (sum == 1) std::puts("");  // used
    // What reading beside the owner saves: the same by messages.
    const std::size_t calls = count / 50;
    one_by_one.ns.push_back(time_together([&] {
                              for (std::size_t i = 0; i < calls / places; ++i)
                                sum +=
                                    map.visit(my_out[i], [](std::optional<std::uint64_t>& v) { return v.value_or(0); });
                            }) /
                            static_cast<double>(calls));
  }
  finds.push_back(one_by_one);
  if (is_wanted("map_insert")) print("map_insert", inserts);
  if (is_wanted("map_find")) print("map_find", finds);
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (is_wanted("gups")) measure_gups();
  if (is_wanted("map_insert") || is_wanted("map_find")) measure_map();
  measure_arrays();
  if (is_wanted("uts")) measure_uts();
  if (is_wanted("sort")) measure_sort();
  print_end();
  return 0;
}
