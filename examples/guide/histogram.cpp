// histogram: all places throw dice and count the sums in one table, whose counters lie in turn at all places. Nobody
// serves anybody: a place adds to a counter wherever it lies, and place 0 reads them all.
//
//   situ run -n 4 histogram [throws of each place, 100000]
#include <situ/situ.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr std::size_t sums = 11;  // 2 to 12

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const std::uint64_t throws = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;

  // Counter i lies at place i % place_count(): each place allocates its own, and tells the others where. Who has been
  // told sees the zeros, too.
  const situ::ptr<std::uint64_t> mine = situ::allocate<std::uint64_t>(sums);
  const std::vector<std::uint64_t> zeros(sums);
  situ::put(mine, zeros.data(), sums);
  const std::vector<situ::ptr<std::uint64_t>> of = situ::all_gather(mine);
  const auto counter = [&](std::size_t i) { return of[i % of.size()] + static_cast<std::ptrdiff_t>(i / of.size()); };

  std::mt19937 draw{situ::here().index()};
  std::uniform_int_distribution<std::size_t> die{1, 6};
  std::array<std::uint64_t, sums> own{};  // counted beside, to check
  for (std::uint64_t i = 0; i < throws; ++i) {
    const std::size_t sum = die(draw) + die(draw) - 2;
    situ::atomic_fetch_add(counter(sum), std::uint64_t{1});
    ++own[sum];
  }

  situ::reduce(std::span{own}, std::plus<>{});  // at place 0: everybody's, and so all have added
  if (situ::here().index() == 0) {
    bool is_right = true;
    for (std::size_t i = 0; i < sums; ++i) {
      const std::uint64_t count = situ::get(counter(i));
      is_right = is_right && count == own[i];
      const std::uint64_t stars = count * 240 / (throws * situ::place_count() + 1);
      std::printf("%2zu %9lu %s\n", i + 2, static_cast<unsigned long>(count), std::string(stars, '*').c_str());
    }
    std::puts(is_right ? "every throw is counted" : "throws are missing");
  }
  situ::barrier();  // place 0 has read
  situ::deallocate(mine);
}
