// Places die at every numbered point of fabric, memory and runtime, at random moments, and once more while the others
// still hear of the first death, in every kind of program that programs.cpp has; every survivor must have ended, told
// of it, within a second. Then each check for lost places is taken out in turn, and that must be noticed.
//
//   SITU_DEATH_ROUNDS=10000   launches; else as many as go into SITU_DEATH_SECONDS (40 unless given), or, under a
//                             sanitizer, one for each point and one at any moment after it
//   SITU_DEATH_POINT=name     deaths at this point only
//   SITU_TEST_SEED=n          the same launches again
#include "death/points.h"
#include "death/programs.h"
#include "support/places.h"
#include "support/stalls.h"

#include <situ/base/log.h>

#include "memory/job.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <thread>

namespace situ::test_points {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t second_ns = 1'000'000'000;

struct trial {
  const program* what;
  std::uint32_t places;
  plan how;
};

std::string text_of(const trial& t) {
  std::string text = std::string{t.what->name} + " at " + std::to_string(t.places) + " places";
  for (const strike& each : {t.how.at, t.how.also_at})
    if (each.where != point::count)
      text += ", one " + std::string{name_of(each.how)} + " at " + std::string{name_of(each.where)} + ", time " +
              std::to_string(each.occurrence);
  if (t.how.victim != most_places)
    text += ", place " + std::to_string(t.how.victim) + " killed after " + std::to_string(t.how.after.count()) + " us";
  if (t.how.without != check::count) text += ", without the check " + std::string{name_of(t.how.without)};
  return text;
}

struct outcome {
  bool died = false;
  std::string complaint;              // empty: everybody ended as it should
  std::vector<std::int64_t> told_ns;  // since the last death
  std::int64_t all_ended_ns = 0;      // since the last death
};

// Serves the others until each has been told, or ended: nobody learns of the loss by this place's leaving.
void stay_until_all_are_told() {
  const std::int64_t end = now_ns() + 2 * second_ns;
  for (const place p : places()) {
    const detail::place_slot& slot = detail::current->job->slot(p.index());
    while (shared().told_at_ns[p.index()].load() == 0 && slot.state.load() <= detail::place_state::joined &&
           now_ns() < end)
      try {
        progress();
      } catch (const place_lost_error&) {}
  }
}

// What a survivor does once it has been told: what it asks of the others ends, too.
int after_a_loss() {
  const std::uint32_t me = here().index();
  for (const place p : places()) {
    if (p.index() == me) continue;
    try {
      (void)at(p, [] { return 1; });
    } catch (const place_lost_error&) {
    } catch (const remote_error&) {}
  }
  stay_until_all_are_told();
  try {
    barrier();
    return 4;  // of all places, which do not all live
  } catch (const place_lost_error&) {
    return 0;
  }
}

int live(const program& what) {
  try {
    what.run(what.rounds);
    return 0;
  } catch (const place_lost_error&) {
    shared().told_at_ns[here().index()].store(now_ns());
  } catch (...) {  // what another place threw
    shared().told_at_ns[here().index()].store(now_ns());
    throw;
  }
  return after_a_loss();
}

// A place may be lost by what the test did to it, or because it could not join without one that was.
bool is_meant(std::string_view reason, const plan& how) {
  for (const std::string_view part : {"test_points::died", "(SIGKILL)", "with code 3", "place_lost_error"})
    if (reason.find(part) != std::string_view::npos) return true;
  // What is thrown where nothing may throw ends the place, too.
  // After its answer, what a call still offers goes with it.
  if (how.at.how == death::threw && reason.find("of its offload agent") != std::string_view::npos &&
      reason.find("which is over") != std::string_view::npos)
    return true;
  return (how.at.how == death::threw || how.also_at.how == death::threw) &&
         (reason.find("threw an unknown exception") != std::string_view::npos ||
          reason.find("std::terminate was called") != std::string_view::npos ||
          reason.find("(SIGABRT)") != std::string_view::npos);
}

std::string complaint_of(const launch_result& result, bool died) {
  for (std::size_t p = 0; p < result.places.size(); ++p) {
    const place_outcome& each = result.places[p];
    const std::string who = "place " + std::to_string(p);
    if (!each.reason.empty() && !(died && is_meant(each.reason, shared().next)))
      return who + " is lost: " + each.reason;
    if (!each.reason.empty()) continue;
    // One that had left the job, or was leaving it after a loss, when it died. The launcher's own signals come with a
    // reason, or are SIGTERM.
    if (died && (each.signal == SIGKILL || each.signal == SIGABRT || each.exit_code == 3)) continue;
    if (each.signal != 0) return who + " ended by signal " + std::to_string(each.signal);
    if (each.exit_code != 0) return who + " returned " + std::to_string(each.exit_code);
  }
  return {};
}

class every_survivor_is_told : public testing::Test {
 protected:
  void SetUp() override {
    before_ = set_log_sink([](log_level, std::string_view) {});
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
  }
  void TearDown() override { set_log_sink(before_); }

