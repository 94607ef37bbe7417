// hash_join: customers joined with orders, and the turnover of each country. Both tables lie spread over the places, as
// they came; the join's index is a distributed map, and maps of sums are combined by a reduction.
//
//   situ run -n 4 hash_join [orders of each place, 20000]
//
//   customers of a place --insert--> by_number (id -> customer)
//   orders of a place --find in batches--^    sums (country -> turnover) of a place --reduce--> place 0
#include <situ/situ.h>
#include <situ/spread/distributed_map.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

struct customer {
  std::string name;
  std::string country;
};
struct order {
  std::uint64_t customer;
  std::int64_t cents;
};

constexpr const char* countries[] = {"Kenya", "Norway", "Peru", "Samoa"};
constexpr std::uint64_t customers_a_place = 1000;

// As if read from a file: the same numbers in every run.
std::uint64_t mixed(std::uint64_t n) {
  n = (n ^ n >> 31) * 0x7fb5d329728ea185;
  n = (n ^ n >> 27) * 0x81dadef4bc2dd44d;
  return n ^ n >> 33;
}

using turnover = std::map<std::string, std::int64_t>;  // of each country

turnover add_all(turnover to, const turnover& from) {
  for (const auto& [country, cents] : from) to[country] += cents;
  return to;
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const std::uint64_t me = situ::here().index(), places = situ::place_count();
  const std::size_t order_count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20'000;

  situ::distributed_map<std::uint64_t, customer> by_number;
  for (std::uint64_t n = me * customers_a_place; n < (me + 1) * customers_a_place; ++n)
    by_number.insert(n, {"customer " + std::to_string(n), countries[mixed(n) % std::size(countries)]});
  by_number.drain();

  std::vector<order> orders(order_count);
  for (std::size_t i = 0; i < order_count; ++i) {
    const std::uint64_t drawn = mixed(me * order_count + i);
    orders[i] = {drawn % (customers_a_place * places + 10),
                 static_cast<std::int64_t>(drawn >> 48)};  // ten unknown ones
  }

  std::vector<std::uint64_t> keys(order_count);
  std::transform(orders.begin(), orders.end(), keys.begin(), [](const order& each) { return each.customer; });
  const auto found = by_number.find(keys);

  turnover sums;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < order_count; ++i) {
    sums[found[i] ? found[i]->country : "(unknown)"] += orders[i].cents;
    total += orders[i].cents;
  }
  sums = situ::reduce(std::move(sums), add_all);
  total = situ::all_reduce(total, std::plus<>{});
  if (situ::here().index() == 0) {
    std::int64_t joined = 0;
    for (const auto& [country, cents] : sums) {
      std::printf("%-10s %14ld\n", country.c_str(), static_cast<long>(cents));
      joined += cents;
    }
    std::printf("%s\n", joined == total ? "all orders are in the sums" : "orders are missing");
  }
}
