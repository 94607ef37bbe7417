// How fast is a place's heap beside glibc, jemalloc and mimalloc? One run, the same loops, medians over rounds in which
// the subjects take turns. Prints nanoseconds for each operation and the ratio to glibc.
//
//   pair N     allocate and deallocate N bytes, at once
//   window N   deallocate the oldest of 256 blocks of N bytes, allocate another: first in, first out
//   churn      replace a random one of 16,384 blocks by one of random size: 16 B - 1 KiB (log-uniform); large: 16 B -
//              256 KiB, of 1,024
//   remote N   one thread (place) allocates blocks of N bytes in batches, the other deallocates them; ns for each block
//
// jemalloc and mimalloc are loaded from Debian's packages where they are installed; neither is linked.
// Own time of the thread where one thread works; wall-clock time for `remote`.

#include <situ/memory/allocate.h>

#include "memory/segment.h"
#include "os/child.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void __libc_free(void* block);
}

namespace {

using namespace situ::detail;

struct subject {
  std::string name;
  void* (*allocate)(std::size_t);
  void (*deallocate)(void*);
};

void* situ_allocate(std::size_t bytes) { return allocate_bytes(bytes, 16, false); }

// Two places in this process, as threads of it would be.
class two_places {
 public:
  two_places() : job_{job::create({.place_count = 2})}, space_{address_space::map(job_, 2)} {
    constexpr std::size_t private_bytes = 1 << 20;
    for (std::uint32_t i = 0; i < 2; ++i) {
      const job_control& control = job_.control();
      segments_[i] = std::make_unique<segment>(
          job_.control(), space_.base() + (std::uint64_t{i} << control.slice_shift), i, private_bytes);
      contexts_[i].base = space_.base();
      contexts_[i].slice_mask = (std::uint64_t{1} << control.slice_shift) - 1;
      contexts_[i].heap_offset = segment::heap_offset(control, private_bytes);
      contexts_[i].slice_shift = control.slice_shift;
      contexts_[i].place_count = 2;
      contexts_[i].place = i;
      contexts_[i].limit = limits_;
      contexts_[i].job = &job_.control();
      contexts_[i].segment = segments_[i].get();
    }
  }
  place_context& context(std::uint32_t place) { return contexts_[place]; }

 private:
  job job_;
  address_space space_;
  std::uint64_t limits_[2]{};
  std::unique_ptr<segment> segments_[2];
  place_context contexts_[2];
};

// jemalloc's thread-local state fits only where it is loaded at the start: then malloc is jemalloc's, and glibc's own
// is reached by its other name. Comes back where the package is missing, or is loaded already.
void start_again_with_jemalloc(char** arguments) {
  if (dlsym(RTLD_DEFAULT, "mallctl") != nullptr || std::getenv("LD_PRELOAD") != nullptr) return;
  dlopen("libjemalloc.so.2", RTLD_NOW | RTLD_LOCAL);
  const char* const reason = dlerror();
  if (reason != nullptr && std::strstr(reason, "static TLS") == nullptr) return;
  setenv("LD_PRELOAD", "libjemalloc.so.2", 1);
  std::vector<std::string> words;
  for (char** each = arguments; *each != nullptr; ++each) words.emplace_back(*each);
  (void)situ::os::become_program("/proc/self/exe", std::move(words));
}

std::vector<subject> find_subjects() {
  std::vector<subject> subjects{{"glibc", __libc_malloc, __libc_free}, {"situ", situ_allocate, deallocate_bytes}};
  if (dlsym(RTLD_DEFAULT, "mallctl") != nullptr)
    subjects.push_back({"jemalloc", std::malloc, std::free});
  else
    std::printf("jemalloc is left out: its package is not installed\n");
  if (void* const handle = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL))
    subjects.push_back({"mimalloc", reinterpret_cast<void* (*)(std::size_t)>(dlsym(handle, "mi_malloc")),
                        reinterpret_cast<void (*)(void*)>(dlsym(handle, "mi_free"))});
  else
    std::printf("mimalloc is left out: %s\n", dlerror());
  return subjects;
}

// The thread's own time where one thread works, so that others on the machine disturb little.
double thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void keep(void* block) { asm volatile("" : : "r"(block) : "memory"); }

double pair(const subject& of, std::size_t bytes) {
  constexpr int count = 200'000;
  const double start = thread_ns();
  for (int i = 0; i < count; ++i) {
    void* const block = of.allocate(bytes);
    keep(block);
    of.deallocate(block);
  }
  return (thread_ns() - start) / count;
}

