// What a crash may leave is found whole: each scenario is recorded, each state that may be left at each of its points
// is opened (crash_recorder.h says which are), and must be what it was before the step that was cut, or after it, with
// nothing leaked. Then each flush and each fence of the implementation is left out in turn, and must be missed.
#include "crash_runs.h"
#include "pool/open_pool.h"
#include "pools.h"

#include <situ/base/log.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>

using namespace situ_pool_test;
using situ::pool;
using situ::transaction;
using situ::detail::open_pool;
using situ::detail::pool_medium;
using situ::detail::pool_overrides;

namespace {

// All that a scenario changes hangs off it.
struct world {
  std::uint64_t count;
  item* head;
  std::uint64_t words[48];  // over several cache lines
  item* array;
  std::uint64_t array_items;
  item* spare;
};
constexpr std::size_t spare_items = 60;

// --- what a pool holds, as text ---

class content_reader {
 public:
  explicit content_reader(const pool& of) : of_{of} {
    of.for_each_block([&](void* block, std::size_t bytes) { blocks_[block] = bytes; });
  }
  std::string read() {
    for (const std::string& each : of_.check().damage) return "damaged: " + each;
    const auto* const all = of_.root<world>("world");
    std::string text = "nothing";
    if (all != nullptr) {
      reach(all, sizeof *all);
      text = std::to_string(all->count) + ':';
      for (const item* each = all->head; each != nullptr; each = each->next) {
        reach(each, sizeof *each);
        text += ' ' + std::to_string(each->value);
      }
      for (const std::uint64_t each : all->words) text += each != 0 ? ' ' + std::to_string(each) : ".";
      text += read_array(*all);
      for (const item* each = all->spare; each != nullptr; each = each->next) {
        reach(each, spare_items * sizeof(item));
        text += " spare";
      }
    }
    return reached_.size() == blocks_.size()
               ? text
               : std::to_string(blocks_.size() - reached_.size()) + " blocks are leaked beside " + text;
  }

 private:
  std::string read_array(const world& all) {
    if (all.array == nullptr) return {};
    reach(all.array, all.array_items * sizeof(item));
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < all.array_items; ++i) sum = sum * 31 + all.array[i].value;
    return " array " + std::to_string(sum);
  }
  void reach(const void* at, std::size_t bytes) {
    const auto found = blocks_.find(at);
    if (found == blocks_.end() || found->second < bytes) throw std::runtime_error{"a pointer leads to no object"};
    if (!reached_.insert(at).second) throw std::runtime_error{"an object is reached twice"};
  }

  const pool& of_;
  std::map<const void*, std::size_t> blocks_;
  std::set<const void*> reached_;
};

std::string content_of(const pool& of) {
  try {
    return content_reader{of}.read();
  } catch (const std::exception& failed) {
    return std::string{"broken: "} + failed.what();
  }
}

// --- scenarios ---

using scenario = crash_scenario;
using recording = crash_recording;
using verdict = crash_verdict;

world& world_of(pool& in) { return *in.root<world>("world"); }

