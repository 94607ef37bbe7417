#include "support/places.h"

#include <situ/fabric/detail/far.h>

#if !defined(SITU_MODEL)  // a modelled machine is one host
#include "cluster/pretended_hosts.h"
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <random>
#include <stdexcept>

namespace situ::test {
namespace {

bool is_in_job = false;

// Within the process; 0: the variable is not set.
std::uint32_t host_count() {
  const char* const set = is_modelled ? nullptr : std::getenv("SITU_TEST_HOSTS");
  return set == nullptr ? 0 : static_cast<std::uint32_t>(std::stoul(set));
}

thread_local int failed_assertions = 0;
thread_local int fatal_assertions = 0;

// Assertions that fail are told to listeners on the thread where they stand: that of the place.
class failure_counter final : public testing::EmptyTestEventListener {
 public:
  static void install() {
    [[maybe_unused]] static const bool once = [] {
      testing::UnitTest::GetInstance()->listeners().Append(new failure_counter);
      return true;
    }();
  }

 private:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed()) ++failed_assertions;
    if (result.fatally_failed()) ++fatal_assertions;
  }
};

// Places that cannot go on end, and the launcher ends the others.
launch_result run_in_job(const std::function<void()>& body) {
  failed_assertions = fatal_assertions = 0;
  const testing::ScopedTrace trace{__FILE__, __LINE__, "place " + std::to_string(here().index())};
  try {
    barrier();
    finish([&] { body(); });
    barrier();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "place %u: %s\n", here().index(), e.what());
    std::_Exit(1);
  }
  if (fatal_assertions != 0) std::_Exit(1);
  return {};
}

int run_at_place(const layout& where, const std::function<void()>& body) {
  failed_assertions = fatal_assertions = 0;
  const testing::ScopedTrace trace{__FILE__, __LINE__,
                                   "place " + std::to_string(here().index()) + " of " + text_of(where)};
  body();
  if (fatal_assertions != 0) throw std::runtime_error{"an assertion failed"};
  return failed_assertions == 0 ? 0 : 1;
}

}  // namespace

void set_in_job() { is_in_job = true; }

whereabouts where_places_are() {
  if (is_in_job) return whereabouts::job;
  return host_count() > 0 ? whereabouts::hosts_within : whereabouts::one_host;
}

bool can_fork() { return !with_thread_sanitizer && !is_modelled && where_places_are() == whereabouts::one_host; }
const char* why_no_fork() {
  return where_places_are() != whereabouts::one_host ? "places of several hosts are none of the test's own"
         : is_modelled                               ? "a modelled machine has no fork"
                                                     : "ThreadSanitizer forks badly";
}

int rounds(int count) {
  const int part = where_places_are() != whereabouts::one_host ? 50 : with_sanitizer ? 10 : or_modelled(1, 50);
  return (count + part - 1) / part;
}

std::vector<layout> layouts(std::initializer_list<std::uint32_t> counts) {
  if (is_in_job) return {{launch_mode::processes, place_count()}};
  std::vector<layout> all;
  for (const launch_mode mode : {launch_mode::processes, launch_mode::threads})
    for (const std::uint32_t count : counts)
      if (mode == launch_mode::threads || can_fork()) all.push_back({mode, count});
  return all;
}

launch_result launch_on(const layout& where, const std::function<void()>& body, launch_options options) {
  failure_counter::install();
  if (is_in_job) return run_in_job(body);
  options.mode = where.mode;
  if (options.time_limit == 0ms) options.time_limit = with_sanitizer ? 100s : or_modelled(25s, 1000s);
  options.grace = 3000ms;
#if !defined(SITU_MODEL)
  if (const std::uint32_t count = host_count(); count > 0) {
    pretended_hosts hosts{where.places, std::min(count, where.places), {.most_delay = 100us}};
    return launch(
        where.places,
        [&] {
          const pretended_hosts::membership of_a_host{hosts};
          // Tasks that nobody waits for, too: they end as those of a host that is one still.
          return run_at_place(where, [&] { finish([&] { body(); }); });
        },
        options);
  }
#endif
  return launch(where.places, [&] { return run_at_place(where, body); }, options);
}

std::uint64_t test_seed() {
  const char* const given = std::getenv("SITU_TEST_SEED");
  std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  if (is_in_job) {
    seed = broadcast(seed, 0);
    if (here().index() != 0) return seed;
  }
  std::printf("[   SEED   ] SITU_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

memory_usage settled_memory() {
  if (is_modelled)
    for (const place p : places())
      if (p != here()) at(p, [] {});
  // Blocks of other hosts that are given back.
  while (where_places_are() != whereabouts::one_host && situ::detail::current->far->is_outstanding()) progress();
  barrier();
  const memory_usage now = memory_statistics();
  barrier();
  return now;
}

}  // namespace situ::test
