// An index that several processes have: answers during an update, and what is left where one is killed.
#include "package_index_support.h"

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <random>
#include <set>
#include <stdexcept>
#include <string_view>

#include "support/build_paths.h"

namespace package_index::test {
namespace {

class PackageIndexProcesses : public testing::Test {
 protected:
  PackageIndexProcesses()
      : random{std::random_device{}()},  // moments differ from run to run in any case
        sink_{situ::set_log_sink([](situ::log_level, std::string_view) {})} {}  // of what is taken back
  ~PackageIndexProcesses() override { situ::set_log_sink(sink_); }
  void sleep_up_to(unsigned microseconds) {
    std::this_thread::sleep_for(std::chrono::microseconds{random() % (microseconds + 1)});
  }
  [[nodiscard]] listing list_of(unsigned seed, package_rank::vertex count) const {
    return read_listing(folder.write("list", make_archive(seed, count).list));
  }
  static std::uint64_t changes_of(const situ::pool& in) {
    return in.read([&] { return index_of(in).changes; });
  }

  scratch_folder folder;
  const std::string file = folder.path() + "/index";
  std::mt19937 random;

 private:
  situ::log_sink sink_;
};

// What each package has to be is known after each number of changes, and that number is read in the same section.
TEST_F(PackageIndexProcesses, answer_of_one_moment_during_an_update) {
  const listing a = list_of(11, 120), b = list_of(12, 140);
  const std::size_t count = differences(a, b).size();
  std::vector<picture> states;  // after so many changes, round and round
  for (std::size_t i = 0; i < count; ++i) states.push_back(picture_of(after(a, b, i)));
  for (std::size_t i = 0; i < count; ++i) states.push_back(picture_of(after(b, a, i)));
  std::vector<std::string> names;
  for (const listing* each : {&a, &b})
    for (const auto& [name, listed] : *each) names.push_back(name);
  std::uint64_t before = 0;
  {
    situ::pool in = situ::pool::create(file);
    build(in, a);
    before = changes_of(in);
  }
  process updating{[&](auto begins) {
    situ::pool in = situ::pool::open(file);
    begins();
    for (;;) {
      update(in, b);
      update(in, a);
    }
  }};
  const situ::pool in = situ::pool::open(file, situ::pool_access::read);
  std::set<std::size_t> seen;
  std::size_t answers = 0, changed_between = 0;
  std::uint64_t last = before;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while ((answers < 2000 || changed_between < 100 || seen.size() < count / 2) &&
         std::chrono::steady_clock::now() < end) {
    const std::string& name = names[random() % names.size()];
    in.read([&] {
      const std::uint64_t changes = changes_of(in);
      changed_between += changes != last;
      last = changes;
      const std::size_t state = (changes - before) % states.size();
      seen.insert(state);
      const auto wanted = states[state].find(name);
      ASSERT_EQ(index_of(in).packages.contains(name), wanted != states[state].end()) << name << ", state " << state;
      if (wanted == states[state].end()) return;
      ASSERT_EQ(describe(in, name), wanted->second) << name << ", state " << state;
    });
    if (HasFatalFailure()) return;
    if (++answers % 500 == 0) {
      ASSERT_NO_THROW(check_links(in));
    }
  }
  EXPECT_GE(seen.size(), count / 2) << "of " << states.size() << " states, in " << answers << " answers";
  EXPECT_GE(changed_between, 100U);

  // The program, in processes of its own.
  for (int i = 0; i < 20; ++i) {
    const auto told = package_rank::test::run_command({SITU_TEST_BIN_DIR "/package_index", "stat", file, "--json"});
    ASSERT_EQ(told.exit_code, 0) << told.err;
    const auto json = nlohmann::json::parse(told.out);
    const picture& state = states[(json["changes"].get<std::uint64_t>() - before) % states.size()];
    EXPECT_EQ(json["packages"].get<std::uint64_t>() + json["names"].get<std::uint64_t>(), state.size());
    EXPECT_EQ(json["packages"],
              std::count_if(state.begin(), state.end(), [](auto& e) { return e.second.of.is_listed; }));
  }
}

// Killed at random moments, an update leaves the index as it is between two packages, and the next one goes on.
TEST_F(PackageIndexProcesses, killed_in_an_update) {
  const listing lists[] = {list_of(13, 500), list_of(14, 450)};
  listing state = lists[0];
  unsigned whole = 0;  // microseconds
  std::uint64_t changes = 0;
  {
    situ::pool in = situ::pool::create(file);
    build(in, state);
    whole = microseconds_of([&] { update(in, lists[1]); });
    state = lists[1];
    changes = changes_of(in);
  }
  unsigned cut = 0, restored = 0, rounds = 0;
  for (; rounds < 40 || (cut < 10 && rounds < 1000); ++rounds) {
    const listing& to = lists[rounds % 2];
    process updating{[&](auto begins) {
      situ::pool in = situ::pool::open(file);
      begins();
      update(in, to);
    }};
    sleep_up_to(whole);
    (void)updating.kill();

    situ::pool in = situ::pool::open(file);
    restored += in.info().restored_ranges != 0;
    const std::uint64_t now = changes_of(in);
    const std::size_t wanted = differences(state, to).size();
    ASSERT_LE(now - changes, wanted);
    cut += now != changes && now - changes != wanted;
    state = after(state, to, now - changes);
    changes = now;
    ASSERT_EQ(picture_of(in), picture_of(state)) << "round " << rounds;
    expect_sound(in);
  }
  EXPECT_GE(cut, 10U) << "of " << rounds << " updates";
  std::printf("%u updates, %u of them cut between packages, %u within one\n", rounds, cut, restored);
  situ::pool in = situ::pool::open(file);
  update(in, lists[0]);
  EXPECT_EQ(picture_of(in), picture_of(lists[0]));
  expect_sound(in);
}

TEST_F(PackageIndexProcesses, killed_in_a_migration) {
  const listing list = list_of(15, 3000);
  unsigned whole = 0;
  {
    situ::pool in = situ::pool::create(folder.path() + "/whole");
    build_version_1(in, list);
    whole = microseconds_of([&] { migrate(in); });
  }
  unsigned kills = 0, resumed = 0, rounds = 0;
  for (; rounds < 4 || (resumed < 4 && rounds < 50); ++rounds) {
    std::filesystem::remove(file);
    {
      situ::pool in = situ::pool::create(file);
      build_version_1(in, list);
    }
    for (bool is_done = false; !is_done && !HasFailure(); ++kills) {
      process migrating{[&](auto begins) {
        situ::pool in = situ::pool::open(file);
        begins();
        const auto done = migrate(in);
        if (done.size() > 1) throw std::runtime_error{"migrated twice"};
      }};
      sleep_up_to(whole / 2);
      is_done = migrating.kill();

      situ::pool in = situ::pool::open(file);
      EXPECT_TRUE(in.check().damage.empty());
      if (version_of(in) != 0) continue;  // as it was, or as it shall be
      EXPECT_THROW((void)index_of(in), situ::error);
      if (random() % 4 != 0) continue;
      const auto done = migrate(in);  // this process goes on
      EXPECT_TRUE(done.size() == 1 && done[0].is_resumed);
      ++resumed;
      is_done = true;
    }
    situ::pool in = situ::pool::open(file);
    ASSERT_EQ(version_of(in), 2);
    ASSERT_EQ(picture_of(in), picture_of(list));
    expect_sound(in);
  }
  EXPECT_GE(resumed, 4U);
  std::printf("%u migrations, %u kills, %u times gone on in the middle by another process\n", rounds, kills, resumed);
}

TEST_F(PackageIndexProcesses, killed_in_a_build) {
  const listing list = list_of(16, 3000), other = list_of(17, 2000);
  unsigned whole = 0;
  {
    situ::pool in = situ::pool::create(folder.path() + "/whole");
    whole = microseconds_of([&] { build(in, list); });
  }
  unsigned cut = 0, rounds = 0;
  for (; rounds < 5 || (cut < 3 && rounds < 100); ++rounds) {
    std::filesystem::remove(file);
    process building{[&](auto begins) {
      situ::pool in = situ::pool::create(file);
      begins();
      build(in, list);
    }};
    sleep_up_to(whole);
    if (building.kill()) continue;
    situ::pool in = situ::pool::open(file);
    if (version_of(in) == 2) continue;
    ++cut;
    const listing& to = rounds % 2 == 0 ? list : other;
    build(in, to);
    ASSERT_EQ(picture_of(in), picture_of(to));
    expect_sound(in);
  }
  EXPECT_GE(cut, 3U);
}

}  // namespace
}  // namespace package_index::test
