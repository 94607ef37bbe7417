// two_budgets: memory by intent, on a machine with two memories or on one that pretends to have them. The places take
// blocks in turns. A block lies in the memory that comes first for its intent, as far as that has room, and for the
// rest in the next one; if neither has room, the allocation is refused. Freed memory serves the intent again.
//
//   SITU_ORDERINGS=examples/first_uses/two_budgets.toml situ run -n 2 two_budgets [MiB of a block, 24]
#include <situ/memory/placement.h>
#include <situ/situ.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

struct block {
  situ::ptr<std::uint64_t> words;
  std::size_t count;
  std::string lies_in;  // as text: "16 MiB in fast, 8 MiB in slow"
};

// A block of the calling place, full of `number`; none if no memory has room for it.
std::optional<block> take(std::size_t count, std::uint64_t number) {
  try {
    const auto words = situ::allocate<std::uint64_t>(count, situ::intent::bandwidth);
    std::fill_n(words.local(), count, number);
    return block{words, count, situ::placement(words).to_text()};
  } catch (const situ::error& refused) {
    if (refused.code() != situ::errc::out_of_memory) throw;
    return std::nullopt;
  }
}

std::uint64_t sum_of(situ::ptr<std::uint64_t> words, std::size_t count) {
  return std::accumulate(words.local(), words.local() + count, std::uint64_t{0});
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (situ::here().index() != 0) return 0;  // serves calls until all leave
  const std::size_t count = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 24) * mib / sizeof(std::uint64_t);

  std::vector<block> blocks;
  for (std::uint64_t number = 0;; ++number) {
    const situ::place turn{static_cast<std::uint32_t>(number % situ::place_count())};
    std::optional<block> taken = situ::at(turn, &take, count, number);
    if (!taken) {
      std::printf("block %zu: refused, there is no room\n", blocks.size());
      break;
    }
    std::printf("block %zu, of place %u: %s\n", blocks.size(), turn.index(), taken->lies_in.c_str());
    blocks.push_back(std::move(*taken));
  }

  // Each block is summed up where it lies. The blocks hold 0, 1, 2, ...
  std::uint64_t sum = 0;
  for (const block& each : blocks) sum += situ::at(each.words.place(), &sum_of, each.words, each.count);
  const bool is_right = sum == count * blocks.size() * (blocks.size() - 1) / 2;
  std::printf("%zu blocks, the contents are %s\n", blocks.size(), is_right ? "right" : "wrong");

  const std::string first = blocks.empty() ? "" : blocks.front().lies_in;
  if (!blocks.empty()) situ::deallocate(blocks.front().words);
  if (const std::optional<block> again = situ::at(situ::place{0}, &take, count, 0); again && !blocks.empty()) {
    std::printf("the first block is freed; one like it: %s\n", again->lies_in.c_str());
    situ::deallocate(again->words);
  }
  for (std::size_t i = 1; i < blocks.size(); ++i) situ::deallocate(blocks[i].words);
  return is_right ? 0 : 1;
}
