// Sweeps of a 5-point stencil (Jacobi) over a square of doubles, to and fro between two arrays.
#include "array.h"
#include "kernels.h"

#include <bit>
#include <memory>
#include <utility>

namespace situ::studies::host {
namespace {

constexpr int sweeps = 2;

struct square {
  explicit square(std::size_t points) : edge{points}, a{points * points}, b{points * points} {}
  void fill() const {
    for (std::size_t i = 0; i < edge * edge; ++i) a[i] = b[i] = static_cast<double>(i % 101);
  }
  [[gnu::noinline]] void sweep(const double* from, double* to) const {
    for (std::size_t y = 1; y + 1 < edge; ++y) {
      const double* const row = from + y * edge;
      double* const out = to + y * edge;
      for (std::size_t x = 1; x + 1 < edge; ++x)
        out[x] = 0.5 * row[x] + 0.125 * (row[x - 1] + row[x + 1] + row[x - edge] + row[x + edge]);
    }
  }
  void run() const {
    for (int i = 0; i < sweeps; i += 2) {
      sweep(a.data(), b.data());
      sweep(b.data(), a.data());
    }
  }
  [[nodiscard]] std::uint64_t sum() const {
    checksum all;
    for (std::size_t i = 0; i < a.size(); ++i) all.add(std::bit_cast<std::uint64_t>(a[i]));
    return all.value();
  }
  std::size_t edge;
  array<double> a, b;
};

}  // namespace

kernel make_stencil(std::uint64_t edge) {
  const auto its = std::make_shared<square>(edge);
  return {.prepare = [its] { its->fill(); }, .run = [its] { its->run(); }, .checksum = [its] { return its->sum(); }};
}

}  // namespace situ::studies::host
