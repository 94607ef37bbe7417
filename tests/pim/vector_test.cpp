#include <situ/base/error.h>
#include <situ/pim/bmem.h>
#include <situ/pim/compute.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

namespace pim = situ::pim;
using pim::dimension;
using situ::machine::pim_design;
using testing::HasSubstr;

situ::machine::pim_figures figures_of(pim_design design) {
  situ::machine::pim_figures made;
  made.design = design;
  made.banks = 2;
  made.subarrays = 4;
  made.rows = 512;
  made.columns = 4096;
  made.concurrent = 4;
  made.row_read_ns = made.row_write_ns = 40;
  made.logic_ns = 3;
  made.ap_ns = 45;
  made.aap_ns = 49;
  made.ap_nj = made.aap_nj = 1;
  return made;
}

template <class T>
std::vector<T> random_values(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::vector<T> made(n);
  for (T& each : made) each = static_cast<T>(random());
  return made;
}

template <class V>
std::vector<typename V::value_type> values_of(const V& of) {
  std::vector<typename V::value_type> made(of.size());
  of.read(made);
  return made;
}

std::string message_of(const auto& does) {
  try {
    does();
  } catch (const situ::error& failed) {
    return failed.what();
  }
  return "no error";
}

class pim_vectors : public testing::TestWithParam<pim_design> {
 protected:
  pim::memory dram{{{"dram", figures_of(GetParam())}}, {}, {.threads = 2}};
};
INSTANTIATE_TEST_SUITE_P(designs, pim_vectors,
                         testing::Values(pim_design::imi, pim_design::bitsimd, pim_design::ambit, pim_design::simdram),
                         [](const auto& of) { return std::string{name(of.param)}; });

// 10,000 elements: two full subarrays and a part of a third.
constexpr std::size_t n = 10'000;

TEST_P(pim_vectors, give_back_what_was_assigned) {
  const auto x = random_values<std::int32_t>(n, 1);
  const auto y = random_values<std::uint8_t>(n, 2);
  EXPECT_EQ(values_of(pim::vertical<std::int32_t>{dram, x}), x);
  EXPECT_EQ(values_of(pim::horizontal<std::int32_t>{dram, x}), x);
  EXPECT_EQ(values_of(pim::horizontal<std::uint8_t>{dram, y}), y);
  const pim::vertical<std::int32_t> v{dram, x};
  EXPECT_EQ(v[n - 1], x[n - 1]);
}

TEST_P(pim_vectors, axpy_is_that_of_the_host) {
  const auto x = random_values<std::uint64_t>(n, 3), y = random_values<std::uint64_t>(n, 4);
  const pim::vertical<std::uint64_t> a{dram, x};
  const auto b = a.beside(y);
  const std::uint64_t q = 0x9e3779b97f4a7c15;
  const auto r = q * a + b;
  std::vector<std::uint64_t> expected(n);
  for (std::size_t i = 0; i < n; ++i) expected[i] = q * x[i] + y[i];
  EXPECT_EQ(values_of(r), expected);
  EXPECT_EQ(dram.cost().copied_rows, 0u);
}

TEST_P(pim_vectors, write_only_where_a_mask_is_true) {
  const auto x = random_values<std::int16_t>(n, 5), y = random_values<std::int16_t>(n, 6);
  const pim::vertical<std::int16_t> a{dram, x};
  const auto b = a.beside(y);
  auto r = a.beside();
  r.fill(-7);
  const auto above = a > b;
  pim::subtract(r, a, b, pim::when(above));
  pim::maximum(r, r, std::int16_t{100}, pim::unless(above));
  std::vector<std::int16_t> expected(n);
  std::size_t flags = 0;
  for (std::size_t i = 0; i < n; ++i) {
    expected[i] = x[i] > y[i] ? static_cast<std::int16_t>(x[i] - y[i]) : std::int16_t{100};
    flags += x[i] > y[i] ? 1 : 0;
  }
  EXPECT_EQ(values_of(r), expected);
  EXPECT_EQ(pim::count(above), flags);
}

TEST_P(pim_vectors, sum_only_elements_that_exist) {
  const auto x = random_values<std::int32_t>(n, 7);
  const pim::vertical<std::int32_t> a{dram, x};
  EXPECT_EQ(pim::sum(a), std::accumulate(x.begin(), x.end(), std::int64_t{0}));
  const auto negative = a < 0;
  std::int64_t below = 0;
  for (const std::int32_t each : x) below += each < 0 ? each : 0;
  EXPECT_EQ(pim::sum(a, pim::when(negative)), below);
  const auto all = ~negative;
  EXPECT_EQ(pim::count(all) + pim::count(negative), n);
}

