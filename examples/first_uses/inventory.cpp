// inventory: a stock that outlives its programs. It is a pool, a file whose objects are memory, and each line of the
// input is one transaction. A line that fails changes nothing, and neither does one whose process is killed in it.
//
//   inventory FILE <<END
//   put bolts shelf-2 100       adds 100 bolts, on this shelf
//   take bolts 30               refused if there are fewer
//   die bolts 5                 takes 5 bolts, and is killed before the total is right again
//   list                        each item, and the total
//   END
#include <situ/pool/pool.h>
#include <situ/pool/pool_ordered_map.h>
#include <situ/pool/pool_string.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

struct item {
  situ::pool_string shelf;
  long count;
};
struct stock {
  situ::pool_ordered_map<situ::pool_string, item> items;
  long total;  // of all items: two places that have to change together
};

void put(situ::pool& pool, const std::string& name, const std::string& shelf, long count) {
  pool.transact([&](situ::transaction& t) {
    stock* const all = pool.root<stock>("stock");
    item& one = *all->items.emplace(t, name).first;  // may be written until the transaction ends
    one.shelf.assign(t, shelf);
    one.count += count;
    t.set(all->total, all->total + count);
  });
}

void take(situ::pool& pool, const std::string& name, long count, bool dies) {
  pool.transact([&](situ::transaction& t) {
    stock* const all = pool.root<stock>("stock");
    item& one = *all->items.emplace(t, name).first;
    one.count -= count;
    if (dies) std::raise(SIGKILL);
    t.set(all->total, all->total - count);
    if (one.count < 0) throw std::invalid_argument{"there are only " + std::to_string(one.count + count)};
    if (one.count == 0) all->items.erase(t, name);
  });
}

// False if the total is not that of the items.
bool list(const situ::pool& pool) {
  return pool.read([&] {
    const stock* const all = pool.root<stock>("stock");
    long sum = 0;
    for (auto at = all->items.begin(); at != all->items.end(); ++at) {
      std::printf("%6ld %s (%s)\n", at.value().count, std::string{at.key()}.c_str(), at.value().shelf.c_str());
      sum += at.value().count;
    }
    std::printf("%6ld in all, %s\n", all->total,
                sum == all->total ? "as the items say" : "but the items say otherwise");
    return sum == all->total;
  });
}

bool run(situ::pool& pool, const std::string& line) {
  std::istringstream words{line};
  std::string what, name, shelf;
  long count = 0;
  words >> what;
  if (what == "list") return list(pool);
  if (what == "put" && words >> name >> shelf >> count && count > 0) {
    put(pool, name, shelf, count);
    return true;
  }
  if ((what == "take" || what == "die") && words >> name >> count && count > 0) {
    take(pool, name, count, what == "die");
    return true;
  }
  throw std::invalid_argument{"a line is `put NAME SHELF COUNT`, `take NAME COUNT`, `die NAME COUNT` or `list`"};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: inventory FILE <lines\n");
    return 2;
  }
  const std::filesystem::path file = argv[1];
  situ::pool pool = std::filesystem::exists(file) ? situ::pool::open(file) : situ::pool::create(file);
  if (pool.root<stock>("stock") == nullptr)
    pool.transact([](situ::transaction& t) { t.set_root("stock", t.make<stock>()); });

  bool is_right = true;
  for (std::string line; std::getline(std::cin, line);) try {
      is_right = run(pool, line) && is_right;
    } catch (const std::invalid_argument& refused) {
      std::printf("%s: refused, %s\n", line.c_str(), refused.what());
    }
  return is_right ? 0 : 1;
}
