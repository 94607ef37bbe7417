// A pool whose addresses are taken is moved to others by its writer: all pointers that its roots lead to, whatever cuts
// it, and never beside anybody.
#include "crash_recorder.h"
#include "fuzz/pool_image.h"
#include "pool/open_pool.h"
#include "pools.h"
#include "state_file.h"

#include <situ/base/log.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

#include "support/forked.h"

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::pool_access;
using situ::pool_opening;
using situ::transaction;
using situ::detail::open_pool;
using situ::detail::pool_medium;
using situ::test::taken_address;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct twig {
  std::optional<item*> perhaps;
  twig* children[2];
  std::uint64_t number;
};
struct other_item {
  std::uint64_t value;
  other_item* before;
};

pool_opening with_types() { return {.types = situ::pool_types<twig, item>()}; }

// A list, a tree with a cycle, an array as long as a large block, and what nothing leads to.
void fill(pool& made, std::uint64_t items) {
  for (std::uint64_t i = 0; i < items; ++i) push(made, i);
  made.transact([&](transaction& t) {
    item* const shared = t.make<item>(7u, nullptr);
    auto* const leaves = t.make_array<twig>(3);
    for (std::uint64_t i = 0; i < 3; ++i) leaves[i] = {i == 1 ? std::optional{shared} : std::nullopt, {}, i};
    leaves[2].children[0] = leaves;
    t.set_root("tree", t.make<twig>(std::optional{shared}, leaves + 1, leaves + 2, 9u));
    item* const array = t.make_array<item>(2000);
    for (std::uint64_t i = 0; i < 2000; i += 7) array[i] = {i, i % 2 == 0 ? shared : array + i / 2};
    t.set_root("array", array);
    (void)t.make<item>(1u, array);
  });
}

// Goes nowhere but to objects of the pool: where a flush is left out, pointers lead elsewhere.
class content_reader {
 public:
  explicit content_reader(const pool& of) : of_{of} {
    of.for_each_block([&](void* block, std::size_t bytes) { blocks_[static_cast<std::byte*>(block)] = bytes; });
  }
  std::string read() {
    std::string text = std::to_string(blocks_.size()) + " blocks;";
    for (const item* each = of_.root<item>("head"); each != nullptr; each = each->next)
      text += ' ' + std::to_string(is_object(each) ? each->value : throw_lost());
    const twig* const tree = of_.root<twig>("tree");
    const twig* const leaves = tree->children[0] - 1;
    const bool is_tree = is_object(leaves) && tree->children[1] == leaves + 2 && leaves[2].children[0] == leaves &&
                         leaves[1].perhaps == tree->perhaps && !leaves[0].perhaps.has_value() &&
                         is_object(*tree->perhaps) && (*tree->perhaps)->value == 7;
    text += is_tree ? " a tree" : " no tree";
    const item* const array = of_.root<item>("array");
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < 2000; i += 7)
      right += array[i].next == (i % 2 == 0 ? *tree->perhaps : array + i / 2) ? 1 : 0;
    return text + ' ' + std::to_string(right);
  }

 private:
  [[nodiscard]] bool is_object(const void* at) const {
    const auto after = blocks_.upper_bound(static_cast<const std::byte*>(at));
    return after != blocks_.begin() &&
           static_cast<const std::byte*>(at) < std::prev(after)->first + std::prev(after)->second;
  }
  static std::uint64_t throw_lost() { throw std::runtime_error{"a pointer leads to no object"}; }

  const pool& of_;
  std::map<const std::byte*, std::size_t> blocks_;
};

std::string content_of(const pool& of) {
  for (const std::string& each : of.check<twig, item, other_item>().damage) return "damaged: " + each;
  try {
    return content_reader{of}.read();
  } catch (const std::runtime_error& failed) {
    return failed.what();
  }
}

// Whether objects have checks, which have to come along.
class pool_move : public testing::TestWithParam<bool> {
 protected:
  explicit pool_move(std::uint64_t items = 5) : sink_{situ::set_log_sink([](situ::log_level, std::string_view) {})} {
    pool made = pool::create(in.file(), {.most_bytes = std::uint64_t{1} << 20, .object_checks = GetParam()});
    base = made.info().base;
    fill(made, items);
    content = content_of(made);
    EXPECT_THAT(content, testing::Not(HasSubstr("damaged")));
  }
  ~pool_move() override { situ::set_log_sink(sink_); }
  folder in{std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path()};
  std::uintptr_t base = 0;
  std::string content;