void begin_world(pool& in) {
  in.transact([](transaction& t) { t.set_root("world", t.make<world>()); });
}
void push_item(pool& in) {
  in.transact([&](transaction& t) {
    world& all = t.change(&world_of(in));
    all.head = t.make<item>(++all.count, all.head);
  });
}
void pop_item(pool& in) {
  in.transact([&](transaction& t) {
    world& all = world_of(in);
    item* const gone = all.head;
    t.set(all.head, gone->next);
    t.set(all.count, all.count - 1);
    t.destroy(gone);
  });
}
void set_words(pool& in) {
  in.transact([&](transaction& t) {
    for (std::uint64_t& word : world_of(in).words)
      if (&word - world_of(in).words < 40) t.set(word, word + 1);
  });
}
void count_up(pool& in) {
  in.transact([&](transaction& t) { t.set(world_of(in).count, world_of(in).count + 1); });
}
void set_word(pool& in, std::size_t which) {
  in.transact([&](transaction& t) { t.set(world_of(in).words[which], world_of(in).count); });
}
template <class Body>
void aborted(pool& in, Body body) {
  try {
    in.transact([&](transaction& t) {
      body(t);
      throw 1;
    });
  } catch (int) {}
}
void set_within(pool& in) {
  in.transact([&](transaction& outer) {
    outer.set(world_of(in).words[0], 100u);
    aborted(in, [&](transaction& inner) {
      inner.set(world_of(in).words[0], 200u);
      inner.set(world_of(in).words[20], 200u);
      push_item(in);
    });
    outer.set(world_of(in).words[30], 100u);
  });
}
// An array that nobody has written: its pages are zero as the file's are.
void replace_array(pool& in, std::uint64_t items, std::uint64_t value) {
  in.transact([&](transaction& t) {
    world& all = t.change(&world_of(in));
    if (all.array != nullptr) t.destroy(all.array);
    all.array = t.make_array<item>(items);
    all.array_items = items;
    for (std::uint64_t i = 0; value != 0 && i < items; ++i) all.array[i].value = value + i;
  });
}
void change_array(pool& in) {
  in.transact([&](transaction& t) {
    world& all = world_of(in);
    for (std::uint64_t i = 0; i < all.array_items; i += 500) {
      item* const some = t.change(all.array + i, std::min<std::uint64_t>(500, all.array_items - i));
      for (std::uint64_t j = 0; j < 500 && i + j < all.array_items; ++j) some[j].value += 7;
    }
  });
}
// Blocks of which a slab has few.
void take_spares(pool& in, int count) {
  in.transact([&](transaction& t) {
    for (; count != 0; --count) {
      item* const made = t.make_array<item>(spare_items);
      made->next = world_of(in).spare;
      t.set(world_of(in).spare, made);
    }
  });
}
void drop_spares(pool& in, int count) {
  in.transact([&](transaction& t) {
    for (; count != 0; --count) {
      item* const gone = world_of(in).spare;
      t.set(world_of(in).spare, gone->next);
      t.destroy(gone);
    }
  });
}

const std::vector<scenario>& scenarios() {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  static const std::vector<scenario> all = {
      {"objects", mib, {begin_world, push_item, push_item, set_words, pop_item, push_item, pop_item, pop_item}},
      {"aborts",
       mib,
       {begin_world, push_item, set_within,
        [](pool& in) {
          aborted(in, [&](transaction&) {
            set_words(in);
            push_item(in);
          });
        },
        set_words, [](pool& in) { aborted(in, [&](transaction&) { pop_item(in); }); }, push_item}},
      {"slabs",
       mib,
       {begin_world, [](pool& in) { take_spares(in, 2); }, [](pool& in) { drop_spares(in, 1); },
        [](pool& in) { take_spares(in, 36); }, push_item, [](pool& in) { drop_spares(in, 20); },
        [](pool& in) { aborted(in, [&](transaction&) { take_spares(in, 20); }); },
        [](pool& in) { drop_spares(in, 17); }, push_item}},
      {"a long log",
       mib,
       {begin_world, [](pool& in) { replace_array(in, 5000, 3); }, change_array,
        [](pool& in) { aborted(in, [&](transaction&) { change_array(in); }); }, push_item,
        [](pool& in) { replace_array(in, 4500, 9); }, change_array}},
      {"small",
       mib,
       {begin_world, count_up, count_up, count_up, [](pool& in) { set_word(in, 3); },
        [](pool& in) { set_word(in, 40); }, count_up, [](pool& in) { set_word(in, 3); }, count_up, push_item, count_up,
        [](pool& in) { set_word(in, 17); }, count_up, count_up, set_words, count_up, push_item, count_up, count_up}},
      {"growth",
       4 * mib,
       {begin_world, [](pool& in) { replace_array(in, 70000, 0); }, push_item,
        [](pool& in) { replace_array(in, 130000, 0); }, set_words}},
  };
  return all;
}

// --- recording and looking ---

constexpr std::uint32_t fixed_seed = 20171112;  // for mutations, which have to be found each time

class pool_crash : public testing::TestWithParam<way> {};

