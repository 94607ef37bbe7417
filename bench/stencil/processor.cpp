#include "processor.h"

#include "measure.h"

#include <situ/machine/discover.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace stencil_bench {
namespace {

// As wide as gcc's own vectors are at -O3 -march=native -mtune=generic.
#if defined(__AVX512F__)
constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX__)
constexpr std::size_t vector_bytes = 32;
#else
constexpr std::size_t vector_bytes = 16;
#endif
using wide = double __attribute__((vector_size(vector_bytes), may_alias));
constexpr double lanes = vector_bytes / sizeof(double);

// The compiler knows nothing of the value any more, and must have it in a register.
[[gnu::always_inline]] inline void hide(wide& value) {
#if defined(__x86_64__)
  asm volatile("" : "+v"(value));
#elif defined(__aarch64__)
  asm volatile("" : "+w"(value));
#else
#error "bench/stencil/processor.cpp: name the constraint of this processor's vector registers"
#endif
}

// Seconds of one f(), the best of some: what disturbs only adds.
template <class F>
double best_of(int turns, F f) {
  double best = 1;
  for (int i = 0; i < turns; ++i) best = std::min(best, seconds_of(f));
  return best;
}

// Nanoseconds of one operation on a double, of twelve independent ones that are repeated: more than latency times units
// on any processor.
template <class F>
double measure_operation(F operation) {
  constexpr int repeats = 4000, chains = 12;
  const double seconds = best_of(20, [&] {
    wide x[chains];
    for (int c = 0; c < chains; ++c) x[c] = wide{} + (1.1 + 0.03 * c);
    for (int r = 0; r < repeats; ++r) {
#pragma GCC unroll 12
      for (auto& each : x) {
        hide(each);
        each = operation(each);
      }
    }
    for (auto& each : x) hide(each);
  });
  return seconds / (repeats * chains * lanes) * 1e9;
}

// Roots of an array in the first-level cache: gcc has no root of a vector in C++.
double measure_root() {
  constexpr int count = 1024, repeats = 20;
  alignas(64) static std::array<double, count> from, to;
  for (int i = 0; i < count; ++i) from[static_cast<std::size_t>(i)] = 1 + 0.001 * i;
  const double seconds = best_of(20, [] {
    for (int r = 0; r < repeats; ++r) {
      for (std::size_t i = 0; i < count; ++i) to[i] = std::sqrt(from[i]);
      asm volatile("" ::"r"(from.data()), "r"(to.data()) : "memory");  // what nobody else can see, it may leave out
    }
  });
  return seconds / (count * repeats) * 1e9;
}

// Vectors that fill half of the second-level cache, in huge pages: as a tile's data lies in it.
class resident_vectors {
 public:
  resident_vectors()
      : memory_{second_level_bytes() / 2 / sizeof(double), 1},
        at_{reinterpret_cast<wide*>(memory_.data())},
        count_{memory_.size() * sizeof(double) / sizeof(wide)} {}
  // Nanoseconds a byte.
  [[nodiscard]] double read() const {
    constexpr std::size_t step = 8;
    const double seconds = best_of(40, [&] {
      wide sums[step]{};
      for (std::size_t i = 0; i + step <= count_; i += step) {
#pragma GCC unroll 8
        for (std::size_t k = 0; k < step; ++k) sums[k] += at_[i + k];
      }
      for (auto& each : sums) hide(each);
    });
    return seconds / static_cast<double>(count_ * sizeof(wide)) * 1e9;
  }
  [[nodiscard]] double write() const {
    const double seconds = best_of(40, [&] {
      wide value{};
      hide(value);
      for (std::size_t i = 0; i < count_; ++i) {
        at_[i] = value;
        asm volatile("" ::: "memory");  // no memset, which has ways of its own
      }
    });
    return seconds / static_cast<double>(count_ * sizeof(wide)) * 1e9;
  }

 private:
  huge_array memory_;
  wide* at_;
  std::size_t count_;
};

}  // namespace

std::size_t second_level_bytes() {
  namespace machine = situ::machine;
  static const std::size_t found = [] {
    const auto tree = machine::discover({.devices = false});
    for (const auto& n : tree.nodes()) {
      if (n.kind == machine::node_kind::cache && n.level == 2 && n.cache != machine::cache_kind::instruction)
        return static_cast<std::size_t>(n.bytes);
    }
    return std::size_t{0};
  }();
  if (found == 0) throw std::runtime_error{"the size of the second-level cache is not known on this machine"};
  return found;
}

processor_limits measure_processor() {
  wide half{}, near_one{}, other{};
  half += 0.5, near_one += 0.99, other += 1.5;
  for (wide* each : {&half, &near_one, &other}) hide(*each);
  static const resident_vectors resident;
  processor_limits result{};
  result.divide = measure_operation([=](wide x) { return other / x; });
  result.root = measure_root();
  result.arithmetic = measure_operation([=](wide x) { return x * near_one + half; });
  result.select = measure_operation([=](wide x) { return x > near_one ? half : other; });
  result.read = resident.read();
  result.write = resident.write();
  return result;
}

}  // namespace stencil_bench
