// c[i] = a[i] + 3 b[i] over three arrays: STREAM's triad.
#include "array.h"
#include "kernels.h"

#include <bit>
#include <memory>

namespace situ::studies::host {
namespace {

struct triad {
  explicit triad(std::size_t count) : a{count}, b{count}, c{count} {
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = static_cast<double>(i % 1000);
      b[i] = static_cast<double>(i % 77);
    }
  }
  [[gnu::noinline]] void run() const {
    const double* const first = a.data();
    const double* const second = b.data();
    double* const to = c.data();
    const std::size_t count = a.size();
    for (std::size_t i = 0; i < count; ++i) to[i] = first[i] + 3.0 * second[i];
  }
  [[nodiscard]] std::uint64_t sum() const {
    checksum all;
    for (std::size_t i = 0; i < c.size(); ++i) all.add(std::bit_cast<std::uint64_t>(c[i]));
    return all.value();
  }
  array<double> a, b, c;
};

}  // namespace

kernel make_stream(std::uint64_t elements) {
  const auto its = std::make_shared<triad>(elements);
  return {.prepare = [] {}, .run = [its] { its->run(); }, .checksum = [its] { return its->sum(); }};
}

}  // namespace situ::studies::host
