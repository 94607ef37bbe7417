// Memory by intent beside memory that the kernel places, at one place: `situ bench memory`, or by hand situ run -n 1
// situ_bench_memory (bench/support/job_samples.h).
//
// Two memories on node 0, which are told apart by budgets, stand for two kinds: what is measured is the way along an
// ordering, not a slower memory.
#include "os/mapping.h"
#include "support/job_samples.h"

#include <situ/memory/allocate.h>
#include <situ/memory/placement.h>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace job_bench;

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr situ::intent one_memory{"one_memory"};
constexpr situ::intent over_two{"over_two"};
constexpr situ::intent over_many{"over_many"};

// Half of what a case of spill takes fits into the first memory of `over_two`. None of `over_many` has 16 MiB, so all its
// chunks are of 64 KiB, and none of its pages is huge: placer.h, invariant 2.
constexpr int small_memories = 18;
constexpr const char* orderings =
    "[[memory]]\nname = \"first\"\nnode = 0\nbudget = \"128 MiB\"\n"
    "[[memory]]\nname = \"second\"\nnode = 0\nbudget = \"64 GiB\"\n"
    "[[ordering]]\nintent = \"one_memory\"\nmemories = \"0\"\nfill = 100\n"
    "[[ordering]]\nintent = \"over_two\"\nmemories = \"first, second\"\nfill = 100\n";

std::string all_orderings() {
  std::string text = orderings;
  std::string names;
  for (int i = 0; i < small_memories; ++i) {
    const std::string name = "small_" + std::to_string(i);
    text += "[[memory]]\nname = \"" + name + "\"\nnode = 0\nbudget = \"15 MiB\"\n";
    names += (i == 0 ? "" : ", ") + name;
  }
  return text + "[[ordering]]\nintent = \"over_many\"\nmemories = \"" + names + "\"\nfill = 100\n";
}

[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "situ_bench_memory: %s\n", why);
  std::exit(1);
}

// A file that is named nowhere, before an intent is used.
void set_orderings() {
  const std::string text = all_orderings();
  const int file = situ::os::memory_file("orderings", 0).release();
  if (file < 0 || ::write(file, text.data(), text.size()) < 0) {
    std::perror("situ_bench_memory: the file of orderings");
    std::exit(1);
  }
  ::setenv("SITU_ORDERINGS", ("/proc/self/fd/" + std::to_string(file)).c_str(), 1);
}

void touch(std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += page_bytes) reinterpret_cast<volatile std::byte*>(from)[at] = std::byte{1};
}

// Freed, a block of this size goes back to the system, so that the next one gets pages anew.
template <class Allocate, class Prepare>
double fresh_pages(std::size_t bytes, Allocate allocate, Prepare prepare) {
  const double begin = now_ns();
  const situ::ptr<std::byte> block = allocate(bytes);
  prepare(block.local(), bytes);
  const double ns = (now_ns() - begin) / static_cast<double>(bytes / page_bytes);
  situ::deallocate(block);
  return ns;
}

std::size_t spilt_bytes() { return (is_quick() ? 16 : 256) * mib; }
const auto by_no_intent = [](std::size_t n) { return situ::allocate<std::byte>(n); };
// Memory by an intent, whose pages exist when it has been allocated.
auto by(const situ::intent& what) {
  return [&what](std::size_t n) { return situ::allocate<std::byte>(n, what); };
}
void leave(std::byte*, std::size_t) {}

// Small pages beside small pages.
void measure_small_pages() {
  const auto populate = [](std::byte* from, std::size_t n) {
    for (std::size_t at = 0; at < n; at += 2 * mib) ::madvise(from + at, 2 * mib, MADV_POPULATE_WRITE);
  };
  samples populated{"populate"}, touched{"touch"}, fine{"situ_64k"};
  (void)fresh_pages(2 * mib, by(over_many), &leave);  // the machine is looked at once
  const std::uint64_t made_huge = situ::memory_statistics().made_huge_bytes;
  for (int i = 0; i < (is_quick() ? 1 : 9); ++i) {
    populated.ns.push_back(fresh_pages(spilt_bytes(), by_no_intent, populate));
    touched.ns.push_back(fresh_pages(spilt_bytes(), by_no_intent, &touch));
    fine.ns.push_back(fresh_pages(spilt_bytes(), by(over_many), &leave));
  }
  if (situ::memory_statistics().made_huge_bytes != made_huge)
    fail("spill_small_pages: some pages were made huge, so the subjects are not on equal terms");
  print("spill_small_pages", {populated, touched, fine});
}

