#include "pim/kernels.h"

#include <situ/pim/compute.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>

namespace situ::studies::pim {
namespace {

namespace vectors = situ::pim;

template <class T>
std::vector<T> random_values(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::vector<T> made(n);
  for (T& each : made) each = static_cast<T>(random());
  return made;
}

double nanoseconds_of(const auto& does) {
  const auto begin = std::chrono::steady_clock::now();
  does();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

// The median of five.
double host_time(const auto& does) {
  std::array<double, 5> each;
  for (double& ns : each) ns = nanoseconds_of(does);
  std::sort(each.begin(), each.end());
  return each[each.size() / 2];
}

template <class T>
bool is_equal(const auto& in_memory, const std::vector<T>& expected) {
  std::vector<T> values(in_memory.size());
  in_memory.read(values);
  return values == expected;
}

kernel_result axpy(vectors::memory& in, std::size_t n) {
  const auto x = random_values<std::uint64_t>(n, 1), y = random_values<std::uint64_t>(n, 2);
  const std::uint64_t q = 0x9e3779b97f4a7c15;
  kernel_result made{.name = "axpy", .words = fmt::format("r = q x + y, {} uint64", n)};
  std::vector<std::uint64_t> expected(n);
  made.host_ns = host_time([&] {
    for (std::size_t i = 0; i < n; ++i) expected[i] = q * x[i] + y[i];
  });
  in.reset_cost();
  const vectors::vertical<std::uint64_t> a{in, x};
  const auto b = a.beside(y);
  auto r = a.beside();
  made.simulated_ns = nanoseconds_of([&] { vectors::multiply_add(r, a, q, b); });
  made.is_right = is_equal(r, expected);
  made.cost = in.cost();
  return made;
}

kernel_result dot(vectors::memory& in, std::size_t n) {
  const auto x = random_values<std::int16_t>(n, 3), y = random_values<std::int16_t>(n, 4);
  kernel_result made{.name = "dot", .words = fmt::format("the sum of x y, {} int16", n)};
  std::int64_t expected = 0;
  made.host_ns = host_time([&] {
    expected = 0;
    for (std::size_t i = 0; i < n; ++i) expected += std::int32_t{x[i]} * y[i];
  });
  in.reset_cost();
  const vectors::vertical<std::int16_t> a{in, x};
  const auto b = a.beside(y);
  auto products = a.beside_as<std::int32_t>();
  std::int64_t found = 0;
  made.simulated_ns = nanoseconds_of([&] {
    vectors::multiply_wide(products, a, b);
    found = vectors::sum(products);
  });
  made.is_right = found == expected;
  made.cost = in.cost();
  return made;
}

kernel_result histogram(vectors::memory& in, std::size_t n) {
  const auto x = random_values<std::uint8_t>(n, 5);
  kernel_result made{.name = "histogram", .words = fmt::format("256 bins of {} uint8", n)};
  std::array<std::uint64_t, 256> expected{}, found{};
  made.host_ns = host_time([&] {
    expected = {};
    for (const std::uint8_t each : x) ++expected[each];
  });
  in.reset_cost();
  const vectors::vertical<std::uint8_t> a{in, x};
  auto is_bin = a.beside_as<bool>();
  made.simulated_ns = nanoseconds_of([&] {
    for (unsigned bin = 0; bin < 256; ++bin) {
      vectors::equal(is_bin, a, static_cast<std::uint8_t>(bin));
      found[bin] = vectors::count(is_bin);
    }
  });
  made.is_right = found == expected;
  made.cost = in.cost();
  return made;
}

// Which rows of a table have these values: a bitmap for each value of each of three columns of 16 values.
kernel_result bitmap_index(vectors::memory& in, std::size_t n) {
  constexpr std::size_t columns = 3, values = 16;
  const auto table = random_values<std::uint16_t>(n, 6);
  const auto value_of = [&](std::size_t row, std::size_t column) { return table[row] >> (4 * column) & 15; };
  kernel_result made{.name = "bitmap index",
                     .words = fmt::format("(a = 1 or a = 5) and b = 2 and not c = 3, {} rows", n)};
  std::vector<std::vector<std::uint64_t>> words(columns * values, std::vector<std::uint64_t>((n + 63) / 64));
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      words[column * values + static_cast<std::size_t>(value_of(row, column))][row / 64] |= std::uint64_t{1}
                                                                                            << (row % 64);
  std::uint64_t expected = 0;
  made.host_ns = host_time([&] {
    expected = 0;
    for (std::size_t w = 0; w < words[0].size(); ++w)
      expected += static_cast<std::uint64_t>(
          __builtin_popcountll((words[1][w] | words[5][w]) & words[16 + 2][w] & ~words[32 + 3][w]));
  });
  in.reset_cost();
  std::optional<vectors::vertical<bool>> first;
  const auto bitmap = [&](std::size_t column, unsigned value) {
    std::vector<std::uint8_t> flags(n);
    for (std::size_t row = 0; row < n; ++row) flags[row] = value_of(row, column) == static_cast<int>(value) ? 1 : 0;
    const std::span bools{reinterpret_cast<const bool*>(flags.data()), n};
    if (first) return first->beside(bools);
    first.emplace(in, n);
    return first->beside(bools);
  };
  const auto a1 = bitmap(0, 1), a5 = bitmap(0, 5), b2 = bitmap(1, 2), c3 = bitmap(2, 3);
  std::uint64_t found = 0;
  made.simulated_ns = nanoseconds_of([&] {
    const auto chosen = (a1 | a5) & b2;
    found = vectors::count(chosen & ~c3);
  });
  made.is_right = found == expected;
  made.cost = in.cost();
  return made;
}

// y = A x: the rows of A are dealt to the columns of the memory, and each step multiplies one column of A by a scalar.
kernel_result matrix_vector(vectors::memory& in, std::size_t n) {
  constexpr std::size_t width = 64;
  const std::size_t height = n / width;
  const auto matrix = random_values<std::int8_t>(height * width, 7), x = random_values<std::int8_t>(width, 8);
  kernel_result made{.name = "matrix-vector",
                     .words = fmt::format("y = A x, A of {} x {} int8, y int32", height, width)};
  std::vector<std::int32_t> expected(height);
  made.host_ns = host_time([&] {
    for (std::size_t row = 0; row < height; ++row) {
      std::int32_t sum = 0;
      for (std::size_t j = 0; j < width; ++j) sum += std::int32_t{matrix[row * width + j]} * x[j];
      expected[row] = sum;
    }
  });
  in.reset_cost();
  vectors::vertical<std::int32_t> y{in, height};
  auto wide = y.beside();
  std::vector<vectors::vertical<std::int8_t>> columns;
  std::vector<std::int8_t> column(height);
  for (std::size_t j = 0; j < width; ++j) {
    for (std::size_t row = 0; row < height; ++row) column[row] = matrix[row * width + j];
    columns.push_back(y.beside_as<std::int8_t>());
    columns.back().assign(column);
  }
  made.simulated_ns = nanoseconds_of([&] {
    y.fill(0);
    for (std::size_t j = 0; j < width; ++j) {
      vectors::convert(wide, columns[j]);
      vectors::multiply_add(y, wide, std::int32_t{x[j]}, y);
    }
  });
  made.is_right = is_equal(y, expected);
  made.cost = in.cost();
  return made;
}

}  // namespace

const std::vector<kernel>& all_kernels() {
  static const std::vector<kernel> all{{"axpy", axpy},
                                       {"dot", dot},
                                       {"histogram", histogram},
                                       {"bitmap index", bitmap_index},
                                       {"matrix-vector", matrix_vector}};
  return all;
}

}  // namespace situ::studies::pim