  outcome run(const trial& t, std::chrono::milliseconds grace = 3s) {
    begin_launch(t.how);
    stalls_.begin();
    const std::int64_t begun = now_ns();
    const launch_result result = launch(t.places, [&t] { return live(*t.what); }, {.grace = grace, .time_limit = 10s});
    const std::int64_t ended = now_ns();
    const std::int64_t died_at = shared().died_at_ns.load();
    outcome seen{.died = died_at != 0};
    seen.complaint = complaint_of(result, seen.died);
    if (seen.died) {
      seen.all_ended_ns = ended - died_at;
      const testing::AssertionResult in_time =
          stalls_.allow(std::chrono::nanoseconds{seen.all_ended_ns}, test::told_within);
      if (seen.complaint.empty() && !in_time)
        seen.complaint = std::string{"the last survivor ended late after the death: "} + in_time.message();
      for (const auto& told : shared().told_at_ns)
        if (told.load() > died_at) seen.told_ns.push_back(told.load() - died_at);
    } else if (seen.complaint.empty() && ended - begun > 9 * second_ns) {
      seen.complaint = "nobody died, and it took " + std::to_string((ended - begun) / 1'000'000) + " ms";
    }
    for (std::size_t i = 0; i < point_count; ++i) passed_[i] += shared().passes[i].load();
    return seen;
  }

  // How often each program passes each point when nobody dies, by number of places.
  void learn_passes() {
    for (const program& each : programs()) {
      for (const std::uint32_t places : {2U, 3U, 5U}) {
        const outcome undisturbed = run({&each, places, {}});
        ASSERT_EQ(undisturbed.complaint, "") << each.name << " at " << places << " places";
        known_.push_back({&each, places, {}});
        for (std::size_t i = 0; i < point_count; ++i) known_.back().passes[i] = shared().passes[i].load();
      }
    }
  }

  struct known_passes {
    const program* what;
    std::uint32_t places;
    std::array<std::uint64_t, point_count> passes;
  };

  [[nodiscard]] std::uint32_t below(std::uint32_t n) {
    return std::uniform_int_distribution<std::uint32_t>{0, n - 1}(random_);
  }

  // From 1 to n, the first ones more often.
  [[nodiscard]] std::uint64_t one_of(double n) {
    return static_cast<std::uint64_t>(std::exp(std::uniform_real_distribution{0.0, std::log(n + 0.5)}(random_)));
  }

  void kill_after_a_while(plan& how, std::uint32_t places) {
    how.victim = below(places);
    how.after = std::chrono::microseconds{static_cast<std::int64_t>(
        std::exp(std::uniform_real_distribution{std::log(50.0), std::log(20000.0)}(random_)))};
  }

  // A death at this point, in a program that passes it; where none does undisturbed, after another death.
  trial at_point(point where) {
    std::vector<const known_passes*> passing;
    for (const known_passes& each : known_)
      if (each.passes[static_cast<std::size_t>(where)] != 0) passing.push_back(&each);
    const bool needs_a_loss = passing.empty();
    const known_passes& chosen = needs_a_loss ? known_[below(static_cast<std::uint32_t>(known_.size()))]
                                              : *passing[below(static_cast<std::uint32_t>(passing.size()))];
    trial t{chosen.what, chosen.places, {.at = {where, 1, static_cast<death>(below(3))}}};
    const double most = needs_a_loss ? 3 : static_cast<double>(chosen.passes[static_cast<std::size_t>(where)]);
    t.how.at.occurrence = one_of(most);
    const bool twice = needs_a_loss || below(4) == 0;
    if (twice) t.places = std::max(t.places, 3U);  // somebody must be left
    if (twice && below(2) == 0)
      kill_after_a_while(t.how, t.places);
    else if (twice)  // a place that marks itself as lost passes points of its own
      t.how.also_at = {point::barrier_entered, one_of(3.0 * t.places), death::threw};
    return t;
  }

