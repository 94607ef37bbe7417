// Random programs give the same bits on every executor, with any tiles and any number of threads.
#include "stencil/memory_store.h"
#include "stencil/random_program.h"

#include <situ/base/error.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>

namespace {

using namespace situ::stencil;
using situ::stencil::testing::least_bytes_named;
using situ::stencil::testing::memory_store;
using situ::stencil::testing::random_program;

// SITU_TEST_SEED plays one program again.
std::uint64_t first_seed() {
  const char* const given = std::getenv("SITU_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 0;
}
// Of 10,700 in all; sanitizers slow them down by 3 and 9, and see the same code with fewer.
#if defined(__SANITIZE_THREAD__)
constexpr int part_of_programs = 10;
#elif defined(__SANITIZE_ADDRESS__)
constexpr int part_of_programs = 4;
#else
constexpr int part_of_programs = 1;
#endif
int programs(int usual) { return std::getenv("SITU_TEST_SEED") != nullptr ? 1 : usual / part_of_programs; }

std::uint64_t seed_of(int n) { return first_seed() + static_cast<std::uint64_t>(n); }

// Opening a file and a ring of requests takes about 1 ms; mapping rings of memory takes longer than everything else.
constexpr std::uint64_t out_of_core_every = 3, in_file_every = 51;

options plain_options() {
  options o;
  o.run_by = executor::plain;
  o.threads = 1;
  o.bind_threads = false;
  return o;
}

// If the budget is too small, with what the error names, which is what one loop needs: that suffices for its chain.
template <int D>
std::vector<std::uint64_t> play_out_of_core(const random_program<D>& program, options& how, bool in_file) {
  while (true) {
    if (!in_file) how.store = std::make_shared<memory_store>(how.fast_bytes % 3 != 0);
    try {
      return program.play(how);
    } catch (const situ::error& e) {
      if (e.code() != situ::errc::out_of_memory) throw;
      const auto named = least_bytes_named(e);
      EXPECT_GT(named, how.fast_bytes) << e.what();
      if (named <= how.fast_bytes) throw;
      how.fast_bytes = named;
    }
  }
}

template <int D>
void compare(int count) {
  for (int n = 0; n < programs(count); ++n) {
    const std::uint64_t seed = seed_of(n);
    const random_program<D> program{seed * 5 + D};
    const options plain = plain_options();
    const auto expected = program.play(plain);
    std::mt19937_64 draw{seed};
    options tiled = plain;
    tiled.run_by = executor::tiled;
    tiled.threads = 1 + static_cast<int>(seed % 8 == 0) + static_cast<int>(seed % 16 == 0);
    tiled.small_points = static_cast<int>(seed / 16 % 2) * 20;
    const int scale = 1 + program.extent(0) / 50;
    for (int d = 0; d < D; ++d) tiled.tile[d] = static_cast<int>(draw() % 6) * scale;
    ASSERT_EQ(program.play(tiled), expected)
        << "SITU_TEST_SEED=" << seed << ", " << D << " dimensions, tile " << tiled.tile[0] << " " << tiled.tile[1]
        << " " << tiled.tile[2] << ", " << tiled.threads << " threads";
    if (seed % out_of_core_every != 0) continue;
    options away = plain;
    away.run_by = executor::out_of_core;
    away.resident_bytes = seed % 2 == 0 ? 300 : 0;
    away.fast_bytes = draw() % 2 == 0 ? 1 : (8 + draw() % 80) << 10;  // 1: the smallest possible
    away.cache_bytes = (1 + draw() % 64) << 10;
    for (int d = 0; d < D && seed % 4 < 2; ++d) away.tile[d] = static_cast<int>(draw() % 6) * scale;
    ASSERT_EQ(play_out_of_core(program, away, seed % in_file_every == 0), expected)
        << "SITU_TEST_SEED=" << seed << ", " << D << " dimensions, out of core, " << away.fast_bytes << " bytes, tile "
        << away.tile[D - 1];
  }
}

TEST(executors, agree_in_1_dimension) { compare<1>(4000); }
TEST(executors, agree_in_2_dimensions) { compare<2>(4000); }
TEST(executors, agree_in_3_dimensions) { compare<3>(2000); }
TEST(executors, agree_in_4_dimensions) { compare<4>(500); }
TEST(executors, agree_in_5_dimensions) { compare<5>(200); }

// The thread whose slice begins with row 0 is held up there until the other has done all but what it has begun itself.
TEST(executors, plain_threads_help_one_that_is_slow) {
  context c{{.run_by = executor::plain, .threads = 2, .small_points = 0}};
  const block<2> grid{c, "grid"};
  constexpr int rows = 64, rows_of_a_piece = 2;  // sixteen pieces a thread
  const dataset<int, 2> u{grid, "u", {1, rows}};
  std::atomic<int> done{0};
  par_loop(
      "wait", grid, range(0, 1, 0, rows),
      [&done](auto x, const std::array<int, 2>& at) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        while (at[1] == 0 && done.load() < rows - rows_of_a_piece && std::chrono::steady_clock::now() < deadline)
          std::this_thread::yield();
        x(0, 0) = done.fetch_add(1);
      },
      write(u), index());
  auto order = u.fetch();
  EXPECT_EQ(order[0], rows - rows_of_a_piece) << "rows done before the first";
  std::vector<int> each(rows);
  std::iota(each.begin(), each.end(), 0);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, each) << "a row was left out, or done twice";
}

}  // namespace