// Huge pages beside huge pages. A kernel whose memory is scattered refuses some of them: a sample in which the first two
// subjects got different numbers is taken again, for a minute.
void measure_huge_pages() {
  const auto huge = [](std::size_t n) { return situ::allocate<std::byte>(n, {.huge_pages = true}); };
  samples plain{"huge_pages"}, one{"situ"}, two{"situ_over_two"};
  (void)fresh_pages(2 * mib, by(one_memory), &leave);  // the machine is looked at once
  (void)fresh_pages(2 * mib, by(over_two), &leave);
  const std::size_t rounds = is_quick() ? 1 : 9;
  const double end = now_ns() + 60e9;
  while (plain.ns.size() < rounds && now_ns() < end) {
    const std::uint64_t before = situ::memory_statistics().made_huge_bytes;
    const double plain_ns = fresh_pages(spilt_bytes(), huge, &touch);
    const std::uint64_t between = situ::memory_statistics().made_huge_bytes;
    const double one_ns = fresh_pages(spilt_bytes(), by(one_memory), &touch);
    const std::uint64_t of_plain = between - before;
    const std::uint64_t of_one = situ::memory_statistics().made_huge_bytes - between;
    if (std::max(of_plain, of_one) - std::min(of_plain, of_one) > spilt_bytes() / 64) continue;
    plain.ns.push_back(plain_ns);
    one.ns.push_back(one_ns);
    two.ns.push_back(fresh_pages(spilt_bytes(), by(over_two), &touch));
  }
  if (plain.ns.size() < std::min<std::size_t>(rounds, 3))
    fail("spill_huge_pages: the kernel gave its subjects different numbers of huge pages for a minute: it has too few");
  print("spill_huge_pages", {plain, one, two});
}

// The pages come by faults here: of plain memory, and of what has been promised.
void measure_first_touch() {
  const auto promised_by = [](const situ::intent& what) {
    return [&what](std::size_t n) { return situ::allocate<std::byte>(n, what, {.populate = false}); };
  };
  samples touched{"touch"}, promised{"situ_over_two"}, fine{"situ_64k"};
  for (const situ::intent& what : {over_two, over_many}) (void)fresh_pages(2 * mib, promised_by(what), &touch);
  for (int i = 0; i < (is_quick() ? 1 : 9); ++i) {
    touched.ns.push_back(fresh_pages(spilt_bytes(), by_no_intent, &touch));
    promised.ns.push_back(fresh_pages(spilt_bytes(), promised_by(over_two), &touch));
    fine.ns.push_back(fresh_pages(spilt_bytes(), promised_by(over_many), &touch));
  }
  print("first_touch", {touched, promised, fine});
}

template <class Pair>
double each_pair(Pair pair) {
  constexpr int count = 1'000'000;
  const double begin = now_ns();
  for (int i = 0; i < count; ++i) {
    void* const block = pair();
    asm volatile("" : : "r"(block) : "memory");
  }
  return (now_ns() - begin) / count;
}

using memkind_malloc = void* (*)(void* kind, std::size_t bytes);
using memkind_free = void (*)(void* kind, void* block);

void measure_small_blocks() {
  constexpr std::size_t bytes = 64;
  void* const library = ::dlopen("libmemkind.so.0", RTLD_NOW | RTLD_LOCAL);
  const auto find = [&](const char* name) { return library == nullptr ? nullptr : ::dlsym(library, name); };
  const auto allocate = reinterpret_cast<memkind_malloc>(find("memkind_malloc"));
  const auto release = reinterpret_cast<memkind_free>(find("memkind_free"));
  auto* const kind = static_cast<void**>(find("MEMKIND_DEFAULT"));
  samples plain{"without_intent"}, own{"situ"}, turns{"in_turns"}, above{"above"}, memkind{"memkind"};
  for (int i = 0; i < (is_quick() ? 1 : 25); ++i) {
    plain.ns.push_back(each_pair([] {
      const auto block = situ::allocate<std::byte>(bytes);
      situ::deallocate(block);
      return block.local();
    }));
    own.ns.push_back(each_pair([] {
      const auto block = situ::allocate<std::byte>(bytes, over_two);
      situ::deallocate(block);
      return block.local();
    }));
    turns.ns.push_back(each_pair([first = false]() mutable {
      first = !first;
      const auto block = situ::allocate<std::byte>(bytes, first ? one_memory : over_two);
      situ::deallocate(block);
      return block.local();
    }));
    above.ns.push_back(std::max(own.ns.back() - plain.ns.back(), 0.01));  // a figure, also where it is noise
    if (allocate == nullptr || release == nullptr || kind == nullptr) continue;
    memkind.ns.push_back(each_pair([&] {
      void* const block = allocate(*kind, bytes);
      release(*kind, block);
      return block;
    }));
  }
  print("small_blocks", {plain, own, turns, above, memkind});
}

void measure_where() {
  const std::size_t bytes = spilt_bytes();
  const std::size_t pages = bytes / page_bytes;
  const auto block = situ::allocate<std::byte>(bytes, one_memory);
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < pages; ++i) addresses.push_back(block.local() + i * page_bytes);
  std::vector<int> nodes(pages);
  samples raw{"move_pages"}, own{"situ"};
  for (int i = 0; i < (is_quick() ? 1 : 9); ++i) {
    double begin = now_ns();
    ::syscall(SYS_move_pages, 0, pages, addresses.data(), nullptr, nodes.data(), 0);
    raw.ns.push_back((now_ns() - begin) / static_cast<double>(pages));
    begin = now_ns();
    (void)situ::placement(block);
    own.ns.push_back((now_ns() - begin) / static_cast<double>(pages));
  }
  situ::deallocate(block);
  print("where", {raw, own});
}

}  // namespace

int main(int argc, char** argv) {
  set_orderings();
  situ::runtime rt{argc, argv};
  if (is_wanted("spill_small_pages")) measure_small_pages();
  if (is_wanted("spill_huge_pages")) measure_huge_pages();
  if (is_wanted("first_touch")) measure_first_touch();
  if (is_wanted("small_blocks")) measure_small_blocks();
  if (is_wanted("where")) measure_where();
  print_end();
}
