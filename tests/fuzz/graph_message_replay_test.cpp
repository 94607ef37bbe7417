// The kept corpus of graph_message_fuzz, its seeds and mutations of both, without libFuzzer: with any compiler, and
// under its sanitizers.
//   graph_message_replay_test --write-seeds tests/fuzz/corpus/graph_message
#include "fuzz/corpus.h"
#include "fuzz/graph_message_fuzz.h"
#include "support/places.h"

// What libFuzzer offers to mutators.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
  static std::uint64_t state = 1;
  const std::uint64_t random = state = situ::test::mixed(state);
  if (size == 0 || (random % 8 == 0 && size < most)) {
    data[size] = static_cast<std::uint8_t>(random >> 8);
    return size + 1;
  }
  if (random % 8 == 1) return random / 8 % size;
  data[random / 64 % size] ^= static_cast<std::uint8_t>(1U << (random >> 3) % 8);
  return size;
}

namespace situ {
namespace {

TEST(graph_message_replay, seeds_decode) {
  for (const test::fuzz_seed& seed : test::fuzz_seeds()) EXPECT_TRUE(test::read_fuzz_input(seed.input)) << seed.name;
}

// Those named seed-* were written by this program; the others were found, and may be refused.
TEST(graph_message_replay, corpus_does_no_harm) {
  std::size_t seeds = 0;
  for (const std::filesystem::path& path : test::corpus_files("graph_message")) {
    SCOPED_TRACE(path.filename().string());
    const bool decodes = test::read_fuzz_input(test::content_of(path));
    if (path.filename().string().starts_with("seed-")) {
      EXPECT_TRUE(decodes);
      ++seeds;
    }
  }
  EXPECT_EQ(seeds, test::fuzz_seeds().size());
}

TEST(graph_message_replay, mutations_of_the_corpus_do_no_harm) {
  const std::uint64_t seed = test::test_seed();
  std::uint64_t round = 0;
  std::size_t decoded = 0;
  for (const std::filesystem::path& path : test::corpus_files("graph_message")) {
    const std::vector<std::byte> input = test::content_of(path);
    for (int i = 0; i < test::rounds(200); ++i) {
      std::vector<std::byte> changed = input;
      changed.resize(input.size() + 64);
      std::size_t size = input.size();
      for (std::uint64_t times = 1 + test::mixed(seed, round) % 3; times > 0; --times)
        size = LLVMFuzzerCustomMutator(reinterpret_cast<std::uint8_t*>(changed.data()), size, changed.size(),
                                       static_cast<unsigned>(test::mixed(seed + 1, ++round)));
      changed.resize(size);
      decoded += test::read_fuzz_input(changed);
    }
  }
  EXPECT_GT(decoded, 0U);
}

}  // namespace
}  // namespace situ

int main(int argc, char** argv) { return situ::test::replay_main(argc, argv, situ::test::fuzz_seeds()); }
