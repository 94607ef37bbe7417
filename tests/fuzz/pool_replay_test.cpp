// The kept corpus of pool_fuzz and mutations of it, without libFuzzer: with any compiler, and under its sanitizers.
//   pool_replay_test --write-seeds tests/fuzz/corpus/pool
#include "fuzz/corpus.h"
#include "fuzz/pool_fuzz.h"
#include "support/places.h"

#include <situ/base/log.h>

namespace situ {
namespace {

class pool_replay : public testing::Test {
 protected:
  pool_replay() : sink_{set_log_sink([](log_level, std::string_view) {})} {}
  ~pool_replay() override { set_log_sink(sink_); }

 private:
  log_sink sink_;
};

TEST_F(pool_replay, seeds_come_to_what_they_should) {
  for (const test::pool_seed& seed : test::pool_seeds())
    EXPECT_EQ(test::open_pool_input(seed.input), seed.outcome) << seed.name;
}

TEST_F(pool_replay, corpus_does_no_harm) {
  EXPECT_EQ(test::send_corpus("pool", [](const std::vector<std::byte>& input) { (void)test::open_pool_input(input); }),
            test::pool_seeds().size());
}

TEST_F(pool_replay, mutations_of_the_corpus_do_no_harm) {
  const std::uint64_t seed = test::test_seed();
  std::uint64_t round = 0;
  std::size_t counts[3]{};
  for (const std::filesystem::path& path : test::corpus_files("pool")) {
    const std::vector<std::byte> input = test::content_of(path);
    for (int i = 0; i < test::rounds(100); ++i) {
      std::vector<std::byte> changed = input;
      changed.resize(input.size() + 12 * (test::mixed(seed + 1, ++round) % 3));
      for (std::size_t at = input.size(); at < changed.size(); ++at)
        changed[at] = static_cast<std::byte>(test::mixed(seed + 2, ++round));
      for (std::uint64_t times = test::mixed(seed + 3, ++round) % 3; times > 0; --times) {
        const std::uint64_t random = test::mixed(seed + 4, ++round);
        changed[random / 8 % changed.size()] ^= std::byte{1} << random % 8;
      }
      ++counts[static_cast<std::size_t>(test::open_pool_input(changed))];
    }
  }
  for (const std::size_t each : counts) EXPECT_GT(each, 0U);
}

}  // namespace
}  // namespace situ

int main(int argc, char** argv) { return situ::test::replay_main(argc, argv, situ::test::pool_seeds()); }
