// examples/guide/hash_join.cpp with the foundation alone: records of fixed size, batches collected by hand, and a
// lookup that its owner serves.
#include <situ/situ.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

struct customer {
  std::uint64_t number;
  char name[32];
  char country[16];
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

struct turnover {  // of a country
  char country[16];
  std::int64_t cents;
};

void add(std::vector<turnover>& to, const turnover& one) {
  const auto at =
      std::find_if(to.begin(), to.end(), [&](const turnover& t) { return !std::strcmp(t.country, one.country); });
  if (at == to.end())
    to.push_back(one);
  else
    at->cents += one.cents;
}

thread_local std::unordered_map<std::uint64_t, customer> by_number;  // those that belong here
thread_local std::vector<turnover> sums;                             // of this place; at place 0, at the end, of all
thread_local std::int64_t total = 0;

situ::place owner(std::uint64_t number) {
  return situ::place{static_cast<std::uint32_t>(mixed(number) % situ::place_count())};
}

void insert_customers(std::uint64_t first, std::uint64_t last) {
  std::vector<std::vector<customer>> to(situ::place_count());
  for (std::uint64_t n = first; n < last; ++n) {
    customer c{n, {}, {}};
    std::snprintf(c.name, sizeof c.name, "customer %lu", static_cast<unsigned long>(n));
    std::strcpy(c.country, countries[mixed(n) % std::size(countries)]);
    to[owner(n).index()].push_back(c);
  }
  situ::finish([&] {
    for (const situ::place p : situ::places())
      situ::async_at(
          p,
          [](const std::vector<customer>& some) {
            for (const customer& c : some) by_number.emplace(c.number, c);
          },
          to[p.index()]);
  });
}

void join(const std::vector<order>& orders) {
  std::vector<std::vector<order>> to(situ::place_count());
  for (const order& o : orders) to[owner(o.customer).index()].push_back(o);
  for (const situ::place p : situ::places()) {
    std::vector<std::uint64_t> keys;
    for (const order& o : to[p.index()]) keys.push_back(o.customer);
    const auto found = situ::at(
        p,
        [](const std::vector<std::uint64_t>& numbers) {
          std::vector<customer> answer;
          for (const std::uint64_t n : numbers) {
            const auto at = by_number.find(n);
            answer.push_back(at == by_number.end() ? customer{n, {}, "(unknown)"} : at->second);
          }
          return answer;
        },
        keys);
    for (std::size_t i = 0; i < found.size(); ++i) {
      turnover one{{}, to[p.index()][i].cents};
      std::strcpy(one.country, found[i].country);
      add(sums, one);
      total += one.cents;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const std::uint64_t me = situ::here().index(), places = situ::place_count();
  const std::size_t order_count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20'000;

  insert_customers(me * customers_a_place, (me + 1) * customers_a_place);
  situ::barrier();

  std::vector<order> orders(order_count);
  for (std::size_t i = 0; i < order_count; ++i) {
    const std::uint64_t drawn = mixed(me * order_count + i);
    orders[i] = {drawn % (customers_a_place * places + 10),
                 static_cast<std::int64_t>(drawn >> 48)};  // ten unknown ones
  }

  join(orders);
  situ::barrier();
  if (me != 0)
    situ::at(
        situ::place{0},
        [](const std::vector<turnover>& others, std::int64_t cents) {
          for (const turnover& each : others) add(sums, each);
          total += cents;
        },
        sums, total);
  situ::barrier();
  if (me == 0) {
    std::int64_t joined = 0;
    std::sort(sums.begin(), sums.end(),
              [](const turnover& a, const turnover& b) { return std::strcmp(a.country, b.country) < 0; });
    for (const turnover& each : sums) {
      std::printf("%-10s %14ld\n", each.country, static_cast<long>(each.cents));
      joined += each.cents;
    }
    std::printf("%s\n", joined == total ? "all orders are in the sums" : "orders are missing");
  }
}
