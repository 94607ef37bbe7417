// Takes memory of a modelled machine, in one of several ways, and prints what it got.
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t line = 64;

// Returns the time of a read of a line of [from, from + bytes).
double ns_a_read(const char* from, std::size_t bytes) {
  unsigned sum = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t at = 0; at < bytes; at += line) sum += static_cast<unsigned char>(from[at]);
  const auto took = std::chrono::steady_clock::now() - begin;
  if (sum != bytes / line) std::abort();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()) /
         static_cast<double>(bytes / line);
}

// The first and the last MiB of a block.
void read_block(std::size_t bytes) {
  auto* const block = static_cast<char*>(std::malloc(bytes));
  for (std::size_t at = 0; at < bytes; at += line) block[at] = 1;
  const double first = ns_a_read(block, mib);
  ns_a_read(block + bytes - 3 * mib, 2 * mib);  // more than the caches hold: dirty lines leave them
  const double last = ns_a_read(block + bytes - mib, mib);
  std::printf("%.0f %.0f\n", first, last);
  std::free(block);
}

void allocate_beyond(std::size_t bytes) {
  errno = 0;
  void* const block = std::malloc(bytes);
  std::printf("malloc %s %d", block == nullptr ? "refused" : "given", errno == ENOMEM);
  try {
    const std::vector<char> numbers(bytes);
    std::printf(" vector given %d", numbers[0]);
  } catch (const std::bad_alloc&) {
    std::printf(" vector refused");
  }
  errno = 0;
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::printf(" mmap %s %d\n", mapped == MAP_FAILED ? "refused" : "given", errno == ENOMEM);
}

// Blocks of a MiB until none is left; then one is freed, and another one is made.
void fill() {
  std::vector<void*> blocks;
  blocks.reserve(1000);
  while (void* const block = std::malloc(mib - 4096)) blocks.push_back(block);
  std::printf("%zu blocks", blocks.size());
  std::free(blocks.back());
  blocks.back() = std::malloc(mib - 4096);
  std::printf(" %s", blocks.back() == nullptr ? "refused" : "again");
  void* const grown = std::realloc(blocks.back(), 2 * mib);
  std::printf(" %s\n", grown == nullptr ? "cannot grow" : "has grown");
}

// Large blocks, one at a time: each has the room of the one before.
void reuse(std::size_t bytes, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    void* const block = std::malloc(bytes + static_cast<std::size_t>(i));
    if (block == nullptr) std::printf("refused\n");
    std::free(block);
  }
  std::printf("done\n");
}

void touch(std::size_t bytes, bool unmaps) {
  auto* const mapped = static_cast<char*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  for (std::size_t at = 0; at < bytes; at += 4096) mapped[at] = 1;
  if (unmaps) munmap(mapped, bytes);
  std::printf("touched\n");
}

void use_stack(std::size_t bytes) {
  auto* const on_stack = static_cast<volatile char*>(__builtin_alloca(bytes));
  for (std::size_t at = 0; at < bytes; at += 4096) on_stack[at] = 1;
  std::printf("used\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const std::size_t kib = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0) * 1024;
  if (what == "read") read_block(kib);
  if (what == "beyond") allocate_beyond(kib);
  if (what == "fill") fill();
  if (what == "reuse") reuse(kib, 10);
  if (what == "touch") touch(kib, false);
  if (what == "unmap")
    for (int i = 0; i < 10; ++i) touch(kib, true);
  if (what == "stack") use_stack(kib);
}
