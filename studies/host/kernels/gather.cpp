// Loads at random addresses, which wait for nothing: without a branch, or each with one that hangs on its value and
// that nothing foretells. No row of the study, but what its model of wrong paths is held against
// (docs/studies/host.md).
#include "array.h"
#include "kernels.h"

#include <bit>
#include <memory>

namespace situ::studies::host {
namespace {

constexpr std::size_t loads = 400'000;

struct gather {
  gather(std::uint64_t bytes, bool branches) : table{std::bit_floor(bytes / 8)}, with_branch{branches} {
    numbers random{13};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = random();
  }
  // The upper bits of a linear congruential generator, computed beside the loads.
  template <class Use>
  void each(Use&& use) {
    const int shift = 64 - std::countr_zero(table.size());
    const std::uint64_t* const from = table.data();
    std::uint64_t random = 17;
    std::uint64_t added = 0;
    for (std::size_t i = 0; i < loads; ++i) {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      use(added, from[random >> shift]);
    }
    sum = added;
  }
  // The empty statements keep the compiler from making a choice of values out of the branch.
  [[gnu::noinline]] void run() {
    if (!with_branch) return each([](std::uint64_t& added, std::uint64_t value) { added += value; });
    each([](std::uint64_t& added, std::uint64_t value) {
      if ((value & 1) != 0) {
        added += value;
        asm volatile("" : "+r"(added));
      } else {
        added ^= value;
        asm volatile("" : "+r"(added));
      }
    });
  }
  array<std::uint64_t> table;
  bool with_branch;
  std::uint64_t sum = 0;
};

kernel make(std::uint64_t bytes, bool branches) {
  const auto its = std::make_shared<gather>(bytes, branches);
  return {.prepare = [] {}, .run = [its] { its->run(); }, .checksum = [its] { return its->sum; }};
}

}  // namespace

kernel make_gather(std::uint64_t bytes) { return make(bytes, false); }
kernel make_gather_branch(std::uint64_t bytes) { return make(bytes, true); }

}  // namespace situ::studies::host
