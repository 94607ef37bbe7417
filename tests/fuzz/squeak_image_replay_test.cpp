// The kept corpus of squeak_image_fuzz and mutations of it, without libFuzzer: with any compiler, and under its
// sanitizers.
//   squeak_image_replay_test --write-seeds tests/fuzz/corpus/squeak_image
#include "examples/squeak_builder.h"
#include "fuzz/corpus.h"
#include "fuzz/squeak_image_fuzz.h"
#include "image_file.h"
#include "support/places.h"

namespace situ {
namespace {

struct image_seed {
  std::string name;
  std::vector<std::byte> input;
};

std::vector<image_seed> seeds() {
  const squeak::image built = squeak::test::image_builder{}.build();
  return {{"little", squeak::image_bytes(built, std::endian::little)},
          {"big", squeak::image_bytes(built, std::endian::big)}};
}

TEST(squeak_image_replay, seeds_are_read) {
  for (const image_seed& seed : seeds()) EXPECT_TRUE(test::read_squeak_image(seed.input)) << seed.name;
}

TEST(squeak_image_replay, corpus_does_no_harm) {
  const auto read = [](const std::vector<std::byte>& input) { (void)test::read_squeak_image(input); };
  EXPECT_EQ(test::send_corpus("squeak_image", read), seeds().size());
}

TEST(squeak_image_replay, mutations_of_the_corpus_do_no_harm) {
  const std::uint64_t seed = test::test_seed();
  std::uint64_t round = 0;
  std::size_t taken = 0, refused = 0;
  for (const std::filesystem::path& path : test::corpus_files("squeak_image")) {
    const std::vector<std::byte> input = test::content_of(path);
    for (int i = 0; i < test::rounds(1000); ++i)
      ++(test::read_squeak_image(test::mutated(input, seed, round)) ? taken : refused);
  }
  EXPECT_GT(taken, 0U);
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace situ

int main(int argc, char** argv) { return situ::test::replay_main(argc, argv, situ::seeds()); }
