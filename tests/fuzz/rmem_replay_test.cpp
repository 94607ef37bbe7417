// The kept corpus of rmem_fuzz and mutations of it, without libFuzzer: with any compiler, and under its sanitizers.
//   rmem_replay_test --write-seeds tests/fuzz/corpus/rmem
#include "fuzz/corpus.h"
#include "fuzz/rmem_fuzz.h"
#include "support/places.h"

namespace situ {
namespace {

TEST(rmem_replay, seeds_come_to_what_they_should) {
  for (const test::rmem_seed& seed : test::rmem_seeds())
    EXPECT_EQ(test::send_rmem_input(seed.input).done, seed.done) << seed.name;
}

TEST(rmem_replay, corpus_does_no_harm) {
  EXPECT_EQ(test::send_corpus("rmem", [](const std::vector<std::byte>& input) { (void)test::send_rmem_input(input); }),
            test::rmem_seeds().size());
}

TEST(rmem_replay, mutations_of_the_corpus_do_no_harm) {
  const std::uint64_t seed = test::test_seed();
  std::uint64_t round = 0;
  std::size_t done = 0;
  std::size_t refused = 0;
  std::size_t closed = 0;
  for (const std::filesystem::path& path : test::corpus_files("rmem")) {
    const std::vector<std::byte> input = test::content_of(path);
    for (int i = 0; i < test::rounds(400); ++i) {
      const test::rmem_outcome got = test::send_rmem_input(test::mutated(input, seed, round));
      done += got.done;
      refused += got.refused;
      closed += got.is_closed ? 1 : 0;
    }
  }
  EXPECT_GT(done, 0U);
  EXPECT_GT(refused, 0U);
  EXPECT_GT(closed, 0U);
}

TEST(rmem_replay, what_a_replica_hears_does_no_harm) {
  const std::vector<std::byte> stream = test::rmem_stream();
  EXPECT_EQ(test::hear_rmem_input(stream), test::rmem_stream_changes);
  const std::uint64_t seed = test::test_seed();
  std::uint64_t round = 0;
  std::size_t done = 0;
  std::size_t cut = 0;
  for (int i = 0; i < test::rounds(500); ++i) {
    const std::size_t got = test::hear_rmem_input(test::mutated(stream, seed, round));
    done += got;
    cut += got < test::rmem_stream_changes;
  }
  EXPECT_GT(done, 0U);
  EXPECT_GT(cut, 0U);
}

}  // namespace
}  // namespace situ

int main(int argc, char** argv) { return situ::test::replay_main(argc, argv, situ::test::rmem_seeds()); }
