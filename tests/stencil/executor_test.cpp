// Random programs give the same bits on every executor, with any tiles and any number of threads.
#include "stencil/random_program.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

namespace {

using namespace situ::stencil;
using situ::stencil::testing::random_program;

// SITU_TEST_SEED plays one program again.
std::uint64_t first_seed() {
  const char* const given = std::getenv("SITU_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 0;
}
int programs(int usual) { return std::getenv("SITU_TEST_SEED") != nullptr ? 1 : usual; }

// Each opens a file and a ring of requests: about 1 ms.
constexpr std::uint64_t out_of_core_every = 25;

template <int D>
void compare(int count) {
  for (int n = 0; n < programs(count); ++n) {
    const std::uint64_t seed = first_seed() + static_cast<std::uint64_t>(n);
    const random_program<D> program{seed * 5 + D};
    options plain;
    plain.run_by = executor::plain;
    plain.threads = 1;
    plain.bind_threads = false;
    const auto expected = program.play(plain);
    std::mt19937_64 draw{seed};
    options tiled = plain;
    tiled.run_by = executor::tiled;
    tiled.threads = 1 + static_cast<int>(seed % 4 == 0) + static_cast<int>(seed % 16 == 0);
    tiled.small_points = static_cast<int>(seed / 16 % 2) * 20;
    for (int d = 0; d < D; ++d) tiled.tile[d] = static_cast<int>(draw() % 6);
    ASSERT_EQ(program.play(tiled), expected) << "SITU_TEST_SEED=" << seed << ", " << D << " dimensions, tile " << tiled.tile[0] << " " << tiled.tile[1] << " "
                                             << tiled.tile[2] << ", " << tiled.threads << " threads";
    if (seed % out_of_core_every != 0) continue;
    options away = plain;
    away.run_by = executor::out_of_core;
    away.resident_bytes = seed % 3 == 0 ? 300 : 0;
    away.fast_bytes = std::uint64_t{64} << 20;
    away.tile[D - 1] = 1 + static_cast<int>(draw() % 5);
    ASSERT_EQ(program.play(away), expected) << "SITU_TEST_SEED=" << seed << ", " << D << " dimensions, out of core, tiles of " << away.tile[D - 1] << " slabs";
  }
}

TEST(executors, agree_in_1_dimension) { compare<1>(4000); }
TEST(executors, agree_in_2_dimensions) { compare<2>(4000); }
TEST(executors, agree_in_3_dimensions) { compare<3>(2000); }
TEST(executors, agree_in_4_dimensions) { compare<4>(500); }
TEST(executors, agree_in_5_dimensions) { compare<5>(200); }

}  // namespace
