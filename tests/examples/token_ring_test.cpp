// examples/first_uses/token_ring.cpp on modelled machines: the token is right, a run repeats bit for bit, and a hop takes
// longer where the machine's links or memory do.
#include "command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "support/build_paths.h"

namespace {

using package_rank::test::command_result;
using package_rank::test::run_command;
using testing::HasSubstr;

std::string ring_on(const std::string& machine, const std::vector<std::string>& options = {}) {
  std::vector<std::string> all{SITU_TEST_BIN_DIR "/situ", "model", "run", "--machine", machine, "-n", "4", "--quiet"};
  all.insert(all.end(), options.begin(), options.end());
  all.insert(all.end(), {SITU_TEST_BIN_DIR "/token_ring_modelled", "20"});
  const command_result ended = run_command(all);
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("4 places: the token is 120, as it should be\n"));  // 20 * (1 + 2 + 3)
  return ended.out;
}

double hop_ns(const std::string& printed) {
  const std::string before = "one hop: ";
  const auto at = printed.find(before);
  EXPECT_NE(at, printed.npos) << printed;
  return at == printed.npos ? 0 : std::strtod(printed.c_str() + at + before.size(), nullptr);
}

TEST(token_ring, repeats_bit_for_bit) { EXPECT_EQ(ring_on("nemesys-4x4"), ring_on("nemesys-4x4")); }

TEST(token_ring, is_slower_where_the_machine_is) {
  // At least one access of a hop misses: the one of the line that the place before has written.
  EXPECT_GE(hop_ns(ring_on("flat:miss=200")), hop_ns(ring_on("flat:miss=100")) + 100);
  EXPECT_GT(hop_ns(ring_on("nemesys-4x4", {"--set", "link.latency=200ns"})), hop_ns(ring_on("nemesys-4x4")));
}

}  // namespace
