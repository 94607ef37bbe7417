// What a crash may leave of the containers of a pool: all of a change or nothing of it, at every point, and no block
// more or less than either has.
#include "crash_runs.h"

#include <situ/pool/pool_map.h>
#include <situ/pool/pool_ordered_map.h>
#include <situ/pool/pool_string.h>
#include <situ/pool/pool_vector.h>

#include <array>
#include <random>

using namespace situ_pool_test;
using situ::pool;
using situ::transaction;

namespace {

// So large that few of them fill a segment, or a node.
struct wide {
  std::uint64_t number;
  std::array<std::uint64_t, 15> rest;
};
struct contained {
  situ::pool_vector<std::uint64_t> numbers;
  situ::pool_vector<situ::pool_string> texts;
  situ::pool_map<std::uint64_t, std::array<std::uint64_t, 31>> wide_map;
  situ::pool_map<situ::pool_string, std::uint64_t> by_name;
  situ::pool_ordered_map<std::uint64_t, wide> ordered;
  situ::pool_ordered_map<situ::pool_string, wide> words;
};

std::string content_of(const pool& of) {
  const situ::pool_findings found = of.check();
  for (const std::string& each : found.damage) return "damaged: " + each;
  const auto* const all = of.root<contained>("all");
  std::string text = std::to_string(found.blocks) + " blocks:";
  if (all == nullptr) return text;
  for (const std::uint64_t each : all->numbers) text += ' ' + std::to_string(each);
  for (const situ::pool_string& each : all->texts) text += " '" + std::string{each.view()} + "'";
  std::map<std::uint64_t, std::uint64_t> sorted;
  for (const auto& [key, value] : all->wide_map) sorted[key] = value[30];
  text += ", " + std::to_string(all->wide_map.size()) + " wide:";
  for (const auto& [key, value] : sorted) {
    text += ' ' + std::to_string(key) + '=' + std::to_string(value);
    if (all->wide_map.find(key) == nullptr) text += "(lost)";
  }
  text += ", names:";
  for (const auto& [key, value] : all->by_name) text += ' ' + std::string{key.view()} + '=' + std::to_string(value);
  text += ", " + std::to_string(all->ordered.size()) + " ordered:";
  for (const auto [key, value] : all->ordered) {
    text += ' ' + std::to_string(key) + '=' + std::to_string(value.rest[14]);
    if (all->ordered.find(key) == nullptr) text += "(lost)";
  }
  for (const auto [key, value] : all->words) text += ' ' + std::string{key.view()} + '=' + std::to_string(value.number);
  return text;
}

contained& all_of(pool& in) { return *in.root<contained>("all"); }
using step = std::function<void(pool&)>;
template <class Body>
step changed(Body body) {
  return [body](pool& in) { in.transact([&](transaction& t) { body(t, all_of(in)); }); };
}
template <class Body>
step aborted(Body body) {
  return [body](pool& in) {
    try {
      in.transact([&](transaction& t) {
        body(t, all_of(in));
        throw 1;
      });
    } catch (int) {}
  };
}
void begin(pool& in) {
  in.transact([](transaction& t) { t.set_root("all", t.make<contained>()); });
}

crash_scenario of_sequences() {
  return {"vectors and strings",
          std::uint64_t{1} << 20,
          {begin, changed([](transaction& t, contained& a) { a.numbers.push_back(t, 1); }),
           changed([](transaction& t, contained& a) {
             for (std::uint64_t i = 2; i < 12; ++i) a.numbers.push_back(t, i);
           }),
           changed([](transaction& t, contained& a) { a.numbers.insert(t, 2, 77); }),
           changed([](transaction& t, contained& a) { a.texts.emplace_back(t).assign(t, "some text"); }),
           changed([](transaction& t, contained& a) { a.texts.emplace_back(t).assign(t, "another text"); }),
           changed([](transaction& t, contained& a) { a.texts[0].append(t, " and more of it, so that it moves"); }),
           aborted([](transaction& t, contained& a) {
             a.numbers.erase(t, 3);
             a.texts.erase(t, 0);
             a.texts.emplace_back(t).assign(t, "never");
           }),
           changed([](transaction& t, contained& a) { a.texts.emplace_back(t).assign(t, "a third"); }),
           changed([](transaction& t, contained& a) { a.texts.erase(t, 1); }),
           changed([](transaction& t, contained& a) { a.numbers.erase(t, 0); }),
           changed([](transaction& t, contained& a) { a.numbers.assign(t, std::array<std::uint64_t, 3>{4, 5, 6}); }),
           changed([](transaction& t, contained& a) { situ::detail::release_parts(t, a); })}};
}

// Keys that begin in the first bucket of sixteen, of both halves: some thirty of them divide a segment.
std::vector<std::uint64_t> crowded_keys(std::size_t count) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0; keys.size() != count; ++key)
    if ((situ::detail::spread_bits(key) & 0xffffffff) < 1u << 28) keys.push_back(key);
  return keys;
}
crash_scenario of_hashed() {
  const std::vector<std::uint64_t> keys = crowded_keys(34);
  std::vector<step> steps{begin};
  for (std::size_t i = 0; i < keys.size(); i += 2)
    steps.push_back(changed([a = keys[i], b = keys[i + 1]](transaction& t, contained& all) {
      all.wide_map.emplace(t, a).first->at(30) = a + 1;
      all.wide_map.emplace(t, b).first->at(30) = b + 1;
    }));
  steps.push_back(aborted([=](transaction& t, contained& a) {
    a.wide_map.erase(t, keys[0]);
    a.by_name.emplace(t, "never", 1u);
  }));
  for (const std::size_t i : {0u, 33u, 9u})
    steps.push_back(changed([key = keys[i]](transaction& t, contained& a) { a.wide_map.erase(t, key); }));
  steps.push_back(changed([](transaction& t, contained& a) { a.by_name.set(t, "a name", 1); }));
  for (const char* const name : {"b", "c", "d", "e", "f", "g", "h"})
    steps.push_back(changed([=](transaction& t, contained& a) { a.by_name.set(t, name, 2); }));
  steps.push_back(changed([](transaction& t, contained& a) { a.by_name.set(t, "b", 3); }));
  steps.push_back(changed([](transaction& t, contained& a) { a.by_name.erase(t, "c"); }));
  steps.push_back(changed([](transaction& t, contained& a) { a.wide_map.clear(t); }));
  return {"hashed maps", std::uint64_t{1} << 20, steps};
}

