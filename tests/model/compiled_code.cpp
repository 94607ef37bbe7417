// Code of many forms, whose results tell whether hooks have changed a register, a flag or the stack: each part prints a
// line, and the lines have to be those of the native program. Two threads run all parts at the same time, so that
// threads change within hooks.
#include <array>
#include <atomic>
#include <bit>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int items = 3000;

struct numbers {
  std::vector<double> reals;
  std::vector<std::uint64_t> words;
  explicit numbers(std::uint64_t seed) : reals(items), words(items) {
    for (int i = 0; i < items; ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      words[i] = seed;
      reals[i] = static_cast<double>(seed >> 40) / 1024;
    }
  }
};

// Sums in vector registers while every load may miss.
double vectors(const numbers& of) {
  double sum[4] = {};
  for (int i = 0; i < items; i += 4)
    for (int k = 0; k < 4; ++k) sum[k] += of.reals[i + k] * of.reals[(i * 7 + k) % items];
  return sum[0] + sum[1] - sum[2] - sum[3];
}

#if defined(__AVX2__)
#define SITU_WIDE
#else
#define SITU_WIDE [[gnu::target("avx2")]]
#endif
// The same with 32 bytes a register, if the processor has such registers.
SITU_WIDE double wide_vectors(const numbers& of) {
  using four = double __attribute__((vector_size(32)));
  four sum{};
  for (int i = 0; i < items; i += 4) {
    four a;
    std::memcpy(&a, &of.reals[i], sizeof a);
    const double scale = of.reals[(i * 5) % items];  // a scalar load beside registers whose upper halves are in use
    sum += a * (four{1, 2, 3, 4} + scale);
  }
  return sum[0] + sum[1] - sum[2] - sum[3];
}

// A chain of carries: loads lie between an addition and the addition that takes its carry.
std::uint64_t carries(const numbers& of) {
  constexpr int words = 40;
  std::array<std::uint64_t, words> sum{};
  for (int i = 0; i + words <= items; i += words) {
    std::uint64_t carry = 0;
    for (int k = 0; k < words; ++k) {
      std::uint64_t with = 0;
      const bool first = __builtin_add_overflow(sum[k], of.words[i + k], &with);
      const bool second = __builtin_add_overflow(with, carry, &sum[k]);
      carry = static_cast<std::uint64_t>(first) + static_cast<std::uint64_t>(second);
    }
  }
  std::uint64_t mixed = 0;
  for (const std::uint64_t word : sum) mixed = std::rotl(mixed, 7) ^ word;
  return mixed;
}

// A hand-written chain, in case the compiler makes none: adc reads memory and the flag.
std::uint64_t carries_in_flags(const numbers& of) {
  std::uint64_t low = 0, middle = 0, high = 0;
  for (int i = 0; i + 2 < items; i += 3) {
    const unsigned char first =
        __builtin_ia32_addcarryx_u64(0, low, of.words[i], reinterpret_cast<unsigned long long*>(&low));
    const unsigned char second =
        __builtin_ia32_addcarryx_u64(first, middle, of.words[i + 1], reinterpret_cast<unsigned long long*>(&middle));
    __builtin_ia32_addcarryx_u64(second, high, of.words[i + 2], reinterpret_cast<unsigned long long*>(&high));
  }
  return low ^ std::rotl(middle, 13) ^ std::rotl(high, 31);
}

// x87: its registers are a stack, which has values while loads miss.
long double extended(const numbers& of) {
  long double sum = 0;
  long double product = 1;
  for (int i = 0; i < items; ++i) {
    sum += static_cast<long double>(of.reals[i]) / (i + 1);
    product = product * 0.999L + sum * 1e-6L;
  }
  return sum - product;
}

int choice(std::uint64_t which, int value) {
  switch (which % 11) {
    case 0: return value + 3;
    case 1: return value ^ 0x55;
    case 2: return value * 3;
    case 3: return value - 7;
    case 4: return value << 1;
    case 5: return value >> 1;
    case 6: return ~value;
    case 7: return value + value / 5;
    case 8: return -value;
    case 9: return value | 1;
    default: return value & 0xffffff;
  }
}
int tables(const numbers& of) {
  int value = 1;
  for (const std::uint64_t word : of.words) value = choice(word >> 33, value & 0xfffffff);
  return value;
}

int gotos(const numbers& of) {
  static void* const steps[] = {&&add, &&subtract, &&turn, &&stop};
  int value = 0;
  std::size_t at = 0;
  goto* steps[of.words[at] % 3];
add:
  value += 5;
  goto* steps[++at == items ? 3 : (of.words[at] >> 20) % 3];
subtract:
  value -= 3;
  goto* steps[++at == items ? 3 : (of.words[at] >> 20) % 3];
turn:
  value = -value;
  goto* steps[++at == items ? 3 : (of.words[at] >> 20) % 3];
stop:
  return value;
}

struct large {
  std::uint64_t words[60];
};
[[gnu::noinline, gnu::optimize("Os")]] void copy(large& to, const large& from) { to = from; }
[[gnu::noinline, gnu::optimize("Os")]] void clear(large& to) { to = large{}; }
std::uint64_t strings(const numbers& of) {
  large a{}, b{}, c{};
  std::memcpy(&a, of.words.data(), sizeof a);
  copy(b, a);
  clear(a);
  copy(c, b);
  return std::accumulate(std::begin(c.words), std::end(c.words), a.words[7]);
}

