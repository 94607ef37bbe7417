// One test body on every kind of places: processes and threads, few and many.
//
//   class rma : public situ::test::on_places {};
//   TEST_P(rma, put) { run([] { ... EXPECT_EQ(...); }); }         // the body of each place, inside a situ::runtime
//   INSTANTIATE_TEST_SUITE_P(layouts, rma, testing::ValuesIn(situ::test::all_layouts()), situ::test::layout_name);
//
// Assertions work in the body, also on fibers: a forked place prints its failures itself and ends with code 1, which
// fails the test; after a fatal one (ASSERT_*) the place is lost, so that the others do not wait for it until the time
// limit, the watchdog. What handlers and functions of at() write is thread_local: then it is the place's own in both
// modes.
#pragma once

#include <situ/situ.h>

#include <gtest/gtest.h>

#if defined(SITU_TEST_HOSTS)  // places are of several hosts, within the process
#include "cluster/pretended_hosts.h"
#elif defined(SITU_TEST_JOB)  // places are those of a job over hosts, at each of which this program runs
                              // (tests/hosts/bodies.cpp)
#include <situ/fabric/detail/far.h>
#endif

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace situ::test {

using namespace std::chrono_literals;

#if defined(__SANITIZE_THREAD__)
inline constexpr bool with_thread_sanitizer = true;
#else
inline constexpr bool with_thread_sanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool with_sanitizer = true;
#else
inline constexpr bool with_sanitizer = with_thread_sanitizer;
#endif

// Whether the places are those of a modelled machine (tests/modelled_tests.cmake): threads, whose time is the
// machine's.
#if defined(SITU_MODEL)
inline constexpr bool is_modelled = true;
#else
inline constexpr bool is_modelled = false;
#endif
#if defined(SITU_TEST_HOSTS)
// As many as the variable says, 2 where it is not set.
inline std::uint32_t host_count() {
  const char* const set = std::getenv("SITU_TEST_HOSTS");
  return set == nullptr ? 2 : static_cast<std::uint32_t>(std::stoul(set));
}
#endif
// ThreadSanitizer forks badly; a modelled machine does not at all.
#if defined(SITU_TEST_HOSTS) || defined(SITU_TEST_JOB)
inline constexpr bool is_on_hosts = true;
#else
inline constexpr bool is_on_hosts = false;
#endif
inline constexpr bool can_fork = !with_thread_sanitizer && !is_modelled && !is_on_hosts;
inline constexpr const char* why_no_fork = is_on_hosts   ? "places of several hosts are none of the test's own"
                                           : is_modelled ? "a modelled machine has no fork"
                                                         : "ThreadSanitizer forks badly";

// A size or number: the second where each access is modelled.
template <class T>
[[nodiscard]] constexpr T or_modelled(T usual, T modelled) noexcept {
  return is_modelled ? modelled : usual;
}

// Rounds of a repeated check: a tenth where a sanitizer makes each ten times as slow, a fiftieth where it is modelled
// or each access goes to another host.
[[nodiscard]] constexpr int rounds(int count) noexcept {
  const int part = is_on_hosts ? 50 : with_sanitizer ? 10 : or_modelled(1, 50);
  return (count + part - 1) / part;
}

struct layout {
  launch_mode mode;
  std::uint32_t places;
};

[[nodiscard]] inline std::string text_of(const layout& l) {
  return (l.mode == launch_mode::processes ? "processes_" : "threads_") + std::to_string(l.places);
}
inline void PrintTo(const layout& l, std::ostream* out) { *out << text_of(l); }
[[nodiscard]] inline std::string layout_name(const testing::TestParamInfo<layout>& info) { return text_of(info.param); }

// Both modes with each of these numbers of places; threads alone where nothing forks. In a job, its places.
[[nodiscard]] inline std::vector<layout> layouts(std::initializer_list<std::uint32_t> counts) {
#if defined(SITU_TEST_JOB)
  return {{launch_mode::processes, place_count()}};
#endif
  std::vector<layout> all;
  for (const launch_mode mode : {launch_mode::processes, launch_mode::threads})
    for (const std::uint32_t count : counts)
      if (mode == launch_mode::threads || can_fork) all.push_back({mode, count});
  return all;
}
[[nodiscard]] inline std::vector<layout> all_layouts() { return layouts({1, 2, 4, 7}); }

namespace detail {

inline thread_local int failed_assertions = 0;
inline thread_local int fatal_assertions = 0;

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

}  // namespace detail

#if defined(SITU_TEST_JOB)
// The body at this place of the job, which fails its test by itself. Places that cannot go on end, and the launcher
// ends the others.
template <class Body>
launch_result run_in_job(Body body) {
  detail::failure_counter::install();
  detail::failed_assertions = detail::fatal_assertions = 0;
  const testing::ScopedTrace trace{__FILE__, __LINE__, "place " + std::to_string(here().index())};
  try {
    barrier();
    finish([&] { body(); });
    barrier();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "place %u: %s\n", here().index(), e.what());
    std::_Exit(1);
  }
  if (detail::fatal_assertions != 0) std::_Exit(1);
  return {};
}
#endif