double window(const subject& of, std::size_t bytes) {
  constexpr int count = 200'000;
  void* blocks[256]{};
  const double start = thread_ns();
  for (int i = 0; i < count; ++i) {
    void*& block = blocks[i % 256];
    if (block != nullptr) of.deallocate(block);
    block = of.allocate(bytes);
    *static_cast<char*>(block) = 1;
  }
  const double ns = (thread_ns() - start) / count;
  for (void* const block : blocks) of.deallocate(block);
  return ns;
}

// Blocks live through all rounds, so that fragmentation shows.
class churn {
 public:
  churn(std::size_t blocks, unsigned largest_log2) : blocks_(blocks) {
    std::mt19937_64 random{1};
    for (auto& step : steps_) {
      const double log2 = std::uniform_real_distribution<>{4, static_cast<double>(largest_log2)}(random);
      step = {static_cast<std::uint32_t>(random() % blocks), static_cast<std::uint32_t>(std::exp2(log2))};
    }
  }
  double operator()(const subject& of) {
    std::vector<void*>& blocks = lives_.try_emplace(of.name, blocks_, nullptr).first->second;
    const double start = thread_ns();
    for (const auto& [slot, bytes] : steps_) {
      if (blocks[slot] != nullptr) of.deallocate(blocks[slot]);
      blocks[slot] = of.allocate(bytes);
      *static_cast<char*>(blocks[slot]) = 1;
    }
    return (thread_ns() - start) / static_cast<double>(steps_.size());
  }

 private:
  std::size_t blocks_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> steps_{200'000};
  std::map<std::string, std::vector<void*>> lives_;
};

double remote(const subject& of, std::size_t bytes, two_places& places) {
  constexpr int batches = 500, batch = 256;
  std::vector<void*> mail[2]{std::vector<void*>(batch), std::vector<void*>(batch)};
  std::atomic<int> sent{0}, taken{0};
  const auto start = std::chrono::steady_clock::now();
  std::thread receiver{[&] {
    current = &places.context(1);
    for (int i = 0; i < batches; ++i) {
      while (sent.load(std::memory_order_acquire) <= i) std::this_thread::yield();
      for (void* const block : mail[i % 2]) of.deallocate(block);
      taken.store(i + 1, std::memory_order_release);
    }
  }};
  for (int i = 0; i < batches; ++i) {
    while (taken.load(std::memory_order_acquire) + 2 <= i) std::this_thread::yield();
    for (void*& block : mail[i % 2]) {
      block = of.allocate(bytes);
      *static_cast<char*>(block) = 1;
    }
    sent.store(i + 1, std::memory_order_release);
  }
  receiver.join();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / (batches * batch);
}

void compare(const std::string& question, const std::vector<subject>& subjects,
             const std::function<double(const subject&)>& measure) {
  constexpr int rounds = 11;
  std::vector<std::vector<double>> samples(subjects.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < subjects.size(); ++i) samples[i].push_back(measure(subjects[i]));
  double glibc = 0;
  std::printf("%-14s", question.c_str());
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    std::nth_element(samples[i].begin(), samples[i].begin() + rounds / 2, samples[i].end());
    const double median = samples[i][rounds / 2];
    if (i == 0) glibc = median;
    std::printf("  %s %8.1f ns (%.2f)", subjects[i].name.c_str(), median, median / glibc);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int, char** arguments) {
  start_again_with_jemalloc(arguments);
  two_places places;
  current = &places.context(0);
  const std::vector<subject> subjects = find_subjects();
  for (const std::size_t bytes : {16u, 64u, 256u, 1024u, 4096u, 16384u, 65536u})
    compare("pair " + std::to_string(bytes), subjects, [=](const subject& of) { return pair(of, bytes); });
  for (const std::size_t bytes : {64u, 1024u, 16384u})
    compare("window " + std::to_string(bytes), subjects, [=](const subject& of) { return window(of, bytes); });
  churn small{16384, 10}, large{1024, 18};
  compare("churn", subjects, std::ref(small));
  compare("churn large", subjects, std::ref(large));
  for (const std::size_t bytes : {64u, 1024u})
    compare("remote " + std::to_string(bytes), subjects,
            [&, bytes](const subject& of) { return remote(of, bytes, places); });
}
