// The kept corpus of model_trace_fuzz and mutations of it, without libFuzzer: with any compiler, and under its
// sanitizers.
//   model_trace_replay_test --write-seeds tests/fuzz/corpus/model_trace
#include "fuzz/corpus.h"
#include "fuzz/model_trace_fuzz.h"
#include "support/places.h"

namespace situ {
namespace {

TEST(model_trace_replay, seeds_come_to_what_they_should) {
  for (const test::model_trace_seed& seed : test::model_trace_seeds()) {
    const test::model_trace_outcome got = test::read_model_trace(seed.input);
    EXPECT_EQ(got.taken, seed.taken) << seed.name;
    EXPECT_FALSE(got.is_refused) << seed.name;
  }
}

TEST(model_trace_replay, corpus_does_no_harm) {
  const auto read = [](const std::vector<std::byte>& input) { (void)test::read_model_trace(input); };
  EXPECT_EQ(test::send_corpus("model_trace", read), test::model_trace_seeds().size());
}

TEST(model_trace_replay, mutations_of_the_corpus_do_no_harm) {
  const std::uint64_t seed = test::test_seed();
  std::uint64_t round = 0;
  std::size_t taken = 0, refused = 0;
  for (const std::filesystem::path& path : test::corpus_files("model_trace")) {
    const std::vector<std::byte> input = test::content_of(path);
    for (int i = 0; i < test::rounds(2000); ++i) {
      const test::model_trace_outcome got = test::read_model_trace(test::mutated(input, seed, round));
      taken += got.taken;
      refused += got.is_refused ? 1 : 0;
    }
  }
  EXPECT_GT(taken, 0U);
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace situ

int main(int argc, char** argv) { return situ::test::replay_main(argc, argv, situ::test::model_trace_seeds()); }
