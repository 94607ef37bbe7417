#include "machine/measure_core.h"
#include "machine/measure_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace situ::machine::detail {
namespace {

// The register class in which the compiler holds a floating-point number.
#if defined(__x86_64__) || defined(__i386__)
#define SITU_IN_FLOATING_REGISTER "+x"
#else
#define SITU_IN_FLOATING_REGISTER "+w"
#endif

constexpr int samples_of_each = 9;
constexpr std::uint64_t small_page_bytes = 4096;

// Returns the nanoseconds of the least disturbed call.
template <class Call>
double least_ns(Call&& call) {
  call();
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < samples_of_each; ++i) {
    const double before = now_ns();
    call();
    least = std::min(least, now_ns() - before);
  }
  return least;
}

// Makes the compiler assume a new value, so that it can neither leave out nor merge the computation of it.
template <class Integer>
[[gnu::always_inline]] inline void changed(Integer& value) {
  asm volatile("" : "+r"(value));
}

constexpr std::size_t rounds = 20'000;

// Returns the nanoseconds of one instruction, of about eight independent ones in a round.
template <class Step>
double of_integers(Step&& step, std::size_t turns = rounds) {
  std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
  const double all = least_ns([&] {
    for (std::size_t i = 0; i < turns; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        step(a), step(b), step(c), step(d), step(e), step(f), step(g), step(h);
        asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
      }
  });
  return all / static_cast<double>(turns * 32);
}

[[gnu::always_inline]] inline void changed(double& value) { asm volatile("" : SITU_IN_FLOATING_REGISTER(value)); }

template <std::size_t... I>
double of_floating(std::index_sequence<I...>) {
  double factor = 0.75;
  double more = 0.25;
  changed(factor);
  changed(more);
  std::array<double, sizeof...(I)> v;
  v.fill(1.0);
  const double all = least_ns([&v, factor, more] {
    std::array<double, sizeof...(I)> here = v;
    for (std::size_t i = 0; i < rounds; ++i) {
      (changed(std::get<I>(here) *= factor), ...);
      (changed(std::get<I>(here) += more), ...);
      (changed(std::get<I>(here) *= factor), ...);
      (changed(std::get<I>(here) += more), ...);
    }
    v = here;
  });
  return all / static_cast<double>(rounds * 4 * sizeof...(I));
}
// Multiplications and additions in turns, twelve of them independent.
double of_floating() { return of_floating(std::make_index_sequence<12>{}); }

// A comparison and a branch that is not taken.
double of_branch_not_taken() {
  std::uint64_t a = 1;
  return least_ns([&] {
           for (std::size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 16
             for (int j = 0; j < 16; ++j) {
               changed(a);
               if (a == 0) [[unlikely]]
                 return;
             }
         }) /
         static_cast<double>(rounds * 16);
}
// A subtraction and a branch that is taken.
double of_branch_taken() {
  return least_ns([&] {
           std::uint64_t left = rounds * 16;
           do changed(left);
           while (--left != 0);
         }) /
         static_cast<double>(rounds * 16);
}

[[gnu::noinline]] void called() { asm volatile(""); }
double of_call_and_return() {
  return least_ns([&] {
           for (std::size_t i = 0; i < rounds; ++i) {
             called();
             called();
             called();
             called();
             called();
             called();
             called();
             called();
           }
         }) /
         static_cast<double>(rounds * 8);
}

double of_branches_on(const std::vector<std::uint8_t>& bits) {
  std::uint64_t sum = 0;
  return least_ns([&] {
           for (const std::uint8_t bit : bits) {
             if (bit != 0) {
               sum += 3;
               asm volatile("" : "+r"(sum));
             } else {
               sum ^= 5;
               asm volatile("" : "+r"(sum));
             }
           }
         }) /
         static_cast<double>(bits.size());
}

// Half of random branches are predicted. The time counts from the arrival of the load that the branch depends on.
double of_misprediction() {
  std::array<std::byte, 8192> near;
  const double load = chase_ns(near, 64);
  std::vector<std::uint8_t> bits(1 << 18);
  const double foreseen = of_branches_on(bits);
  std::mt19937_64 random{19};
  for (std::uint8_t& bit : bits) bit = random() & 1;
  return std::max(0.0, 2 * (of_branches_on(bits) - foreseen) - load);
}

double in_hundredths(double value) { return std::max(0.01, std::round(value * 100) / 100); }

}  // namespace

