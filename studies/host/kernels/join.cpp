// A hash join: a table is built of one side's tuples, in open addressing with linear probing, half full at most; each
// tuple of the other side, four times as many, is looked up, and the payloads of the pairs are added up. Three of four
// find one.
#include "array.h"
#include "kernels.h"

#include <bit>
#include <memory>

namespace situ::studies::host {
namespace {

struct tuple {
  std::uint64_t key;  // 0: no tuple
  std::uint64_t payload;
};

struct join {
  explicit join(std::size_t tuples)
      : small{tuples}, large{tuples * 4}, table{std::bit_ceil(tuples * 2)}, shift{64 - std::countr_zero(table.size())} {
    numbers random{11};
    const std::vector<std::uint32_t> order = random_order(tuples, random);
    for (std::size_t i = 0; i < tuples; ++i) small[i] = {order[i] + 1, random()};
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = {random.below(tuples * 4 / 3) + 1, random()};
  }
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const noexcept { return key * 0x9e3779b97f4a7c15ULL >> shift; }
  void empty() const {
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = {};
  }
  [[gnu::noinline]] void run() {
    const std::size_t mask = table.size() - 1;
    tuple* const slots = table.data();
    for (std::size_t i = 0; i < small.size(); ++i) {
      std::size_t at = slot_of(small[i].key);
      while (slots[at].key != 0) at = (at + 1) & mask;
      slots[at] = small[i];
    }
    std::uint64_t added = 0;
    for (std::size_t i = 0; i < large.size(); ++i) {
      const std::uint64_t key = large[i].key;
      std::size_t at = slot_of(key);
      while (slots[at].key != key && slots[at].key != 0) at = (at + 1) & mask;
      if (slots[at].key == key) added += slots[at].payload ^ large[i].payload;
    }
    sum = added;
  }
  array<tuple> small, large, table;
  int shift;
  std::uint64_t sum = 0;
};

}  // namespace

kernel make_join(std::uint64_t tuples) {
  const auto its = std::make_shared<join>(tuples);
  return {.prepare = [its] { its->empty(); }, .run = [its] { its->run(); }, .checksum = [its] { return its->sum; }};
}

}  // namespace situ::studies::host
