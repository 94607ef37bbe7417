// The kept corpus of frames_fuzz and mutations of it, without libFuzzer: with any compiler, and under its sanitizers.
//   frames_replay_test --write-seeds tests/fuzz/corpus/frames
#include "fuzz/corpus.h"
#include "fuzz/frames_fuzz.h"
#include "support/places.h"

namespace situ {
namespace {

TEST(frames_replay, seeds_come_to_what_they_should) {
  for (const test::frames_seed& seed : test::frames_seeds()) {
    const test::frames_outcome got = test::hear_frames(seed.input);
    EXPECT_EQ(got.taken, seed.taken) << seed.name;
    EXPECT_EQ(got.refused, 0U) << seed.name;
  }
}

TEST(frames_replay, corpus_does_no_harm) {
  EXPECT_EQ(test::send_corpus("frames", [](const std::vector<std::byte>& input) { (void)test::hear_frames(input); }),
            test::frames_seeds().size());
}

TEST(frames_replay, mutations_of_the_corpus_do_no_harm) {
  const std::uint64_t seed = test::test_seed();
  std::uint64_t round = 0;
  test::frames_outcome all;
  for (const std::filesystem::path& path : test::corpus_files("frames")) {
    const std::vector<std::byte> input = test::content_of(path);
    for (int i = 0; i < test::rounds(400); ++i) {
      const test::frames_outcome got = test::hear_frames(test::mutated(input, seed, round));
      all.taken += got.taken;
      all.refused += got.refused;
    }
  }
  EXPECT_GT(all.taken, 0U);
  EXPECT_GT(all.refused, 0U);
}

}  // namespace
}  // namespace situ

int main(int argc, char** argv) { return situ::test::replay_main(argc, argv, situ::test::frames_seeds()); }
