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
  std::size_t seeds = 0;
  for (const std::filesystem::path& path : test::corpus_files("cluster")) {
    SCOPED_TRACE(path.filename().string());
    (void)test::send_cluster_input(test::content_of(path));
    seeds += path.filename().string().starts_with("seed-") ? 1 : 0;
  }
  EXPECT_EQ(seeds, test::cluster_seeds().size());
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
      std::vector<std::byte> changed = input;
      for (std::uint64_t times = 1 + test::mixed(seed, ++round) % 4; times > 0 && !changed.empty(); --times) {
        const std::uint64_t random = test::mixed(seed + times, round);
        const std::size_t at = random / 64 % changed.size();
        if (random % 16 == 0) {
          changed.resize(at);
        } else if (random % 16 == 1) {
          changed.insert(changed.end(), input.begin(), input.end());
        } else {
          changed[at] ^= std::byte(1U << (random >> 3) % 8);
        }
      }
      const test::cluster_outcome got = test::send_cluster_input(changed);
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