 private:
  situ::log_sink sink_;
};

TEST_P(pool_move, brings_all_that_roots_lead_to_along) {
  std::uintptr_t moved = 0;
  {
    const taken_address taken{base};
    pool opened = pool::open(in.file(), with_types());
    moved = opened.info().base;
    EXPECT_NE(moved, base);
    EXPECT_FALSE(opened.info().is_moved);
    EXPECT_TRUE(opened.info().is_shared);
    EXPECT_EQ(content_of(opened), content);
    push(opened, 50);
  }
  // It lies there from now on, for whoever opens it.
  pool opened = pool::open(in.file());
  EXPECT_EQ(opened.info().base, moved);
  EXPECT_EQ(values_of(opened.root<item>("head")).size(), 6);
  opened.transact([&](transaction& t) {
    item* const head = opened.root<item>("head");
    t.set_root("head", head->next);
    t.destroy(head);
  });
  EXPECT_EQ(content_of(opened), content);
}

TEST_P(pool_move, brings_a_pool_with_a_redo_log_along_and_what_its_log_holds) {
  const std::string path = in.file("batched");
  const auto end = situ::test::in_forked_child([&] {
    pool made = pool::create(
        path,
        {.most_bytes = std::uint64_t{1} << 20, .promise = situ::pool_promise::batched, .object_checks = GetParam()});
    fill(made, 300);
    for (std::uint64_t i = 0; i < 5; ++i) push(made, i);
    situ::test::kill_this_process();
  });
  EXPECT_EQ(end.signal, SIGKILL);
  std::string expected;
  std::uintptr_t at = 0;
  {
    const pool read = pool::open(path, pool_access::read);
    expected = content_of(read);
    at = read.info().base;
    EXPECT_GT(read.info().replayed_transactions, 0);
  }
  {
    const taken_address taken{at};
    const pool moved = pool::open(path, with_types());
    EXPECT_NE(moved.info().base, at);
    EXPECT_EQ(content_of(moved), expected);
  }
  const pool opened = pool::open(path);
  EXPECT_NE(opened.info().base, at);
  EXPECT_EQ(content_of(opened), expected);
}

TEST_P(pool_move, is_done_only_where_it_has_to_be) { EXPECT_EQ(pool::open(in.file(), with_types()).info().base, base); }

TEST_P(pool_move, wants_the_types_of_all_roots) {
  const taken_address taken{base};
  const std::vector<char> before = lasting_bytes_of(in.file());
  EXPECT_THAT(error_of(errc::bad_file, [&] { (void)pool::open(in.file()); }), HasSubstr("pool_opening::types"));
  EXPECT_THAT(
      error_of(errc::bad_file, [&] { (void)pool::open(in.file(), pool_opening{.types = situ::pool_types<item>()}); }),
      HasSubstr("root 'tree'"));
  std::vector<char> after = lasting_bytes_of(in.file());
  std::fill_n(after.begin() + situ::detail::pool_writer_offset, 8, 0);
  std::vector<char> expected = before;
  std::fill_n(expected.begin() + situ::detail::pool_writer_offset, 8, 0);
  EXPECT_EQ(after, expected);
}

TEST_P(pool_move, is_refused_beside_others) {
  situ::test::child_signal ready;
  situ::os::child other = situ::test::fork_child(
      [&] {
        const pool opened = pool::open(in.file(), pool_access::read);
        if (!ready.give()) return false;
        for (;;) ::pause();
      },
      {.seconds = 60});
  ASSERT_TRUE(ready.wait());
  {
    const taken_address taken{base};
    EXPECT_THAT(error_of(errc::bad_file, [&] { (void)pool::open(in.file(), with_types()); }),
                HasSubstr("others have it open"));
  }
  other = {};
  EXPECT_EQ(content_of(pool::open(in.file())), content);
}