crash_scenario of_ordered() {
  std::vector<step> steps{begin};
  for (const std::uint64_t key : {50, 10, 30, 20, 40, 60, 25, 27, 26, 70, 80, 90, 15, 5, 3, 1, 28, 29, 24, 23, 22})
    steps.push_back(changed([=](transaction& t, contained& a) { a.ordered.emplace(t, key).first->rest[14] = key; }));
  steps.push_back(aborted([](transaction& t, contained& a) {
    for (const std::uint64_t key : {10, 20, 30}) a.ordered.erase(t, key);
    a.ordered.emplace(t, 11).first->number = 4;
  }));
  for (const std::uint64_t key : {50, 10, 30, 20, 40, 60, 25, 27, 26, 70, 80, 90})
    steps.push_back(changed([=](transaction& t, contained& a) { a.ordered.erase(t, key); }));
  for (const char* const word : {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine"})
    steps.push_back(changed([=](transaction& t, contained& a) { a.words.emplace(t, word).first->number = 6; }));
  for (const char* const word : {"one", "five", "four", "eight", "nine"})
    steps.push_back(changed([=](transaction& t, contained& a) { a.words.erase(t, word); }));
  steps.push_back(changed([](transaction& t, contained& a) {
    a.words.clear(t);
    a.ordered.clear(t);
  }));
  return {"ordered maps", std::uint64_t{1} << 20, steps};
}

crash_scenario of_collections() {
  const step drop = [](pool& in) {
    in.transact([&](transaction& t) {
      (void)t.unlink("all");
      t.set_root("all", t.make<contained>());
    });
  };
  const step fill = changed([](transaction& t, contained& a) {
    for (std::uint64_t i = 0; i < 6; ++i) a.ordered.emplace(t, i).first->number = i;
    for (const char* const name : {"x", "y", "z"}) a.by_name.set(t, name, 1);
  });
  return {"collections",
          std::uint64_t{1} << 20,
          {begin, fill, drop, [](pool& in) { in.collect<contained>(3); }, fill,
           [](pool& in) { in.collect<contained>(); }, drop, [](pool& in) { in.collect<contained>(); }}};
}

class container_crash : public testing::TestWithParam<way> {};

TEST_P(container_crash, leaves_all_or_nothing) {
  const std::uint32_t seed = std::random_device{}();
  crash_verdict all;
  for (const crash_scenario& each : {of_sequences(), of_hashed(), of_ordered(), of_collections()}) {
    // It takes as long as all others; by record it is done.
    if (GetParam() == way::checked_in_place && std::string_view{each.name} == "ordered maps") continue;
    SCOPED_TRACE(testing::Message() << each.name << ", seed " << seed);
    crash_recording made{crash_recorder{unit_of(GetParam())}, {}};
    record(made, each, content_of, GetParam());
    for (const std::string& content : made.contents)
      ASSERT_THAT(content, testing::Not(testing::ContainsRegex("lost|damaged")));
    if (std::string_view{each.name} == "hashed maps") {
      EXPECT_THAT(made.contents, testing::Contains(testing::StartsWith("4 blocks:, 30 wide")))
          << "no segment was divided";
    }
    const crash_verdict found = look_at_states(made, content_of, seed, GetParam());
    EXPECT_EQ(found.violation, "");
    all.states += found.states;
    all.points += found.points;
    all.points_in_full += found.points_in_full;
  }
  // A record is written and waited for in one go; in place each snapshot is.
  EXPECT_GT(all.points, is_redo(GetParam()) ? 100 : 1000);
  std::printf("%s: %lu states at %lu points, %lu of them in full\n", name_of(GetParam()).c_str(),
              static_cast<unsigned long>(all.states), static_cast<unsigned long>(all.points),
              static_cast<unsigned long>(all.points_in_full));
}

INSTANTIATE_TEST_SUITE_P(ways, container_crash,
                         testing::Values(way::lines_in_place, way::sectors_in_place, way::by_record, way::batched,
                                         way::checked_in_place, way::checked_by_record),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
