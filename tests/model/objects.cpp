// objects WHAT ROUNDS: two threads that add to words of their own, or to one, in objects of several kinds. Prints what
// they have computed.
#include <sys/mman.h>

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

// A mapping of 16 pages, in which another one takes the fourth: what lies behind it is of the first still.
long mapped(long rounds) {
  constexpr std::size_t page = 4096;
  const auto map = [](void* at, std::size_t bytes, int more) {
    void* const got = ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
    if (got == MAP_FAILED) std::abort();
    return static_cast<char*>(got);
  };
  char* const all = map(nullptr, 16 * page, 0);
  char* const within = map(all + 3 * page, 100, MAP_FIXED);
  return run(*reinterpret_cast<volatile long*>(all + 8 * page), *reinterpret_cast<volatile long*>(within), rounds);
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
  if (is("mapped")) std::printf("%ld\n", mapped(rounds));
  if (is("vector")) std::printf("%ld\n", of_vector(rounds));
}
