// The kept corpus of cluster_fuzz and mutations of it, without libFuzzer: with any compiler, and under its sanitizers.
//   cluster_replay_test --write-seeds tests/fuzz/corpus/cluster
#include "fuzz/cluster_fuzz.h"
#include "fuzz/corpus.h"
#include "support/places.h"

namespace situ {
namespace {

TEST(cluster_replay, seeds_come_to_what_they_should) {
  for (const test::cluster_seed& seed : test::cluster_seeds())
    EXPECT_EQ(test::send_cluster_input(seed.input).done, seed.done) << seed.name;
}

TEST(cluster_replay, corpus_does_no_harm) {
  EXPECT_EQ(
      test::send_corpus("cluster", [](const std::vector<std::byte>& input) { (void)test::send_cluster_input(input); }),
      test::cluster_seeds().size());
}

TEST(cluster_replay, mutations_of_the_corpus_do_no_harm) {
  const std::uint64_t seed = test::test_seed();
  std::uint64_t round = 0;
  std::size_t done = 0;
  std::size_t denied = 0;
  std::size_t dropped = 0;
  for (const std::filesystem::path& path : test::corpus_files("cluster")) {
    const std::vector<std::byte> input = test::content_of(path);
    for (int i = 0; i < test::rounds(400); ++i) {
      const test::cluster_outcome got = test::send_cluster_input(test::mutated(input, seed, round));
      done += got.done;
      denied += got.denied;
      dropped += got.dropped;
    }
  }
  EXPECT_GT(done, 0U);
  EXPECT_GT(denied, 0U);
  EXPECT_GT(dropped, 0U);
}

}  // namespace
}  // namespace situ

int main(int argc, char** argv) { return situ::test::replay_main(argc, argv, situ::test::cluster_seeds()); }