TEST_P(pool_move, that_is_refused_on_its_way_is_taken_back) {
  {
    pool opened = pool::open(in.file());
    opened.transact(
        [&](transaction& t) { t.set_root("other", reinterpret_cast<other_item*>(opened.root<item>("head")->next)); });
  }
  {
    const taken_address taken{base};
    for (int i = 0; i < 2; ++i)
      EXPECT_THAT(
          error_of(
              errc::bad_file,
              [&] { (void)pool::open(in.file(), pool_opening{.types = situ::pool_types<twig, item, other_item>()}); }),
          HasSubstr("is reached as"));
  }
  const pool opened = pool::open(in.file());
  EXPECT_EQ(opened.info().base, base);
  EXPECT_EQ(content_of(opened), content);
}

// --- what a crash leaves ---

// Moves in one run, and a transaction behind the first one.
class recorded_moves : public crash_recorder {
 public:
  using crash_recorder::crash_recorder;
  void begin(int descriptor, const std::byte* at, bool is_private) override {
    if (!is_begun_) {
      crash_recorder::begin(descriptor, at, is_private);
      is_begun_ = true;
    } else {
      go_on(descriptor, at);
    }
  }

 private:
  bool is_begun_ = false;
};

struct recorded {
  recorded_moves recorder;
  std::vector<std::string> contents;
};

void record_moves(recorded& into, const std::string& path) {
  std::uintptr_t at = 0;
  for (int i = 0; i < 3; ++i) {
    std::optional<taken_address> taken;
    if (i == 0) {
      at = pool::open(path, pool_access::read).info().base;
      into.contents.push_back(content_of(pool::open(path, pool_access::read)));
    }
    taken.emplace(at);
    pool opened = open_pool::open(path, with_types(), {&into.recorder, pool_medium::dax});
    at = opened.info().base;
    into.contents.push_back(content_of(opened));
    into.recorder.complete_step();
    if (i == 0) {
      push(opened, 60);
      into.contents.push_back(content_of(opened));
      into.recorder.complete_step();
    }
    into.recorder.stop();
  }
}

// The first state that is neither what it was before a step nor after it.
std::string violation_of(const recorded& at, std::uint64_t& states_seen, std::uint64_t& cut) {
  std::uint64_t longest = 0;
  for (const auto& point : at.recorder.points()) longest = std::max(longest, point.length);
  const state_file file{longest};
  crash_states states{at.recorder, file.at(), 20171112};
  std::string violation;
  states.for_each([&](const crash_recorder::crash_point& point) {
    std::string found;
    try {
      const pool opened = pool::open(file.path(), pool_access::read);
      cut += opened.info().is_moved ? 1 : 0;
      found = content_of(opened);
    } catch (const situ::error& refused) {
      found = std::string{"refused: "} + refused.what();
    }
    const auto completed = static_cast<std::size_t>(point.completed);
    if (found == at.contents[completed]) return true;
    if (completed + 1 < at.contents.size() && found == at.contents[completed + 1]) return true;
    violation = "after step " + std::to_string(completed) + ": " + found.substr(0, 200);
    return false;
  });
  states_seen += states.states();
  return violation;
}

class pool_move_crash : public pool_move {
 protected:
  pool_move_crash() {
    std::filesystem::remove(in.file());
    pool made = pool::create(
        in.file(),
        {.most_bytes = std::uint64_t{1} << 20, .promise = situ::pool_promise::machine, .object_checks = GetParam()});
    fill(made, 5);
  }
};

TEST_P(pool_move_crash, leaves_a_pool_that_is_read_and_completed) {
  for (const std::size_t unit : {64, 512}) {
    recorded made{recorded_moves{unit}, {}};
    record_moves(made, in.file());
    std::uint64_t states = 0;
    std::uint64_t cut = 0;
    EXPECT_EQ(violation_of(made, states, cut), "");
    EXPECT_GT(cut, 100) << "states in which some pointers are moved";
    std::printf("%zu-byte units: %lu states, %lu of them being moved\n", unit, static_cast<unsigned long>(states),
                static_cast<unsigned long>(cut));
  }
}