TEST_P(pool_crash, leaves_all_or_nothing) {
  const std::uint32_t seed = std::random_device{}();
  verdict all;
  std::uint64_t stored_again = 0;
  for (const scenario& each : scenarios()) {
    // It would take as long as all others, and changes no object that is not new.
    if (GetParam() == way::checked_in_place && std::string_view{each.name} == "growth") continue;
    SCOPED_TRACE(testing::Message() << each.name << ", seed " << seed);
    recording made{crash_recorder{unit_of(GetParam())}, {}};
    record(made, each, content_of, GetParam());
    for (const std::string& content : made.contents)
      ASSERT_THAT(content, testing::Not(testing::ContainsRegex("leaked|damaged")));
    const verdict found = look_at_states(made, content_of, seed, GetParam());
    EXPECT_EQ(found.violation, "");
    all.states += found.states;
    all.points += found.points;
    all.points_in_full += found.points_in_full;
    stored_again += made.recorder.stored_again();
  }
  EXPECT_GT(all.points_in_full, 100);
  if (has_store_hooks() && !is_redo(GetParam())) {
    EXPECT_GT(stored_again, 50) << "words that were stored twice between flushes";
  }
  std::printf("%s: %lu states at %lu points, %lu of them in full; %lu words stored twice between flushes\n",
              name_of(GetParam()).c_str(), static_cast<unsigned long>(all.states),
              static_cast<unsigned long>(all.points), static_cast<unsigned long>(all.points_in_full),
              static_cast<unsigned long>(stored_again));
}

INSTANTIATE_TEST_SUITE_P(ways, pool_crash,
                         testing::Values(way::lines_in_place, way::sectors_in_place, way::by_record, way::batched,
                                         way::checked_in_place, way::checked_by_record),
                         [](const auto& info) { return name_of(info.param); });

// --- recoveries that are cut themselves ---

// Recovers each `every`th state that a scenario may leave, goes on for some transactions where there is something to go
// on with, and looks at each state that this may leave. Their records are as long as those that the state has lost, so
// that one of before may lie behind a new one.
verdict look_at_recoveries(const recording& at, std::uint64_t every, std::optional<left_out> without, way which) {
  std::uint64_t longest = 0;
  for (const auto& point : at.recorder.points()) longest = std::max(longest, point.length);
  const state_file file{longest};
  const state_file recovered{longest};
  crash_states states{at.recorder, file.at(), fixed_seed};
  verdict result;
  states.for_each([&](const crash_recorder::crash_point& point) {
    if (at.contents[static_cast<std::size_t>(point.completed)] == no_pool || states.states() % every != 0) return true;
    recovered.lengthen();
    std::memcpy(recovered.at(), file.at(), longest);
    const std::string content = content_of_file(file.path(), content_of);
    recording made{crash_recorder{unit_of(which), without}, {content, content}};
    {
      pool opened =
          open_pool::open(recovered.path(), situ::pool_access::write,
                          {&made.recorder, is_redo(which) ? pool_medium::page_cache : pool_medium::dax, 2048});
      made.recorder.complete_step();
      result.points +=
          made.recorder.flushes().contains(pool_step::restore) || opened.info().replayed_transactions != 0 ? 1 : 0;
      if (opened.root<world>("world") != nullptr) {
        for (int i = 0; i < (is_redo(which) ? 4 : 2); ++i) {
          i == 1 ? push_item(opened) : count_up(opened);
          made.contents.push_back(content_of(opened));
          made.recorder.complete_step();
        }
      }
      if (!is_redo(which)) made.recorder.stop();
    }
    if (is_redo(which)) {
      made.contents.push_back(made.contents.back());
      made.recorder.complete_step();
      made.recorder.stop();
    }
    const verdict found = look_at_states(made, content_of, fixed_seed, which);
    result.states += found.states;
    result.violation = found.violation;
    return result.violation.empty();
  });
  return result;
}

class pool_crash_in_recovery : public testing::Test {
 protected:
  pool_crash_in_recovery() {
    before_ = situ::set_log_sink([](situ::log_level, std::string_view) {});
  }
  ~pool_crash_in_recovery() override { situ::set_log_sink(before_); }
  // only: that scenario; empty: all.
  static verdict look_at(std::optional<left_out> without, std::uint64_t every, way which, std::string_view only = "") {
    verdict all;
    for (const scenario& each : scenarios()) {
      if (!only.empty() && each.name != only) continue;
      recording made{crash_recorder{unit_of(which)}, {}};
      record(made, each, content_of, which);
      const verdict found = look_at_recoveries(made, every, without, which);
      all.states += found.states;
      all.points += found.points;
      all.violation = found.violation;
      if (!all.violation.empty()) break;
    }
    return all;
  }
  situ::log_sink before_;
};