double core_gigahertz() {
  // The step is in a register: some processors (Golden Cove) add small constants while they rename, six a cycle.
  std::uint64_t step = 3;
  changed(step);
  std::uint64_t sum = 0;
  const double all = least_ns([&] {
    std::uint64_t here = sum;
    for (std::size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 32
      for (int j = 0; j < 32; ++j) {
        here += step;
        changed(here);
      }
    sum = here;
  });
  return static_cast<double>(rounds * 32) / all;
}

instruction_cycles core_cycles(double gigahertz) {
  const double integer = of_integers([](std::uint64_t& of) { of += 3; });
  std::uint64_t factor = 0x9e3779b97f4a7c15ULL;
  changed(factor);
  std::uint64_t dividend = ~std::uint64_t{0} / 3;
  changed(dividend);
  const double branch = (of_branch_taken() + of_branch_not_taken()) / 2 - integer;
  return {.integer = in_hundredths(integer * gigahertz),
          .multiply = in_hundredths(of_integers([&](std::uint64_t& of) { of *= factor; }) * gigahertz),
          .divide =
              in_hundredths(of_integers([&](std::uint64_t& of) { of = dividend / (of | 1); }, rounds / 10) * gigahertz),
          .floating = in_hundredths(of_floating() * gigahertz),
          .branch = in_hundredths(branch * gigahertz),
          .call = in_hundredths(of_call_and_return() / 2 * gigahertz),
          .mispredict = in_hundredths(of_misprediction() * gigahertz)};
}

double core_width(double gigahertz) {
  const std::array<std::uint64_t, 4> words{1, 2, 3, 4};
  double factor = 1;  // products that become subnormal take some processors a hundred cycles each
  changed(factor);
  const double all = least_ns([&] {
    std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    double p = 1, q = 1, r = 1, s = 1;
    const std::uint64_t* from = words.data();
    const auto six = [&](std::uint64_t& x, std::uint64_t& y, std::uint64_t& z, double& of, std::size_t at) {
      x += 3;
      y += 3;
      of *= factor;
      z += 3;
      asm volatile("" : "+r"(x), "+r"(y), "+r"(z), SITU_IN_FLOATING_REGISTER(of), "+r"(from));
      std::uint64_t first = from[at];
      std::uint64_t second = from[at + 1];
      asm volatile("" : "+r"(first), "+r"(second));
    };
    for (std::size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        six(a, b, c, p, 0);
        six(d, e, f, q, 2);
        six(a, b, c, r, 0);
        six(d, e, f, s, 2);
      }
  });
  return std::round(static_cast<double>(rounds * 4 * 24) / (all * gigahertz) * 10) / 10;
}

double chase_ns(std::span<std::byte> memory, std::size_t line_bytes) {
  void** at = link_chase(memory, line_bytes);
  const std::size_t lines = std::max<std::size_t>(memory.size() / line_bytes, 1);
  const std::size_t steps = 4096;  // short, so that few samples include turns of other threads
  at = follow_chase(at, std::max(lines, steps));
  const double all = least_ns([&] { at = follow_chase(at, steps); });
  changed(at);
  return all / static_cast<double>(steps);
}

namespace {

// A cycle of lines larger than the caches. Each measurement begins elsewhere in it, so that it meets few of the lines
// that the last one has brought into a cache.
struct long_chase {
  long_chase(std::span<std::byte> memory, std::size_t line_bytes) : memory{memory}, line_bytes{line_bytes} {
    link_chase(memory, line_bytes);
  }
  // Returns the beginnings of `Count` chases. Any line is part of the cycle, at a random position in it.
  template <std::size_t Count>
  std::array<void**, Count> beginnings() {
    std::array<void**, Count> made;
    std::size_t line = first += 7919;  // a line at which no chase has begun
    for (void**& begin : made) {
      begin = reinterpret_cast<void**>(memory.data() + line % lines * line_bytes);
      line += lines / Count;
    }
    return made;
  }
  std::span<std::byte> memory;
  std::size_t line_bytes;
  std::size_t lines = memory.size() / line_bytes;
  std::size_t first = 0;
};

template <std::size_t Count>
double side_by_side_ns(long_chase& cycle) {
  constexpr std::size_t steps = 6144 / Count;
  std::array<void**, Count> at = cycle.beginnings<Count>();
  const double all = least_ns([&] {
    for (std::size_t i = 0; i < steps; ++i)
      for (std::size_t j = 0; j < Count; ++j) at[j] = static_cast<void**>(*at[j]);
  });
  changed(at[0]);
  return all / static_cast<double>(steps * Count);
}

// Four instructions, of which one has its result in an integer register: more of these would measure the number of
// such registers. They do not depend on the last four.
struct filler {
  std::array<std::uint64_t, 4> integers{1, 1, 1, 1};
  std::array<double, 4> floats{1, 1, 1, 1};
  double more = 0.5;
};
template <std::size_t I>
[[gnu::always_inline]] inline bool four_instructions(filler& of) {
  changed(std::get<I>(of.integers) += 3);
  changed(std::get<I>(of.floats) += of.more);
  return std::get<I>(of.integers) != 0;
}
// Runs `Count` of these instructions. It is a loop to unroll: a call for each would be inlined, which takes the
// compiler ten seconds.
template <std::size_t Count>
[[gnu::always_inline]] inline bool fill(filler& of) {
#pragma GCC unroll 128
  for (std::size_t i = 0; i < Count; i += 4)
    if (!(four_instructions<0>(of) && four_instructions<1>(of) && four_instructions<2>(of) && four_instructions<3>(of)))
      return false;
  return true;
}

template <std::size_t Count>
double two_misses_ns(std::array<void**, 2>& at) {
  constexpr std::size_t steps = 1000;
  auto& [a, b] = at;
  return least_ns([&] __attribute__((noinline)) {  // its code size matters when the loops are unrolled
           filler between;
           changed(between.more);
           for (std::size_t i = 0; i < steps; ++i) {
             a = static_cast<void**>(*a);
             if (!fill<Count>(between)) return;
             b = static_cast<void**>(*b);
             if (!fill<Count>(between)) return;
           }
         }) /
         steps;
}

constexpr std::size_t window_step = 32;

template <std::size_t... I>
std::vector<double> for_each_window(std::array<void**, 2> at, std::index_sequence<I...>) {
  return {two_misses_ns<(I + 1) * window_step / 4>(at)...};
}

// Reads lines of `streams` streams side by side; each load's address waits for the load before.
double line_by_line_ns(std::span<std::byte> memory, std::size_t line_bytes, std::size_t streams) {
  const std::size_t length = memory.size() / streams / line_bytes * line_bytes;
  const std::size_t steps = std::min<std::size_t>(length / line_bytes, 400'000 / streams / samples_of_each);
  std::size_t done = 0;
  std::uint64_t zero = 0;
  const double all = least_ns([&] {
    for (std::size_t i = 0; i < steps; ++i) {
      const std::size_t line = (done + i) * line_bytes % length;
      for (std::size_t s = 0; s < streams; ++s)
        zero += *reinterpret_cast<const std::uint64_t*>(memory.data() + s * length + line + zero);
    }
    done += steps;
  });
  changed(zero);
  return all / static_cast<double>(steps * streams);
}

// Reads the same lines with loads that wait for nothing.
double streams_ns(std::span<std::byte> memory, std::size_t line_bytes, std::size_t streams) {
  const std::size_t length = memory.size() / streams / line_bytes * line_bytes;
  const std::size_t steps = std::min<std::size_t>(length / line_bytes, 400'000 / streams / samples_of_each);
  std::size_t done = 0;
  std::uint64_t sum = 0;
  const double all = least_ns([&] {
    for (std::size_t i = 0; i < steps; ++i) {
      const std::byte* const line = memory.data() + (done + i) * line_bytes % length;
      for (std::size_t s = 0; s < streams; ++s) sum += *reinterpret_cast<const std::uint64_t*>(line + s * length);
    }
    done += steps;
  });
  changed(sum);
  return all / static_cast<double>(steps * streams);
}

}  // namespace

std::uint32_t loads_under_way(std::span<std::byte> memory, std::size_t line_bytes) {
  long_chase cycle{memory, line_bytes};
  const double one = side_by_side_ns<1>(cycle);
  const double most = one / std::min({side_by_side_ns<4>(cycle), side_by_side_ns<8>(cycle), side_by_side_ns<12>(cycle),
                                      side_by_side_ns<16>(cycle), side_by_side_ns<24>(cycle),
                                      side_by_side_ns<32>(cycle), side_by_side_ns<48>(cycle)});
  return std::max(1U, static_cast<std::uint32_t>(std::lround(most)));
}

std::uint32_t instructions_under_way(std::span<std::byte> memory, std::size_t line_bytes) {
  long_chase cycle{memory, line_bytes};
  const std::vector<double> times =
      for_each_window(cycle.beginnings<2>(), std::make_index_sequence<1024 / window_step>{});
  const double together = *std::min_element(times.begin(), times.begin() + 4);
  // From here on the second miss begins after the first has ended.
  const auto apart = std::find_if(times.begin(), times.end(), [&](double ns) { return ns > 1.5 * together; });
  return apart == times.end() ? 0 : static_cast<std::uint32_t>((apart - times.begin()) * window_step);
}

std::uint32_t stores_under_way(std::span<std::byte> memory, std::size_t line_bytes, double latency_ns) {
  constexpr std::size_t behind = 31;  // near stores for each that misses: so the buffer holds only a few misses
  constexpr std::size_t steps = 10'000;
  const std::size_t lines = memory.size() / line_bytes;
  std::uint64_t random = 23;  // a linear congruential generator: its upper half is good enough
  std::array<std::uint64_t, behind * 8> near{};
  const double all = least_ns([&] {
    for (std::size_t step = 0; step < steps; ++step) {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      const std::size_t line = (random >> 32) * lines >> 32;
      *reinterpret_cast<volatile std::uint64_t*>(memory.data() + line * line_bytes) = random;
      for (std::size_t i = 0; i < behind; ++i) *const_cast<volatile std::uint64_t*>(&near[i * 8]) = random;
    }
  });
  return std::max(
      1U, static_cast<std::uint32_t>(std::lround(latency_ns * static_cast<double>((behind + 1) * steps) / all)));
}

stream_figures streams_followed(std::span<std::byte> memory, std::size_t line_bytes, double latency_ns) {
  constexpr double restart_misses = 3;  // misses that a prefetcher needs to see before it knows a stream
  std::fill(memory.begin(), memory.end(), std::byte{0});
  stream_figures found;
  const double least = std::min({streams_ns(memory, line_bytes, 1), streams_ns(memory, line_bytes, 2),
                                 streams_ns(memory, line_bytes, 4), streams_ns(memory, line_bytes, 8)});
  found.lines_in_all = static_cast<std::uint32_t>(std::lround(latency_ns / least));
  for (const std::uint32_t streams : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
    const double ns = line_by_line_ns(memory, line_bytes, streams);
    if (ns > latency_ns / 2) break;
    if (streams == 1) {
      found.lines = static_cast<std::uint32_t>(std::lround(latency_ns / ns));
      const double page_ns = ns * static_cast<double>(small_page_bytes) / static_cast<double>(line_bytes);
      found.page_bytes = page_ns < restart_misses * latency_ns ? situ::detail::huge_page_bytes : small_page_bytes;
    }
    found.streams = streams;
  }
  return found;
}

}  // namespace situ::machine::detail