  trial at_any_moment() {
    const known_passes& chosen = known_[below(static_cast<std::uint32_t>(known_.size()))];
    trial t{chosen.what, chosen.places, {}};
    kill_after_a_while(t.how, t.places);
    return t;
  }

  void print_coverage(const std::array<std::uint32_t, point_count>& deaths) const {
    std::printf("%-24s %12s %8s\n", "point", "passed", "deaths");
    for (std::size_t i = 0; i < point_count; ++i)
      std::printf("%-24s %12llu %8u\n", name_of(static_cast<point>(i)).data(),
                  static_cast<unsigned long long>(passed_[i]), deaths[i]);
  }

  std::mt19937_64 random_{test::test_seed()};
  std::vector<known_passes> known_;
  std::array<std::uint64_t, point_count> passed_{};

 private:
  log_sink before_;
  test::stall_meter stalls_;
};

std::optional<point> point_in(const char* variable) {
  const char* const given = std::getenv(variable);
  for (std::size_t i = 0; given != nullptr && i < point_count; ++i)
    if (name_of(static_cast<point>(i)) == given) return static_cast<point>(i);
  return std::nullopt;
}

std::int64_t number_in(const char* variable, std::int64_t otherwise) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? otherwise : std::strtoll(given, nullptr, 10);
}

TEST_F(every_survivor_is_told, wherever_a_place_dies) {
  ASSERT_NO_FATAL_FAILURE(learn_passes());
  constexpr std::int64_t otherwise = test::with_sanitizer ? 2 * static_cast<std::int64_t>(point_count) : INT64_MAX;
  const std::int64_t rounds = number_in("SITU_DEATH_ROUNDS", otherwise);
  const std::int64_t end = rounds != INT64_MAX ? INT64_MAX : now_ns() + number_in("SITU_DEATH_SECONDS", 40) * second_ns;
  const std::optional<point> only = point_in("SITU_DEATH_POINT");
  std::array<std::uint32_t, point_count> deaths{};
  std::vector<std::int64_t> told;
  std::int64_t last_ended = 0;
  std::int64_t launches = 0, with_a_death = 0, late = 0;
  for (; launches < rounds && now_ns() < end; ++launches) {
    const auto where = only.value_or(static_cast<point>(launches / 2 % static_cast<std::int64_t>(point_count)));
    const trial t = only || launches % 2 == 0 ? at_point(where) : at_any_moment();
    const outcome seen = run(t);
    if (!seen.complaint.empty()) {
      ++late;
      ADD_FAILURE() << "launch " << launches << ": " << text_of(t) << ": " << seen.complaint;
      if (late == 20) break;
    }
    with_a_death += seen.died;
    if (const strike& at = t.how.at; at.where != point::count)
      deaths[static_cast<std::size_t>(at.where)] +=
          shared().passes[static_cast<std::size_t>(at.where)].load() >= at.occurrence;
    told.insert(told.end(), seen.told_ns.begin(), seen.told_ns.end());
    last_ended = std::max(last_ended, seen.all_ended_ns);
  }
  print_coverage(deaths);
  std::sort(told.begin(), told.end());
  ASSERT_FALSE(told.empty());
  std::printf(
      "%lld launches, %lld with a death, %lld that went wrong. Told after (ms): median %.2f, 99 of 100 %.2f, last "
      "%.2f; all ended after at most %.2f\n",
      static_cast<long long>(launches), static_cast<long long>(with_a_death), static_cast<long long>(late),
      static_cast<double>(told[told.size() / 2]) * 1e-6, static_cast<double>(told[told.size() * 99 / 100]) * 1e-6,
      static_cast<double>(told.back()) * 1e-6, static_cast<double>(last_ended) * 1e-6);
  for (std::size_t i = 0; i < point_count; ++i) {
    if (only && *only != static_cast<point>(i)) continue;
    EXPECT_NE(passed_[i], 0U) << name_of(static_cast<point>(i)) << " is passed by no program";
    if (launches < 40 * static_cast<std::int64_t>(point_count)) continue;
    EXPECT_NE(deaths[i], 0U) << "nobody has died at " << name_of(static_cast<point>(i));
  }
}

