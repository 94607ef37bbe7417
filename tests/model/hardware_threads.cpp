// hardware_threads chase|gather|compute|mixed|processors|share FIRST SECOND: two threads, bound to these processors, each
// follow pointers through memory of its own, or add up its lines in the same order, or compute, or (mixed) one computes
// and the other follows pointers. Without SECOND there is one thread, the first. Prints the modelled time until both have ended, in ns, for `mixed` that of the thread that computes;
// for `processors` what the program sees.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t lines = 4096;  // of a thread: eight times a first cache of 32 KiB
constexpr std::size_t words_a_line = 8;
constexpr int steps = 20'000;

// Lines in an order in which each is far from the last: line i is followed by line i + 1021.
std::vector<std::uintptr_t> chain() {
  std::vector<std::uintptr_t> made(lines * words_a_line);
  for (std::size_t i = 0; i < lines; ++i)
    made[i * words_a_line] = reinterpret_cast<std::uintptr_t>(&made[(i + 1021) % lines * words_a_line]);
  return made;
}

[[gnu::noipa]] std::uintptr_t chase(const std::vector<std::uintptr_t>& of) {
  const auto* at = of.data();
  for (int i = 0; i < steps; ++i) at = reinterpret_cast<const std::uintptr_t*>(*at);
  return *at;
}

// The same lines in the same order, but words of 0 in them: no load waits for another.
[[gnu::noipa]] std::uintptr_t gather(const std::vector<std::uintptr_t>& of) {
  std::uintptr_t sum = 0;
  for (std::size_t i = 0, at = 0; i < steps; ++i, at = (at + 1021) % lines) sum += of[at * words_a_line + 1];
  return sum;
}

[[gnu::noipa]] std::uint64_t compute() {
  std::uint64_t a = 1;
  for (int i = 0; i < 20 * steps; ++i) a += a >> 3 ^ static_cast<std::uint64_t>(i);
  return a;
}

void bind_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) std::abort();
}

long long ns_of(std::string_view what, int processor, std::atomic<int>& ready, int threads,
                const std::vector<std::uintptr_t>& own) {
  bind_to(processor);
  ready.fetch_add(1);
  while (ready.load() < threads) sched_yield();
  const auto begin = std::chrono::steady_clock::now();
  if (what == "chase")
    (void)chase(own);
  else if (what == "gather")
    (void)gather(own);
  else
    (void)compute();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
}

std::string line_of(const char* file) {
  char text[256] = "none\n";
  if (std::FILE* const stream = std::fopen(file, "r")) {
    if (std::fgets(text, sizeof text, stream) == nullptr) text[0] = 0;
    std::fclose(stream);
  }
  return text;
}

void print_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::printf("%d %ld %u\n", CPU_COUNT(&set), sysconf(_SC_NPROCESSORS_ONLN), std::thread::hardware_concurrency());
  for (const char* processor : {"0", "1", "3"})
    for (const char* file : {"thread_siblings_list", "core_siblings_list"})
      std::printf(
          "%s",
          line_of((std::string{"/sys/devices/system/cpu/cpu"} + processor + "/topology/" + file).c_str()).c_str());
}

// As libgomp looks at them: there is no machine yet.
[[gnu::constructor]] void look_before_main(int argc, char** argv, char**) {
  if (argc > 1 && std::string_view{argv[1]} == "processors_before_main") print_processors();
}

std::atomic<long> shared_words[2];  // on one line

void add_to(int word, int processor) {
  bind_to(processor);
  for (int i = 0; i < 1000; ++i)
    shared_words[word].store(shared_words[word].load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "processors";
  if (what == "processors") return print_processors(), 0;
  if (what == "processors_before_main") return 0;
  const int processors[] = {std::atoi(argv[2]), argc > 3 ? std::atoi(argv[3]) : 0};
  if (what == "share") {
    std::jthread one{add_to, 0, processors[0]};
    std::jthread two{add_to, 1, processors[1]};
    return 0;
  }
  const int threads = argc > 3 ? 2 : 1;
  std::atomic<int> ready = 0;
  long long took[2] = {};
  {
    std::vector<std::jthread> running;
    const std::vector<std::uintptr_t> own[] = {chain(), chain()};
    for (int i = 0; i < threads; ++i)
      running.emplace_back([&, i] {
        const std::string_view its = what != "mixed" ? what : i == 0 ? "compute" : "chase";
        took[i] = ns_of(its, processors[i], ready, threads, own[i]);
      });
    for (std::jthread& each : running) each.join();
  }
  std::printf("%lld\n", what == "mixed" || took[0] > took[1] ? took[0] : took[1]);
}