int depth_of(const numbers& of, int depth) {
  struct counted {
    int& count;
    ~counted() { ++count; }
  };
  static thread_local int destroyed = 0;
  const counted here{destroyed};
  if (depth == 0) throw std::runtime_error{std::to_string(of.words[destroyed % items] % 1000)};
  return depth_of(of, depth - 1) + 1;
}
int exceptions(const numbers& of) {
  int sum = 0;
  for (int i = 1; i < 20; ++i) {
    try {
      sum += depth_of(of, i);
    } catch (const std::runtime_error& error) {
      sum = sum * 3 + std::stoi(error.what());
    }
  }
  return sum;
}

int jumps(const numbers& of) {
  std::jmp_buf back;
  volatile int rounds = 0;
  const int value = setjmp(back);
  rounds = rounds + 1;
  if (rounds < 50) std::longjmp(back, static_cast<int>(of.words[rounds] & 0xff) + 1);
  return value + rounds;
}

thread_local std::uint64_t own = 0;
thread_local std::array<std::uint64_t, 64> own_items{};
std::uint64_t thread_locals(const numbers& of) {
  for (const std::uint64_t word : of.words) {
    own += word;
    own_items[word % own_items.size()] ^= own;
  }
  return std::accumulate(own_items.begin(), own_items.end(), own);
}

// Part of an argument is cleared while the rest of its register is in use.
[[gnu::noipa]] std::uint64_t passed_on(std::uint64_t value) { return value * 3; }
[[gnu::noipa]] std::uint64_t cleared(std::uint64_t value, std::uint32_t* to) {
  *to = 3;
  return passed_on(value & ~std::uint64_t{0xff});
}
std::uint64_t parts_of_registers(const numbers& of) {
  std::uint64_t sum = 0;
  std::uint32_t told = 0;
  for (const std::uint64_t word : of.words) sum += cleared(word, &told) + told;
  return sum;
}

int on_stack(const numbers& of) {
  int sum = 0;
  for (int i = 1; i < 60; ++i) {
    auto* const more = static_cast<volatile int*>(__builtin_alloca(static_cast<std::size_t>(i) * 16));
    for (int k = 0; k < i * 4; ++k) more[k] = static_cast<int>(of.words[k] % 97);
    sum += more[i * 4 - 1] + more[0];
  }
  return sum;
}

struct three {
  std::uint32_t a, b;
  friend bool operator==(const three&, const three&) = default;
};
std::uint64_t atomics(const numbers& of) {
  std::atomic<std::uint64_t> word{0};
  std::atomic<std::uint8_t> byte{0};
  std::atomic<std::uint16_t> half{0};
  std::atomic<three> pair{three{1, 2}};
  std::atomic<bool> is_odd{false};
  std::atomic_flag flag;
  std::atomic<const std::uint64_t*> at{of.words.data()};
  std::uint64_t sum = 0;
  for (int i = 0; i < items; ++i) {
    word.fetch_add(*at.load(std::memory_order_acquire), std::memory_order_relaxed);
    at.store(of.words.data() + (i * 11) % items, std::memory_order_release);
    byte.store(static_cast<std::uint8_t>(i));
    half.store(static_cast<std::uint16_t>(byte.load() + half.load()), std::memory_order_relaxed);
    is_odd = i % 2 == 1;
    three old = pair.load();
    while (!pair.compare_exchange_weak(old, three{old.b, old.a + half.load(std::memory_order_relaxed)})) {}
    if (!flag.test_and_set() && is_odd) flag.clear(std::memory_order_release);
    sum += word.load() + pair.load().a + (is_odd.exchange(false) ? 1 : 0);
  }
  return sum + pair.load().b + (flag.test() ? 1 : 0);
}

std::string all(std::uint64_t seed) {
  const numbers of{seed};
  const double wide = __builtin_cpu_supports("avx2") ? wide_vectors(of) : 0;
  std::string text;
  char line[200];
  const auto add = [&](const char* name, auto value, const char* format) {
    std::snprintf(line, sizeof line, format, value);
    text += std::string{name} + " " + line + "\n";
  };
  add("vectors", vectors(of), "%.17g");
  add("wide", wide, "%.17g");
  add("carries", carries(of), "%lx");
  add("flags", carries_in_flags(of), "%lx");
  add("extended", extended(of), "%.20Lg");
  add("tables", tables(of), "%d");
  add("gotos", gotos(of), "%d");
  add("strings", strings(of), "%lx");
  add("exceptions", exceptions(of), "%d");
  add("jumps", jumps(of), "%d");
  add("thread-local", thread_locals(of), "%lx");
  add("parts", parts_of_registers(of), "%lx");
  add("stack", on_stack(of), "%d");
  add("atomics", atomics(of), "%lx");
  return text;
}

}  // namespace

int main() {
  std::string first, second;
  std::thread other{[&] { second = all(2); }};
  first = all(1);
  other.join();
  std::fputs((first + second).c_str(), stdout);
}