TEST_F(pool_crash_in_recovery, leaves_what_it_recovers) {
  for (const way which : {way::lines_in_place, way::by_record, way::batched, way::checked_in_place}) {
    SCOPED_TRACE(name_of(which));
    const verdict found = look_at({}, has_checks(which) ? 3001 : is_redo(which) ? 79 : 2003, which);
    EXPECT_EQ(found.violation, "");
    EXPECT_GT(found.points, 10) << "recoveries that had something to bring back";
    std::printf("%s: %lu states of %lu recoveries\n", name_of(which).c_str(), static_cast<unsigned long>(found.states),
                static_cast<unsigned long>(found.points));
  }
}

TEST_F(pool_crash_in_recovery, misses_its_flush_and_its_fence) {
  for (const bool is_fence : {false, true}) {
    EXPECT_NE(look_at(left_out{pool_step::restore, is_fence}, 53, way::lines_in_place).violation, "") << is_fence;
    EXPECT_NE(look_at(left_out{pool_step::forget, is_fence}, 7, way::batched, "small").violation, "") << is_fence;
  }
}

// --- what is left out is missed ---

// Which flushes and fences there are, is what a run has done: a new one cannot be forgotten here.
std::vector<left_out> all_that_can_be_left_out(way which) {
  std::set<std::pair<pool_step, bool>> seen;
  for (const scenario& each : scenarios()) {
    recording made{crash_recorder{unit_of(which)}, {}};
    record(made, each, content_of, which);
    for (const auto& [step, count] : made.recorder.flushes()) seen.emplace(step, false);
    for (const auto& [step, count] : made.recorder.fences()) seen.emplace(step, true);
  }
  std::vector<left_out> all;
  for (const auto& [step, is_fence] : seen) all.push_back({step, is_fence});
  return all;
}

std::string missed_by(const left_out& without, way which) {
  // Some need two units in rare states at once: further samples until they are found.
  constexpr std::uint32_t most_samples = 16;
  for (std::uint32_t sample = 0; sample < most_samples; ++sample)
    for (const scenario& each : scenarios()) {
      recording made{crash_recorder{unit_of(which), without}, {}};
      record(made, each, content_of, which);
      const verdict found = look_at_states(made, content_of, fixed_seed + sample, which);
      if (!found.violation.empty()) return std::string{each.name} + ", " + found.violation;
    }
  return {};
}

void expect_all_missed(way which, std::size_t count) {
  const std::vector<left_out> all = all_that_can_be_left_out(which);
  EXPECT_EQ(all.size(), count);
  for (const left_out& each : all) {
    const std::string missed = missed_by(each, which);
    std::printf("%s, without the %s of %s: %s\n", name_of(which).c_str(), each.is_fence ? "fence" : "flush",
                std::string{situ::detail::name(each.step)}.c_str(), missed.substr(0, 160).c_str());
    EXPECT_NE(missed, "") << "the " << (each.is_fence ? "fence" : "flush") << " of " << situ::detail::name(each.step)
                          << " can be left out, and nothing finds it";
  }
}

TEST(pool_mutation, each_flush_and_fence_in_place_is_missed_when_it_is_left_out) {
  expect_all_missed(way::lines_in_place, 9 + 7);  // every step has flushes, all but two a fence
}
TEST(pool_mutation, each_flush_of_checks_is_missed_when_it_is_left_out) {
  for (const pool_step step : {pool_step::keep_checks, pool_step::checks}) {
    const std::string missed = missed_by({step, false}, way::checked_in_place);
    std::printf("without the flush of %s: %s\n", std::string{situ::detail::name(step)}.c_str(),
                missed.substr(0, 160).c_str());
    EXPECT_NE(missed, "") << situ::detail::name(step);
  }
}
TEST(pool_mutation, each_write_and_wait_of_records_is_missed_when_it_is_left_out) {
  expect_all_missed(way::by_record, 6 + 5);  // every step has writes, all but one a wait
}

}  // namespace