TEST_P(pim_vectors, a_result_may_be_an_input) {
  const auto x = random_values<std::uint16_t>(n, 8);
  pim::vertical<std::uint16_t> a{dram, x};
  pim::multiply(a, a, a);
  pim::popcount(a, a);
  std::vector<std::uint16_t> expected(n);
  for (std::size_t i = 0; i < n; ++i)
    expected[i] = static_cast<std::uint16_t>(__builtin_popcount(static_cast<std::uint16_t>(x[i] * x[i])));
  EXPECT_EQ(values_of(a), expected);
}

TEST_P(pim_vectors, change_their_width) {
  const auto x = random_values<std::int8_t>(n, 9);
  const pim::vertical<std::int8_t> a{dram, x};
  auto wide = a.beside_as<std::int32_t>();
  pim::convert(wide, a);
  EXPECT_EQ(values_of(wide), std::vector<std::int32_t>(x.begin(), x.end()));
  auto product = a.beside_as<std::int16_t>();
  pim::multiply_wide(product, a, a);
  std::vector<std::int16_t> squares(n);
  for (std::size_t i = 0; i < n; ++i) squares[i] = static_cast<std::int16_t>(x[i] * x[i]);
  EXPECT_EQ(values_of(product), squares);
}

TEST_P(pim_vectors, that_lie_apart_are_copied_and_counted) {
  const auto x = random_values<std::int32_t>(n, 10), y = random_values<std::int32_t>(n, 11);
  const pim::vertical<std::int32_t> a{dram, x};
  // A block in between, so that the next vector cannot begin in the same subarray.
  void* const between = dram.room(0).allocate_block(1, 460);
  const pim::vertical<std::int32_t> b{dram, y};
  auto r = a.beside();
  pim::add(r, a, b);
  std::vector<std::int32_t> expected(n);
  for (std::size_t i = 0; i < n; ++i)
    expected[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(x[i]) + static_cast<std::uint32_t>(y[i]));
  EXPECT_EQ(values_of(r), expected);
  EXPECT_GT(dram.cost().copied_rows, 0u);
  EXPECT_THAT(dram.report(), HasSubstr("copied because operands lay apart"));
  dram.room(0).free(between);
}

// Programs of one subarray share its rows for computing, whichever threads carry them out.
TEST_P(pim_vectors, with_several_pieces_in_a_subarray_are_right_by_threads) {
  auto narrow = figures_of(GetParam());
  narrow.banks = narrow.subarrays = 1;
  narrow.columns = 64;
  pim::memory four{{{"four", narrow}}, {}, {.threads = 4}};
  constexpr std::size_t many = 64 * 9;  // nine layers in one subarray, each a piece
  const auto x = random_values<std::uint16_t>(many, 30), y = random_values<std::uint16_t>(many, 31);
  const pim::vertical<std::uint16_t> a{four, x};
  const auto b = a.beside(y);
  ASSERT_EQ(a.core().pieces().size(), 9u);
  std::vector<std::uint16_t> sums(many), largest(many);
  for (std::size_t i = 0; i < many; ++i) {
    sums[i] = static_cast<std::uint16_t>(x[i] + y[i]);
    largest[i] = std::max(x[i], y[i]);
  }
  auto r = a.beside();
  for (int round = 0; round < 500; ++round) {
    pim::add(r, a, b);
    ASSERT_EQ(values_of(r), sums);
    pim::maximum(r, a, b);
    ASSERT_EQ(values_of(r), largest);
  }
}

TEST_P(pim_vectors, are_split_if_no_rectangle_is_free) {
  // Each other subarray has 40 rows left.
  std::vector<void*> taken;
  for (int i = 0; i < 8; ++i) taken.push_back(dram.room(0).allocate_block(1, 472));
  for (int i = 1; i < 8; i += 2) dram.room(0).free(taken[static_cast<std::size_t>(i)]);
  for (int i = 1; i < 8; i += 2) taken[static_cast<std::size_t>(i)] = dram.room(0).allocate_block(1, 500);
  const auto x = random_values<std::int32_t>(n, 12);
  const pim::vertical<std::int32_t> a{dram, x};
  EXPECT_EQ(a.core().pieces().size(), 3u);
  EXPECT_EQ(values_of(a), x);
  EXPECT_THAT(message_of([&] { (void)a.beside(); }), HasSubstr("a vector of 10000 vertical elements of 32 bits"));
  for (void* each : taken) dram.room(0).free(each);
}