TEST_P(pool_move_crash, misses_each_of_its_flushes_and_fences) {
  using situ::detail::pool_step;
  const std::vector<char> before = bytes_of(in.file());
  for (const pool_step step :
       {pool_step::move_begin, pool_step::move_mark, pool_step::move_pointers, pool_step::move_end})
    for (const bool is_fence : {false, true}) {
      write_bytes(in.file(), before);
      recorded made{recorded_moves{64, left_out{step, is_fence}}, {}};
      record_moves(made, in.file());
      std::uint64_t states = 0;
      std::uint64_t cut = 0;
      const std::string missed = violation_of(made, states, cut);
      std::printf("without the %s of %s: %s\n", is_fence ? "fence" : "flush",
                  std::string{situ::detail::name(step)}.c_str(), missed.substr(0, 160).c_str());
      EXPECT_NE(missed, "") << situ::detail::name(step) << ' ' << is_fence;
    }
}

TEST_P(pool_move_crash, a_writer_completes_what_was_cut) {
  recorded made{recorded_moves{64}, {}};
  record_moves(made, in.file());
  std::uint64_t longest = 0;
  for (const auto& point : made.recorder.points()) longest = std::max(longest, point.length);
  const state_file file{longest};
  const state_file completed{longest};
  crash_states states{made.recorder, file.at(), 20171112};
  std::uint64_t were_cut = 0;
  states.for_each([&](const crash_recorder::crash_point&) {
    if (states.states() % 23 != 0) return true;
    std::memcpy(completed.at(), file.at(), longest);
    const std::string expected = content_of(pool::open(file.path(), pool_access::read));
    const bool is_cut = pool::open(file.path(), pool_access::read).info().is_moved;
    were_cut += is_cut ? 1 : 0;
    if (is_cut) {
      EXPECT_THAT(error_of(errc::bad_file, [&] { (void)pool::open(completed.path()); }), HasSubstr("that was cut"));
    }
    // Where it was to be is free, or taken; then also where it was.
    std::optional<taken_address> taken;
    std::uint64_t to = 0;
    std::memcpy(&to, completed.at() + situ::detail::pool_move_offset + 8, 8);
    if (is_cut && were_cut % 2 == 0) taken.emplace((to >> 16) * 16384);
    const pool opened = pool::open(completed.path(), with_types());
    EXPECT_FALSE(opened.info().is_moved);
    EXPECT_EQ(content_of(opened), expected);
    return !HasFailure();
  });
  EXPECT_GT(were_cut, 10);
}

// --- killed at any instruction ---

class pool_move_killed : public pool_move {
 protected:
  pool_move_killed() : pool_move{20000} {}
};

TEST_P(pool_move_killed, goes_on_at_the_next_opening) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random{seed};
  int cut = 0;
  for (int round = 0; round < 60; ++round) {
    situ::test::child_signal begun;
    situ::os::child child = situ::test::fork_child(
        [&] {
          if (!begun.give()) return false;
          for (;;) {
            const std::uintptr_t at = pool::open(in.file(), with_types()).info().base;
            const taken_address taken{at};
            (void)pool::open(in.file(), with_types());
          }
        },
        {.seconds = 60});
    ASSERT_TRUE(begun.wait());
    std::this_thread::sleep_for(std::chrono::microseconds{200 + random() % 5000});
    child.send(SIGKILL);
    const situ::os::exit_status end = child.wait();
    ASSERT_EQ(end.signal, SIGKILL) << end.code;
    {
      const pool read = pool::open(in.file(), pool_access::read);
      cut += read.info().is_moved ? 1 : 0;
      ASSERT_EQ(content_of(read), content);
    }
    if (round % 3 == 0) {
      ASSERT_EQ(content_of(pool::open(in.file(), with_types())), content);
    }
  }
  EXPECT_GT(cut, 0) << "moves that were cut";
  RecordProperty("moves_that_were_cut", cut);
}

std::string name_of(const testing::TestParamInfo<bool>& info) { return info.param ? "checked" : "plain"; }
INSTANTIATE_TEST_SUITE_P(objects, pool_move, testing::Bool(), name_of);
INSTANTIATE_TEST_SUITE_P(objects, pool_move_crash, testing::Bool(), name_of);
INSTANTIATE_TEST_SUITE_P(objects, pool_move_killed, testing::Bool(), name_of);

}  // namespace
