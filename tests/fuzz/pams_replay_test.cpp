// The kept corpus of pams_fuzz and mutations of it, without libFuzzer: with any compiler, and under its sanitizers.
//   pams_replay_test --write-seeds tests/fuzz/corpus/pams
#include "fuzz/corpus.h"
#include "fuzz/pams_fuzz.h"
#include "support/places.h"

namespace situ {
namespace {

TEST(pams_replay, seeds_come_to_what_they_should) {
  for (const test::pams_seed& seed : test::pams_seeds()) {
    const test::pams_outcome got = test::read_pams(seed.input);
    EXPECT_EQ(got.words, seed.outcome.words) << seed.name;
    EXPECT_EQ(got.errors, seed.outcome.errors) << seed.name;
  }
}

TEST(pams_replay, corpus_does_no_harm) {
  const auto read = [](const std::vector<std::byte>& input) { (void)test::read_pams(input); };
  EXPECT_EQ(test::send_corpus("pams", read), test::pams_seeds().size());
}

TEST(pams_replay, mutations_of_the_corpus_do_no_harm) {
  const std::uint64_t seed = test::test_seed();
  std::uint64_t round = 0;
  std::size_t taken = 0, refused = 0;
  for (const std::filesystem::path& path : test::corpus_files("pams")) {
    const std::vector<std::byte> input = test::content_of(path);
    for (int i = 0; i < test::rounds(200); ++i) {
      const test::pams_outcome got = test::read_pams(test::mutated(input, seed, round));
      taken += got.words;
      refused += got.errors != 0 ? 1 : 0;
    }
  }
  EXPECT_GT(taken, 0U);
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace situ

int main(int argc, char** argv) { return situ::test::replay_main(argc, argv, situ::test::pams_seeds()); }
