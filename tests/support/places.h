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

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/sanitized.h"

namespace situ::test {

using namespace std::chrono_literals;

// Whether the places are those of a modelled machine (tests/modelled_tests.cmake): threads, whose time is the
// machine's.
#if defined(SITU_MODEL)
inline constexpr bool is_modelled = true;
#else
inline constexpr bool is_modelled = false;
#endif

// Where a program's places are: its own, all of one host, unless SITU_TEST_HOSTS says of how many hosts they are taken
// to be (cluster/pretended_hosts.h), or its main says that they are those of a job that it is a part of
// (hosts/bodies.cpp).
enum class whereabouts { one_host, hosts_within, job };
void set_in_job();
[[nodiscard]] whereabouts where_places_are();
// ThreadSanitizer forks badly; a modelled machine does not at all.
[[nodiscard]] bool can_fork();
[[nodiscard]] const char* why_no_fork();

// A size or number: the second where each access is modelled.
template <class T>
[[nodiscard]] constexpr T or_modelled(T usual, T modelled) noexcept {
  return is_modelled ? modelled : usual;
}

// Rounds of a repeated check: a tenth where a sanitizer makes each ten times as slow, a fiftieth where it is modelled
// or each access goes to another host.
[[nodiscard]] int rounds(int count);

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
[[nodiscard]] std::vector<layout> layouts(std::initializer_list<std::uint32_t> counts);
[[nodiscard]] inline std::vector<layout> all_layouts() { return layouts({1, 2, 4, 7}); }

// Launches the places of a layout; what goes wrong is in the result, and failed assertions are counted by the test as
// well. In a job: this place's part, which fails its test by itself; one that cannot go on ends.
launch_result launch_on(const layout& where, const std::function<void()>& body, launch_options options = {});

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
  void run(const std::function<void()>& body, launch_options options = {}) {
    const launch_result result = launch_on(GetParam(), body, std::move(options));
    EXPECT_TRUE(result.ok()) << result.message();
  }
};

// Seeds of random tests are new in each run, and printed; SITU_TEST_SEED=n repeats one. In a job all places call it.
[[nodiscard]] std::uint64_t test_seed();

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
[[nodiscard]] memory_usage settled_memory();

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