// Launches the places of a layout; what goes wrong is in the result, and failed assertions are counted by the test as
// well.
template <class Body>
launch_result launch_on([[maybe_unused]] const layout& where, Body body, [[maybe_unused]] launch_options options = {}) {
#if defined(SITU_TEST_JOB)
  return run_in_job(std::move(body));
#else
  detail::failure_counter::install();
  options.mode = where.mode;
  if (options.time_limit == 0ms) options.time_limit = with_sanitizer ? 100s : or_modelled(25s, 1000s);
  options.grace = 3000ms;
#if defined(SITU_TEST_HOSTS)
  pretended_hosts hosts{where.places, std::min(host_count(), where.places), {.most_delay = 100us}};
#endif
  return launch(
      where.places,
      [&]() -> int {
        detail::failed_assertions = detail::fatal_assertions = 0;
        const testing::ScopedTrace trace{__FILE__, __LINE__,
                                         "place " + std::to_string(here().index()) + " of " + text_of(where)};
#if defined(SITU_TEST_HOSTS)
        const pretended_hosts::membership of_a_host{hosts};
        // Tasks that nobody waits for, too: they end as those of a host that is one still.
        finish([&] { body(); });
#else
        body();
#endif
        if (detail::fatal_assertions != 0) throw std::runtime_error{"an assertion failed"};
        return detail::failed_assertions == 0 ? 0 : 1;
      },
      options);
#endif
}

// The numbers of all places but one.
inline std::vector<std::uint32_t> places_but(std::uint32_t victim) {
  std::vector<std::uint32_t> others;
  for (const place p : places())
    if (p.index() != victim) others.push_back(p.index());
  return others;
}

// The victim alone was lost: all others have ended well.
inline void expect_only_lost(const launch_result& result, std::uint32_t victim) {
  ASSERT_TRUE(result.first_lost);
  EXPECT_EQ(result.first_lost->index(), victim);
  for (std::uint32_t p = 0; p < result.places.size(); ++p) {
    if (p == victim) continue;
    EXPECT_EQ(result.places[p].exit_code, 0) << "place " << p << ": " << result.places[p].reason;
    EXPECT_TRUE(result.places[p].reason.empty()) << "place " << p << ": " << result.places[p].reason;
  }
}

class on_places : public testing::TestWithParam<layout> {
 protected:
  template <class Body>
  void run(Body body, launch_options options = {}) {
    const launch_result result = launch_on(GetParam(), std::move(body), std::move(options));
    EXPECT_TRUE(result.ok()) << result.message();
  }
};

// Seeds of random tests are new in each run, and printed; SITU_TEST_SEED=n repeats one. In a job all places call it.
[[nodiscard]] inline std::uint64_t test_seed() {
  const char* const given = std::getenv("SITU_TEST_SEED");
  std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
#if defined(SITU_TEST_JOB)
  seed = broadcast(seed, 0);
  if (here().index() != 0) return seed;
#endif
  std::printf("[   SEED   ] SITU_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// A well-mixed number for each (a, b): what all places can compute alike without sending it.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t a, std::uint64_t b = 0) noexcept {
  std::uint64_t x = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;  // splitmix64
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// Bytes that look like no other bytes: each of 8 depends on the seed and its position.
[[nodiscard]] inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = mixed(seed, i);
    std::memcpy(made.data() + i, &word, std::min<std::size_t>(8, bytes - i));
  }
  return made;
}

// What this place has allocated while nothing is under way. On a modelled machine, who gives back a block elsewhere
// sends word of it: whatever was sent has come once later calls are answered. Collective.
[[nodiscard]] inline memory_usage settled_memory() {
  if (is_modelled)
    for (const place p : places())
      if (p != here()) at(p, [] {});
#if defined(SITU_TEST_HOSTS) || defined(SITU_TEST_JOB)
  while (situ::detail::current->far->is_outstanding()) progress();  // blocks of other hosts that are given back
#endif
  barrier();
  const memory_usage now = memory_statistics();
  barrier();
  return now;
}

// Runs what may throw a situ::error and returns its code and text; fails the test where it does not throw.
struct caught_error {
  errc code = errc::not_supported;
  std::string text;
  [[nodiscard]] bool says(std::string_view part) const { return text.find(part) != std::string::npos; }
};
template <class Call>
[[nodiscard]] caught_error error_of(Call call) {
  try {
    call();
  } catch (const error& e) {
    return {e.code(), e.what()};
  } catch (const std::exception& e) {
    ADD_FAILURE() << "not a situ::error: " << e.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace situ::test