// Place 1 has two calls of a scope under way. Its code fails after the second was sent, whose work at place 2 is
// acknowledged later: the first one must still be waited for, and each must count once.
void scope_with_two_calls(int) {
  const auto run_for = [](std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) progress();
  };
  if (here().index() == 0) {
    finish([run_for] {
      async_at(place{1}, [run_for] {
        async([run_for] { run_for(150ms); });
        async_at(place{0}, [run_for] { run_for(100ms); });
        async_at(place{2}, [] { async_at(place{1}, [] {}); });
      });
    });
  }
  barrier();
}

TEST_F(every_survivor_is_told, though_a_task_fails_after_it_has_sent_a_call) {
  const program two_calls{"two calls", &scope_with_two_calls, 1};
  const outcome undisturbed = run({&two_calls, 3, {}});
  EXPECT_EQ(undisturbed.complaint, "");
  EXPECT_EQ(shared().passes[static_cast<std::size_t>(point::call_sent)].load(), 4U);
  constexpr std::uint64_t sent = 3;  // the calls: to place 1, from there to 0 and to 2
  const outcome failed = run({&two_calls, 3, {.at = {point::call_sent, sent, death::threw}}});
  EXPECT_TRUE(failed.died);
  EXPECT_EQ(failed.complaint, "");
}

// Where the loss of each check shows soonest; then anywhere.
struct weakness {
  check without;
  std::string_view what;
  point where;
};
constexpr weakness weaknesses[] = {
    {check::poll, "barriers", point::barrier_entered},
    {check::poll_handlers, "turns_of_progress", point::cell_filled},
    {check::turns, "short_messages", point::cell_filled},
    {check::poll_replies, "answered_messages", point::cell_filled},
    {check::waits_in_progress, "barriers", point::barrier_entered},
    {check::late_waits, "parts_beside_a_task", point::cell_filled},
    {check::sleepers_of_dead_wakers, "sleepers", point::sleeper_claimed},
    {check::room, "calls", point::call_arrived},
    {check::calls, "futures", point::call_arrived},
    {check::members, "barriers", point::barrier_entered},
    {check::scopes, "scopes", point::scope_engaged},
    {check::votes, "barriers", point::base_mapped},
    {check::readers_mark, "chains_by_pull", point::reading_marked},
    {check::readers_end, "chains_by_pull", point::reading_marked},
    {check::half_marked, "barriers", point::reason_claimed},
    {check::gone, "short_messages", point::header_published},
};

TEST_F(every_survivor_is_told, and_every_check_for_that_is_needed) {
  ASSERT_NO_FATAL_FAILURE(learn_passes());
  const std::int64_t most = number_in("SITU_DEATH_TRIES", 4000);
  static_assert(std::size(weaknesses) == check_count);
  for (const weakness& each : weaknesses) {
    std::optional<std::string> noticed;
    std::int64_t tries = 0;
    for (; tries < most && !noticed; ++tries) {
      trial t = at_point(each.where);
      while (t.what->name != each.what) t = at_point(each.where);
      t.how.without = each.without;
      const outcome seen = run(t, 1500ms);
      if (!seen.complaint.empty()) noticed = text_of(t) + ": " + seen.complaint;
    }
    if (noticed)
      std::printf("%-24s noticed in launch %3lld: %s\n", name_of(each.without).data(), static_cast<long long>(tries),
                  noticed->c_str());
    EXPECT_TRUE(noticed) << "the check " << name_of(each.without) << " can be taken out, and " << most
                         << " launches do not notice it";
  }
}

}  // namespace
}  // namespace situ::test_points
