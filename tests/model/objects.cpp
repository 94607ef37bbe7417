// objects WHAT ROUNDS: two threads that add to words of their own, or to one, in objects of several kinds. Prints what
// they have computed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace {

struct counters {
  volatile long first;
  volatile long second;
};
struct alignas(64) padded {
  volatile long value;
};

alignas(64) counters together;
padded apart[2];

void add(volatile long& word, long rounds) {
  for (long i = 0; i < rounds; ++i) word = word + 1;
}

long run(volatile long& first, volatile long& second, long rounds) {
  std::thread one{[&] { add(first, rounds); }};
  std::thread two{[&] { add(second, rounds); }};
  one.join();
  two.join();
  return first + second;
}

// Two blocks of 16 bytes, each with the allocator's header before it: 64 bytes, which begin a line after 0 to 3 others.
long small_blocks(long rounds) {
  std::vector<std::unique_ptr<char[]>> before;
  for (;;) {
    auto* const first = static_cast<volatile long*>(std::malloc(16));  // the first
    auto* const second = static_cast<volatile long*>(std::malloc(16));
    const auto at = reinterpret_cast<std::uintptr_t>(first);
    if (at / 64 == reinterpret_cast<std::uintptr_t>(second) / 64) {
      *first = *second = 0;
      return run(*first, *second, rounds);
    }
    before.push_back(std::make_unique<char[]>(16));
  }
}

long of_vector(long rounds) {
  std::vector<long> words(64);
  return run(words[0], words[63], rounds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const long rounds = std::atol(argv[2]);
  const auto is = [&](const char* name) { return std::strcmp(argv[1], name) == 0; };
  if (is("false")) std::printf("%ld\n", run(together.first, together.second, rounds));
  if (is("true")) std::printf("%ld\n", run(together.first, together.first, rounds));
  if (is("padded")) std::printf("%ld\n", run(apart[0].value, apart[1].value, rounds));
  if (is("blocks")) std::printf("%ld\n", small_blocks(rounds));
  if (is("vector")) std::printf("%ld\n", of_vector(rounds));
}