TEST_P(pim_vectors, refuse_what_cannot_be) {
  const pim::vertical<std::int32_t> a{dram, 100}, b{dram, 101};
  auto r = a.beside();
  EXPECT_THAT(message_of([&] { pim::add(r, a, b); }), HasSubstr("ADD.V.I32 of vectors of 100 and 101 elements"));
  pim::memory other{{{"other", figures_of(GetParam())}}};
  const pim::vertical<std::int32_t> far{other, 100};
  EXPECT_THAT(message_of([&] { pim::add(r, a, far); }), HasSubstr("different memories"));
  EXPECT_THAT(message_of([&] { pim::vertical<std::int32_t>{dram, 0}; }), HasSubstr("at least one element"));
  EXPECT_THAT(message_of([&] { pim::vertical<std::int32_t>{dram, 1'000'000}; }),
              HasSubstr("a vector of 1000000 vertical elements of 32 bits"));
  EXPECT_EQ(dram.room(0).usage().live_granules, 3u * 32u) << "a vector that found no room keeps none";
}

TEST(pim_costs, are_the_commands_by_the_figures) {
  pim::memory dram{{{"dram", figures_of(pim_design::bitsimd)}}, {}, {.threads = 1}};
  const pim::vertical<std::int32_t> a{dram, 8 * 4096}, b = a.beside();
  auto r = a.beside();
  dram.reset_cost();
  pim::add(r, a, b);
  const pim::memory_cost& cost = dram.cost();
  EXPECT_EQ(cost.commands.row_reads, 8u * 64u);
  EXPECT_EQ(cost.commands.row_writes, 8u * 32u);
  EXPECT_EQ(cost.commands.logic, 8u * 97u);
  // Pieces of a bank each, whose four subarrays work at once.
  EXPECT_DOUBLE_EQ(cost.compute_ns, 2 * (96 * 40.0 + 97 * 3.0));
  EXPECT_EQ(cost.host_bytes, 0u);
}

TEST(pim_devices, are_filled_one_after_the_other) {
  pim::memory two{{{"first", figures_of(pim_design::bitsimd)}, {"second", figures_of(pim_design::simdram)}}};
  // 8 subarrays of 4096 columns: the first device has room for 16 vectors of 32 rows.
  std::vector<pim::vertical<std::uint32_t>> vectors;
  for (std::uint64_t i = 0; i < 20; ++i) vectors.emplace_back(two, random_values<std::uint32_t>(8 * 4096, i));
  EXPECT_EQ(vectors[0].placement(), "256 rows in first");
  EXPECT_EQ(vectors[16].placement(), "256 rows in second");
  EXPECT_THAT(message_of([&] { pim::add(vectors[15], vectors[0], vectors[16]); }),
              HasSubstr("ADD.V.U32 needs 32 free rows beside its result in first"));
  { const auto freed = std::move(vectors[14]); }
  pim::add(vectors[15], vectors[0], vectors[16]);  // the second device's copied to the first
  EXPECT_EQ(vectors[15][5], vectors[0][5] + vectors[16][5]);
  pim::add(vectors[17], vectors[18], vectors[16]);
  EXPECT_GT(two.cost().commands.ap, 0u) << "the second device computes by its own design";
}

TEST(pim_costs, pieces_in_several_banks_take_one_turn) {
  auto all_at_once = figures_of(pim_design::bitsimd);
  all_at_once.concurrent = 0;
  auto one_a_bank = figures_of(pim_design::bitsimd);
  one_a_bank.concurrent = 2;
  constexpr double one_turn = 96 * 40.0 + 97 * 3.0;
  const auto time_of = [&](const situ::machine::pim_figures& figures, std::size_t elements) {
    pim::memory dram{{{"dram", figures}}};
    const pim::vertical<std::int32_t> a{dram, elements}, b = a.beside();
    auto r = a.beside();
    dram.reset_cost();
    pim::add(r, a, b);
    return dram.cost().compute_ns;
  };
  EXPECT_DOUBLE_EQ(time_of(all_at_once, 8 * 4096), one_turn);
  EXPECT_DOUBLE_EQ(time_of(all_at_once, 16 * 4096), 2 * one_turn) << "a subarray carries out one program at a time";
  EXPECT_DOUBLE_EQ(time_of(one_a_bank, 2 * 4096), one_turn) << "a vector is dealt to the banks";
  EXPECT_DOUBLE_EQ(time_of(one_a_bank, 8 * 4096), 4 * one_turn);
}

