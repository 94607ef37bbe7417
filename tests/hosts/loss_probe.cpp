// loss_probe FOLDER SEED [pool|tree]: a place of a job over several hosts that asks others without end, by put, get,
// atomics or a barrier, until a place is lost; instead, with `pool` it runs tasks of a task_pool without end, and with
// `tree` the first place has a place tree of all, and loops over it. It writes to FOLDER/place.N when it is ready, what it has heard and when, by the
// clock that all pretended hosts have, and when it goes: what a launcher forwards may be late, or gone with a host.
#include <situ/situ.h>

#include <situ/spread/task_pool.h>
#include <situ/trees/place_tree.h>
#include <situ/trees/placed_array.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "memory/job.h"

namespace {

using namespace situ;

constexpr unsigned longest_run_s = 60;  // then something hangs
constexpr std::size_t words = 4096;

class report {
 public:
  report(const std::string& folder, std::uint32_t place)
      : file_{std::fopen(fmt::format("{}/place.{}", folder, place).c_str(), "a")} {
    if (file_ == nullptr) throw std::runtime_error{"no file to report to"};
    std::setvbuf(file_, nullptr, _IOLBF, BUFSIZ);
  }
  ~report() { std::fclose(file_); }
  report(const report&) = delete;
  report& operator=(const report&) = delete;
  void say(const std::string& line) { std::fputs((line + "\n").c_str(), file_); }

 private:
  std::FILE* file_;
};

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Each place allocates the same, so it lies at the same offset of each slice.
template <class T>
ptr<T> at_place(ptr<T> own, std::uint32_t place) {
  const auto slice = static_cast<std::ptrdiff_t>(detail::current->slice_mask + 1);
  const auto away = static_cast<std::ptrdiff_t>(place) - static_cast<std::ptrdiff_t>(here().index());
  return ptr<T>{reinterpret_cast<T*>(own.address() + static_cast<std::uintptr_t>(away * slice))};
}

void ask_without_end(std::uint64_t seed, ptr<long> own) {
  std::mt19937_64 random{seed * 1000 + here().index()};
  std::vector<long> buffer(words, 1);
  std::vector<std::uint32_t> far;
  for (std::uint32_t place = 0; place < place_count(); ++place)
    if (!detail::current->job->is_here(place)) far.push_back(place);
  const std::uint64_t kind = (seed + here().index()) % 4;
  for (;;) {
    const ptr<long> there = at_place(own, far[random() % far.size()]);
    const std::size_t count = random() % 4 == 0 ? words : 1 + random() % 64;
    switch (kind) {
      case 0:
        ++buffer[0];
        put(there, buffer.data(), count);
        break;
      case 1: get(buffer.data(), there, count); break;
      case 2: (void)atomic_fetch_add(there, 1L); break;
      default: barrier(); break;
    }
    progress();  // memory of a place that has ended is there, so who does nothing but read and write waits for nobody
  }
}

// Each place is idle now and then: what a task adds depends on its number.
void run_tasks_without_end() {
  struct chain {
    void operator()(task_pool& pool, std::uint64_t number) const {
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds{20};
      while (std::chrono::steady_clock::now() < end) {}
      pool.add(*this, number + 1);
      if (number % 64 == 0) pool.add([] {});
    }
  };
  task_pool pool;
  if (here().index() == 0) pool.add(chain{}, std::uint64_t{0});
  pool.run();
}

void loop_over_a_tree_without_end() {
  if (here().index() == 0) {
    place_tree tree = place_tree::of_places();
    const placed_rows rows = tree.distribute(8 * static_cast<std::size_t>(place_count()));
    placed_array<long> a{rows, 512, 1}, b{rows, 512, 1};
    for (;;) {
      a.copy_ghosts();
      tree.for_each(
          rows,
          [](const tree_part& part, rows_view<const long> from, rows_view<long> to) {
            for (std::ptrdiff_t i = part.begin; i < part.end; ++i)
              for (std::size_t j = 0; j < to.columns; ++j) to(i, j) = from(i, j) + 1;
          },
          reads(a), writes(b));
      std::swap(a, b);
      tree.wait();
    }
  }
  barrier();
}

// All that is asked afterwards ends as well, in whichever way.
void ask_all_once(ptr<long> own) {
  for (std::uint32_t place = 0; place < place_count(); ++place) try {
      put(at_place(own, place), 1L);
    } catch (const error&) {}
}

// Waits for what the test says in FOLDER. Meanwhile it handles messages: a unit of a place tree that was asked for before
// the loss is awaited by the tree's owner, who is told of the loss only then.
void await_word(const std::string& folder, const char* word) {
  while (::access(fmt::format("{}/{}", folder, word).c_str(), F_OK) != 0) {
    try {
      progress();
    } catch (const place_lost_error&) {}  // another place of the lost host
    ::usleep(2000);
  }
}

void run(int& argc, char** argv, std::uint64_t seed, const std::string& what, std::string& left_as) {
  runtime rt{argc, argv};
  report to{argv[1], here().index()};
  left_as = fmt::format("{}/place.{}", argv[1], here().index());
  const ptr<long> own = allocate<long>(words);
  barrier();
  to.say(fmt::format("ready {} {}", ::getpid(), detail::current->job->slot(place_count()).pid.load()));
  try {
    if (what == "pool") run_tasks_without_end();
    if (what == "tree") loop_over_a_tree_without_end();
    ask_without_end(seed, own);
  } catch (const place_lost_error& e) {
    to.say(fmt::format("lost {} {} {}", now_ns(), e.place_index(), e.what()));
  }
  ask_all_once(own);
  to.say(fmt::format("asked {}", now_ns()));
  // Nobody who lives writes any more. Who was given up may be back, and must not.
  await_word(argv[1], "quiet");
  const std::vector<long> before{own.local(), own.local() + words};
  await_word(argv[1], "over");
  const bool is_kept = std::equal(before.begin(), before.end(), own.local());
  to.say(fmt::format("{} {}", is_kept ? "kept" : "changed", now_ns()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 125;
  const std::string what = argc == 4 ? argv[3] : "";
  ::alarm(longest_run_s);
  std::string report_file;
  try {
    run(argc, argv, std::strtoull(argv[2], nullptr, 10), what, report_file);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "loss_probe: %s\n", e.what());
  }
  if (std::FILE* const file = std::fopen(report_file.c_str(), "a"); file != nullptr) {
    std::fprintf(file, "left %lld\n", static_cast<long long>(now_ns()));
    std::fclose(file);
  }
  return 0;
}
