// Long random sequences of collectives: over the world, over teams of teams that come and go, in tasks side by side,
// with barriers left open, calls and late members in between. A sequence comes of a seed, so each place knows what it
// must do, and what comes out.
//
//   SITU_SEQUENCE_STEPS=n     steps a sequence; 2000 unless given
#include "runtime/collective_values.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>

namespace situ {
namespace {

using test::collective_kind;
using test::mixed;

class collective_sequences : public test::on_places {};

int steps_wanted() {
  const char* const given = std::getenv("SITU_SEQUENCE_STEPS");
  return given == nullptr ? test::rounds(2000) : std::atoi(given);
}

// The state of one place in a sequence: every place has as many teams, not of the same members.
class sequence {
 public:
  explicit sequence(std::uint64_t seed) : seed_{seed}, late_{mixed(seed, here().index())} { teams_.push_back(world()); }

  void step(std::uint64_t number) {
    const std::uint64_t salt = mixed(seed_, number);
    for (std::uint64_t turns = late_() % 4; turns > 0; --turns) progress();
    // teams of teams are soon small: the world as often as all of them
    const team& t = teams_[mixed(salt, 1) % 2 == 0 ? 0 : mixed(salt, 7) % teams_.size()];
    switch (mixed(salt, 2) % 12) {
      case 0: return split(t, salt);
      case 1: return subset(salt);
      case 2: return forget(salt);
      case 3: return barrier(t);
      case 4: return leave_a_barrier_open(t);
      case 5: return side_by_side(salt);
      case 6: return call(salt);
      default:
        return test::check_collective(
            static_cast<collective_kind>(mixed(salt, 3) % static_cast<std::uint32_t>(collective_kind::count)), t, salt);
    }
  }

  void finish_barriers() {
    if (open_) open_->get();
    open_.reset();
  }

 private:
  static constexpr std::size_t most_teams = 6;

  void split(const team& t, std::uint64_t salt) {
    if (teams_.size() == most_teams) return forget(salt);
    const std::uint64_t own = mixed(salt, here().index());
    teams_.push_back(t.split(own % 4 == 0 ? 1 : 0, static_cast<std::uint32_t>(own >> 32)));
  }

  // A team of some places, used at once: the others are in a later step meanwhile.
  void subset(std::uint64_t salt) {
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t p = 0; p < place_count(); ++p)
      if (mixed(salt, 40 + p) % 2 == 0) chosen.push_back(p);
    if (std::find(chosen.begin(), chosen.end(), here().index()) == chosen.end()) return;
    const team some = world().subset(chosen);
    test::check_collective(collective_kind::all_reduce, some, salt);
    barrier(some);
  }

  void forget(std::uint64_t salt) {
    finish_barriers();  // it may be of that team
    if (teams_.size() > 1)
      teams_.erase(teams_.begin() + 1 + static_cast<std::ptrdiff_t>(mixed(salt, 4) % (teams_.size() - 1)));
  }

  void leave_a_barrier_open(const team& t) {
    finish_barriers();
    open_ = barrier_async(t);
  }

  // A barrier that is open lets no other of its team begin.
  void barrier(const team& t) {
    finish_barriers();
    situ::barrier(t);
  }

  // Each team in a task of its own.
  void side_by_side(std::uint64_t salt) {
    finish([&] {
      for (std::size_t i = 0; i < teams_.size(); ++i)
        async([this, i, salt] {
          for (std::uint64_t round = 0; round < 3; ++round)
            test::check_collective(static_cast<collective_kind>(mixed(salt, 50 + round) %
                                                                static_cast<std::uint32_t>(collective_kind::count)),
                                   teams_[i], mixed(salt, round));
        });
    });
  }

  static void call(std::uint64_t salt) {
    const place other{static_cast<std::uint32_t>(mixed(salt, 60 + here().index()) % place_count())};
    ASSERT_EQ(at(other, [](std::uint64_t x) { return async([x] { return x + 1; }).get(); }, salt), salt + 1);
  }

  std::uint64_t seed_;
  std::mt19937_64 late_;
  std::vector<team> teams_;
  std::optional<future<>> open_;
};

TEST_P(collective_sequences, agree_with_what_every_place_computes_for_itself) {
  const std::uint64_t seed = test::test_seed();
  run(
      [seed] {
        const std::uint64_t live = test::settled_memory().live_bytes;
        {
          sequence mine{seed};
          for (int step = 0; step < steps_wanted() && !testing::Test::HasFatalFailure(); ++step)
            mine.step(static_cast<std::uint64_t>(step));
          mine.finish_barriers();
          barrier();
        }
        EXPECT_EQ(test::settled_memory().live_bytes, live) << "teams that are gone have left memory behind";
      },
      {.time_limit = std::chrono::minutes{20}});
}

INSTANTIATE_TEST_SUITE_P(layouts, collective_sequences, testing::ValuesIn(test::layouts({1, 2, 3, 5, 8})),
                         test::layout_name);

}  // namespace
}  // namespace situ
