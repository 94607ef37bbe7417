// A program that knows nothing of Situ: does one thing with large allocations, as its argument says, and ends with 0
// where its memory is what a program expects. Run with and without remote memory, it does the same. It forks and starts
// programs by itself, as any program does.
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

extern char** environ;

namespace {

using word = std::uint64_t;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t page = 4096;
constexpr std::size_t page_words = page / sizeof(word);

void check(bool holds, const char* what, int line) {
  if (holds) return;
  std::fprintf(stderr, "line %d: %s\n", line, what);
  std::_Exit(3);
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

word value_of(std::size_t at, word seed) { return (at + 1) * 0x9e3779b97f4a7c15 ^ seed; }

void fill(word* at, std::size_t words, word seed) {
  for (std::size_t i = 0; i < words; ++i) at[i] = value_of(i, seed);
}
bool is_filled(const word* at, std::size_t words, word seed) {
  for (std::size_t i = 0; i < words; ++i)
    if (at[i] != value_of(i, seed)) return false;
  return true;
}
word* map(std::size_t bytes) {
  void* const made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(made != MAP_FAILED);
  return static_cast<word*>(made);
}
int status_of(pid_t child) {
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  return status;
}

// Blocks by all functions that make them, some larger than what there is room for here.
void blocks() {
  constexpr std::size_t bytes = 24 * mib;
  auto* const a = static_cast<word*>(std::malloc(bytes));
  auto* const b = static_cast<word*>(std::calloc(bytes, 1));
  void* c = nullptr;
  CHECK(::posix_memalign(&c, 2 * mib, bytes) == 0 && reinterpret_cast<std::uintptr_t>(c) % (2 * mib) == 0);
  CHECK(std::all_of(b, b + bytes / 8, [](word each) { return each == 0; }));
  fill(a, bytes / 8, 1);
  fill(b, bytes / 8, 2);
  fill(static_cast<word*>(c), bytes / 8, 3);
  CHECK(is_filled(a, bytes / 8, 1) && is_filled(b, bytes / 8, 2) && is_filled(static_cast<word*>(c), bytes / 8, 3));
  CHECK(::malloc_usable_size(a) >= bytes);
  auto* const grown = static_cast<word*>(std::realloc(a, 2 * bytes));
  CHECK(is_filled(grown, bytes / 8, 1));
  auto* const small = static_cast<word*>(std::realloc(grown, 1000));
  CHECK(is_filled(small, 1000 / 8, 1));
  auto* const large = static_cast<word*>(std::realloc(small, bytes));
  CHECK(is_filled(large, 1000 / 8, 1));
  std::free(large);
  std::free(b);
  std::free(c);
  for (int i = 0; i < 5; ++i) {  // what is given back is there again, as zeros
    auto* const again = static_cast<word*>(std::calloc(bytes / 8, 8));
    for (std::size_t at = 0; at < bytes / 8; at += page_words) CHECK(std::exchange(again[at], 1) == 0);
    std::free(again);
  }
}

// Reads and writes here and there: at random, as seen from an array of the same that is small.
void here_and_there() {
  constexpr std::size_t pages = 32 * mib / page;
  word* const all = map(pages * page);
  std::vector<word> expected(pages);
  word state = 7;
  for (int i = 0; i < 15000; ++i) {
    const std::size_t at = (state = state * 6364136223846793005U + 1442695040888963407U) >> 33 & (pages - 1);
    CHECK(all[at * page_words + 5] == expected[at]);
    if (i % 3 != 0) all[at * page_words + 5] = expected[at] = state;
  }
  for (std::size_t at = 0; at < pages; ++at)
    CHECK(all[at * page_words + 5] == expected[at] && all[at * page_words] == 0);
}

void system_calls() {
  constexpr std::size_t bytes = 32 * mib;
  word* const all = map(bytes);
  word* const back = map(bytes);
  fill(all, bytes / 8, 4);
  const int file = ::memfd_create("subject", 0);
  for (std::size_t at = 0; at < bytes; at += mib) CHECK(::write(file, all + at / 8, mib) == static_cast<ssize_t>(mib));
  CHECK(::lseek(file, 0, SEEK_SET) == 0);
  iovec parts[2]{{back, bytes / 2}, {back + bytes / 16, bytes / 2}};
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::readv(file, parts, 2);
    CHECK(got > 0);
    done += static_cast<std::size_t>(got);
    if (done >= bytes / 2)
      parts[0] = {reinterpret_cast<char*>(back) + done, bytes - done}, parts[1] = {};
    else
      parts[0] = {reinterpret_cast<char*>(back) + done, bytes / 2 - done};
  }
  CHECK(is_filled(back, bytes / 8, 4));
}

void mappings() {
  constexpr std::size_t bytes = 16 * mib;
  word* const all = map(bytes);
  fill(all, bytes / 8, 5);
  // Thrown away, so zeros; the pages beside it are as they were.
  CHECK(::madvise(all + mib / 8, mib, MADV_DONTNEED) == 0);
  CHECK(is_filled(all, mib / 8, 5) && std::all_of(all + mib / 8, all + mib / 4, [](word each) { return each == 0; }));
  CHECK(all[mib / 4] == value_of(mib / 4, 5));
  // No access, and then as before.
  CHECK(::mprotect(all + mib / 4, mib, PROT_NONE) == 0);
  CHECK(::mprotect(all + mib / 2, mib, PROT_READ) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGSEGV, SIG_DFL);
    static_cast<volatile word*>(all)[mib / 4] = 1;
    ::_exit(0);
  }
  CHECK(WIFSIGNALED(status_of(child)));
  CHECK(::mprotect(all + mib / 4, mib, PROT_READ | PROT_WRITE) == 0);
  CHECK(all[mib / 4 + 3] == value_of(mib / 4 + 3, 5) && all[mib / 2 + 3] == value_of(mib / 2 + 3, 5));
  CHECK(::mprotect(all + mib / 2, mib, PROT_READ | PROT_WRITE) == 0);
  // Longer, shorter, a hole, something else within.
  auto* const longer = static_cast<word*>(::mremap(all, bytes, 2 * bytes, MREMAP_MAYMOVE));
  CHECK(longer != MAP_FAILED && longer[bytes / 8 - 1] == value_of(bytes / 8 - 1, 5) && longer[bytes / 8] == 0);
  CHECK(::mremap(longer, 2 * bytes, bytes, 0) == longer);
  CHECK(::munmap(longer + mib, mib) == 0);
  char none = 0;
  const int pipe_file = ::open("/dev/zero", O_RDONLY);
  CHECK(::read(pipe_file, longer + mib, 1) == -1 && errno == EFAULT);
  CHECK(::read(pipe_file, &none, 1) == 1);
  CHECK(::mmap(longer + mib, mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        longer + mib);
  fill(longer + mib, mib / 8, 6);
  CHECK(is_filled(longer + mib, mib / 8, 6) && longer[bytes / 8 - 1] == value_of(bytes / 8 - 1, 5));
  CHECK(::munmap(longer, bytes) == 0);
}

// Children have what there was at the fork, and what they change is theirs.
void forks() {
  constexpr std::size_t bytes = 24 * mib;
  word* const all = map(bytes);
  word* const untouched = map(2 * mib);
  fill(all, bytes / 8, 8);
  pid_t children[3];
  for (int i = 0; i < 3; ++i) {
    children[i] = ::fork();
    if (children[i] != 0) {
      // Each child sees one more mebibyte that was changed before it was made, and none of those after.
      fill(all + static_cast<std::size_t>(i) * mib / 8, mib / 8, 100 + static_cast<word>(i));
      untouched[static_cast<std::size_t>(i) * page_words] = 1;
      continue;
    }
    const auto changed = static_cast<std::size_t>(i);
    ::usleep(20'000);
    for (std::size_t part = 0; part < bytes / mib; ++part)
      for (std::size_t at = 0; at < mib / 8; ++at) {
        const word expected = part < changed ? value_of(at, 100 + part) : value_of(part * mib / 8 + at, 8);
        CHECK(all[part * mib / 8 + at] == expected);
      }
    for (std::size_t at = 0; at < 3; ++at) CHECK(untouched[at * page_words] == (at < changed ? 1 : 0));
    CHECK(::madvise(all, mib, MADV_DONTNEED) == 0 && all[0] == 0 && all[mib / 8 - 1] == 0);
    fill(all, bytes / 16, 9);
    word* const own = map(8 * mib);
    fill(own, mib, 10);
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      CHECK(is_filled(all, bytes / 16, 9) && is_filled(own, mib, 10));
      CHECK(all[bytes / 8 - 1] == value_of(bytes / 8 - 1, 8));
      ::_exit(0);
    }
    CHECK(status_of(grandchild) == 0);
    CHECK(is_filled(all, bytes / 16, 9) && ::munmap(all, bytes) == 0);
    ::_exit(0);
  }
  for (const pid_t each : children) CHECK(status_of(each) == 0);
  CHECK(all[bytes / 8 - 1] == value_of(bytes / 8 - 1, 8) && is_filled(all, mib / 8, 100));
  // A child that outlives what its parent had.
  const pid_t last = ::fork();
  if (last == 0) {
    ::usleep(50'000);
    CHECK(is_filled(all, mib / 8, 100) && all[bytes / 8 - 1] == value_of(bytes / 8 - 1, 8));
    ::_exit(0);
  }
  CHECK(::munmap(all, bytes) == 0);
  word* const other = map(bytes);
  fill(other, bytes / 8, 11);
  CHECK(status_of(last) == 0);
  CHECK(is_filled(other, bytes / 8, 11));
}

// While other threads write.
void fork_beside_threads() {
  constexpr std::size_t pages = 16 * mib / page;
  word* const all = map(pages * page);
  std::atomic<bool> ends{false};
  std::atomic<word> rounds{0};
  // Each page has the same number twice, but for the one that is being written.
  std::thread writes{[&] {
    for (word round = 1; !ends; ++round)
      for (std::size_t at = 0; at < pages; ++at) {
        reinterpret_cast<std::atomic<word>*>(all)[at * page_words].store(round);
        reinterpret_cast<std::atomic<word>*>(all)[at * page_words + 500].store(round);
        rounds = round;
      }
  }};
  while (rounds < 2) ::usleep(1000);
  for (int i = 0; i < 5; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      int differ = 0;
      word least = ~word{0};
      word most = 0;
      for (std::size_t at = 0; at < pages; ++at) {
        differ += all[at * page_words] != all[at * page_words + 500];
        least = std::min(least, all[at * page_words]);
        most = std::max(most, all[at * page_words]);
      }
      ::_exit(differ <= 1 && most - least <= 1 ? 0 : 1);
    }
    CHECK(status_of(child) == 0);
  }
  ends = true;
  writes.join();
}

void threads() {
  constexpr std::size_t pages = 24 * mib / page;
  word* const all = map(pages * page);
  std::vector<std::thread> some;
  for (unsigned t = 0; t < 4; ++t)
    some.emplace_back([&, t] {
      word state = t + 1;
      for (int i = 0; i < 3000; ++i) {
        const std::size_t at = (state = state * 6364136223846793005U + 1442695040888963407U) >> 33 & (pages - 1);
        ++all[at * page_words + t * 16];
        if (i % 1000 == 0) std::free(std::memset(std::malloc(2 * mib), 1, 2 * mib));
      }
    });
  for (std::thread& each : some) each.join();
  word sum = 0;
  for (std::size_t at = 0; at < pages; ++at)
    for (unsigned t = 0; t < 4; ++t) sum += all[at * page_words + t * 16];
  CHECK(sum == 12000);
}

void others() {  // by posix_spawn, and by exec in the same process
  word* const all = map(16 * mib);
  fill(all, 2 * mib, 12);
  char name[] = "/bin/true";
  char* arguments[] = {name, nullptr};
  pid_t child = 0;
  CHECK(::posix_spawn(&child, name, nullptr, nullptr, arguments, environ) == 0 && status_of(child) == 0);
  CHECK(std::system("exit 5") == 5 << 8);
  CHECK(is_filled(all, 2 * mib, 12));
  ::execl("/proc/self/exe", "run_subject", "random", nullptr);
  CHECK(false);
}

void fills_and_waits() {
  word* const all = map(32 * mib);
  fill(all, 4 * mib, 13);
  std::puts("filled");
  std::fflush(stdout);
  for (;;) {
    CHECK(is_filled(all, 4 * mib, 13));
    ::usleep(1000);
  }
}

void too_much() {
  void* const made = std::malloc(std::size_t{1} << 40);
  CHECK(made == nullptr && errno == ENOMEM);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "blocks")
    blocks();
  else if (what == "random")
    here_and_there();
  else if (what == "system_calls")
    system_calls();
  else if (what == "mappings")
    mappings();
  else if (what == "forks")
    forks();
  else if (what == "fork_beside_threads")
    fork_beside_threads();
  else if (what == "threads")
    threads();
  else if (what == "others")
    others();
  else if (what == "fills_and_waits")
    fills_and_waits();
  else if (what == "too_much")
    too_much();
  else
    return 2;
  std::puts("done");
  return 0;
}