TEST(pim_scalars, that_the_width_does_not_hold_are_refused) {
  pim::memory dram{{{"dram", figures_of(pim_design::bitsimd)}}};
  const pim::vertical<std::int32_t, 20> a{dram, std::vector<std::int32_t>{5, -5, 500'000}};
  EXPECT_THAT(message_of([&] { (void)(a > 1 << 25); }),
              HasSubstr("the scalar 33554432 of GT does not fit into 20 signed bits"));
  EXPECT_THAT(message_of([&] { (void)(a + (1 << 19)); }), HasSubstr("does not fit"));
  EXPECT_EQ(pim::count(a > (1 << 19) - 1), 0u);
  EXPECT_EQ(pim::count(a >= -(1 << 19)), 3u);
  const pim::vertical<std::uint32_t, 7> b{dram, std::vector<std::uint32_t>{5, 127}};
  EXPECT_EQ(pim::count(b == 127), 1u);
  EXPECT_THAT(message_of([&] { (void)(b == 128); }), HasSubstr("unsigned"));
  EXPECT_THAT(message_of([&] { (void)(b == ~0u); }), HasSubstr("unsigned"));
}

TEST(pim_operations, that_are_refused_have_changed_nothing) {
  pim::memory dram{{{"dram", figures_of(pim_design::bitsimd)}}};
  const auto x = random_values<std::int32_t>(n, 20), y = random_values<std::int32_t>(n, 21);
  pim::vertical<std::int32_t> a{dram, x};
  // b lies elsewhere, and the last piece of a has no room for its copy.
  const auto pieces = a.core().pieces();
  ASSERT_GT(pieces.size(), 1u);
  std::vector<void*> taken;
  while (void* const more = dram.room(0).try_allocate_beside(pieces.back().handle, 1)) taken.push_back(more);
  const pim::vertical<std::int32_t> b{dram, y};
  EXPECT_THAT(message_of([&] { pim::add(a, a, b); }), HasSubstr("ADD.V.I32 needs 32 free rows"));
  EXPECT_EQ(values_of(a), x);
  for (void* const each : taken) dram.room(0).free(each);
}

TEST(pim_masks, of_another_kind_are_refused) {
  pim::memory dram{{{"dram", figures_of(pim_design::imi)}}};
  const pim::horizontal<std::uint32_t> a{dram, 16};
  const pim::horizontal<std::uint8_t> narrow{dram, 16};
  const pim::vertical<std::uint32_t> v{dram, 16};
  auto r = a.beside();
  auto s = v.beside();
  EXPECT_THAT(message_of([&] { pim::copy(r, a, pim::when(narrow == narrow)); }), HasSubstr("flags of 32"));
  EXPECT_THAT(message_of([&] { pim::copy(r, a, pim::when(v == v)); }), HasSubstr("horizontal flags"));
  EXPECT_THAT(message_of([&] { pim::copy(s, v, pim::when(a == a)); }), HasSubstr("vertical flags"));
}

TEST(pim_masks, take_scalars_for_all_their_columns) {
  pim::memory dram{{{"dram", figures_of(pim_design::imi)}}};
  const std::vector<std::uint32_t> ones(16, 1);
  const pim::horizontal<std::uint32_t> a{dram, ones};
  auto flags = a < 1;
  EXPECT_EQ(pim::count(flags), 0u);
  flags.fill(true);
  EXPECT_EQ(pim::count(flags), 16u);
  EXPECT_EQ(pim::count((a > 0) == true), 16u);
  EXPECT_EQ(pim::count((a > 0) & true), 16u);
  auto r = a.beside();
  r.fill(0);
  pim::add(r, a, 250, pim::when(flags));
  EXPECT_EQ(values_of(r), std::vector<std::uint32_t>(16, 251));
}

// What was in the columns before must not count, nor those that no element has.
template <unsigned Bits>
void sums_on_rows_that_were_used() {
  pim::memory dram{{{"dram", figures_of(pim_design::imi)}}};
  {
    const pim::horizontal<std::uint64_t> before{dram, std::vector<std::uint64_t>(64 * 512, ~std::uint64_t{0})};
    ASSERT_GT(before.size(), 0u);
  }
  for (const std::size_t size : {1, 20, 340, 341, 5000}) {
    const std::vector<std::uint32_t> values(size, 3);
    const pim::horizontal<std::uint32_t, Bits> a{dram, values};
    EXPECT_EQ(pim::sum(a), 3 * size) << Bits << " bits";
    EXPECT_EQ(pim::count(a == 3u), size);
    EXPECT_EQ(pim::count(a != 3u), 0u);
    EXPECT_EQ(values_of(a + a), std::vector<std::uint32_t>(size, 6));
    EXPECT_EQ(pim::sum(a, pim::unless(a == 3u)), 0u);
  }
}
TEST(pim_horizontal, sums_leave_out_what_is_no_element) {
  sums_on_rows_that_were_used<7>();
  sums_on_rows_that_were_used<13>();
  sums_on_rows_that_were_used<24>();
  sums_on_rows_that_were_used<32>();
}

TEST(pim_vector, that_is_moved_from_has_no_elements) {
  pim::memory dram{{{"dram", figures_of(pim_design::bitsimd)}}};
  pim::vertical<std::int32_t> a{dram, std::vector<std::int32_t>(10, 1)};
  pim::vertical<std::int32_t> b{std::move(a)};
  EXPECT_EQ(a.size(), 0u);                                                // NOLINT(bugprone-use-after-move)
  EXPECT_THAT(message_of([&] { (void)a[0]; }), HasSubstr("that has 0"));  // NOLINT(bugprone-use-after-move)
  a = std::move(b);
  EXPECT_EQ(a[9], 1);
  a = pim::vertical<std::int32_t>{dram, 20};
  EXPECT_EQ(dram.room(0).usage().live_granules, 32u) << "the rows of what was assigned over are free";
}

TEST(pim_memory, keeps_some_programs_of_scalars) {
  pim::memory dram{{{"dram", figures_of(pim_design::bitsimd)}}};
  const pim::vertical<std::uint16_t> a{dram, std::vector<std::uint16_t>(10, 2)};
  auto r = a.beside();
  for (std::uint16_t q = 0; q < 600; ++q) {
    pim::multiply(r, a, q);
    ASSERT_EQ(r[3], static_cast<std::uint16_t>(2 * q));
  }
}

// Each operation of horizontal vectors on the design that has shifts.
TEST(pim_horizontal, arithmetic_is_that_of_the_host) {
  pim::memory dram{{{"dram", figures_of(pim_design::imi)}}, {}, {.threads = 2}};
  const auto x = random_values<std::int32_t>(n, 13), y = random_values<std::int32_t>(n, 14);
  const pim::horizontal<std::int32_t> a{dram, x};
  const auto b = a.beside(y);
  const auto r = a + b;
  const auto above = a > b;
  std::vector<std::int32_t> expected(n);
  std::size_t flags = 0;
  for (std::size_t i = 0; i < n; ++i) {
    expected[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(x[i]) + static_cast<std::uint32_t>(y[i]));
    flags += x[i] > y[i] ? 1 : 0;
  }
  EXPECT_EQ(values_of(r), expected);
  EXPECT_EQ(pim::count(above), flags);
  EXPECT_EQ(pim::sum(a), std::accumulate(x.begin(), x.end(), std::int64_t{0}));
}

// The rows of a piece share its scratch rows.
TEST(pim_horizontal, arithmetic_is_right_by_threads) {
  pim::memory four{{{"four", figures_of(pim_design::imi)}}, {}, {.threads = 4}};
  const auto x = random_values<std::uint8_t>(20'000, 32), y = random_values<std::uint8_t>(20'000, 33);
  const pim::horizontal<std::uint8_t> a{four, x};
  const auto b = a.beside(y);
  auto r = a.beside();
  std::vector<std::uint8_t> products(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) products[i] = static_cast<std::uint8_t>(x[i] * y[i]);
  for (int round = 0; round < 5; ++round) {
    pim::multiply(r, a, b);
    ASSERT_EQ(values_of(r), products);
  }
}

TEST(pim_horizontal, arithmetic_needs_shifts) {
  pim::memory dram{{{"dram", figures_of(pim_design::bitsimd)}}};
  const pim::horizontal<std::int32_t> a{dram, n};
  auto r = a.beside();
  pim::bit_xor(r, a, a);
  EXPECT_THAT(message_of([&] { pim::add(r, a, a); }), testing::AllOf(HasSubstr("bitsimd"), HasSubstr("ADD.H.I32")));
}

}  // namespace
