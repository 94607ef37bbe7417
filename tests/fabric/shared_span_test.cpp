// Containers in segments (memory/allocator.h), and spans of what others have (fabric/shared_span.h).
#include "support/places.h"

#include <array>
#include <list>
#include <map>
#include <memory_resource>
#include <numeric>
#include <random>
#include <string>
#include <string_view>

namespace situ {
namespace {

using shared_vector = std::vector<int, allocator<int>>;

class spans : public test::on_places {};

TEST_P(spans, of_a_vector_are_read_and_written_by_every_place) {
  run([] {
    shared_vector mine(100);
    std::iota(mine.begin(), mine.end(), 1000 * static_cast<int>(here().index()));
    const std::vector<shared_span<int>> of = all_gather(shared_span{mine});
    const std::uint32_t next = (here().index() + 1) % place_count();
    const shared_span<int> there = of[next];
    barrier();
    EXPECT_EQ(there.place().index(), next);
    EXPECT_EQ(there.is_here(), place_count() == 1);
    EXPECT_EQ(there.size(), 100U);

    std::vector<int> expected(100);
    std::iota(expected.begin(), expected.end(), 1000 * static_cast<int>(next));
    EXPECT_EQ(get(there), expected);
    EXPECT_EQ(get(there.subspan(90)), std::vector<int>(expected.begin() + 90, expected.end()));
    EXPECT_EQ(get(there.last(3)), std::vector<int>(expected.end() - 3, expected.end()));
    EXPECT_EQ(get(there[7]), expected[7]);
    std::array<int, 5> part{};
    get(part, shared_span<const int>{there.subspan(10, 5)});
    EXPECT_EQ(part[4], expected[14]);
    barrier();
    put(there.first(2), std::vector{-1, -2});
    copy(there.subspan(50, 10), of[here().index()].subspan(60, 10));
    barrier();
    EXPECT_EQ(mine[0], -1);
    EXPECT_EQ(mine[1], -2);
    EXPECT_EQ(mine[55], 65 + 1000 * static_cast<int>((here().index() + place_count() - 1) % place_count()));
    barrier();
  });
}

TEST_P(spans, travel_as_arguments_and_results) {
  run([] {
    shared_vector mine(10, 3);
    const place next{(here().index() + 1) % place_count()};
    const auto half = at(
        next,
        [](shared_span<int> all) {
          put(all[0], 7);
          return all.first(5);
        },
        shared_span{mine});
    EXPECT_EQ(half.size(), 5U);
    EXPECT_EQ(half.data(), shared_span{mine}.data());
    EXPECT_EQ(mine[0], 7);
    barrier();
  });
}

TEST_P(spans, that_do_not_fit_are_refused_and_copy_nothing) {
  run([] {
    shared_vector mine(10, 3);
    const shared_span all{mine};
    std::vector<int> few(9, 1);
    EXPECT_THROW(put(all, few), error);
    EXPECT_THROW(get(few, all), error);
    EXPECT_EQ(mine, shared_vector(10, 3));
    EXPECT_EQ(few, std::vector<int>(9, 1));
    EXPECT_THROW(shared_span<int>{few}, error) << "private memory";
    EXPECT_TRUE(get(shared_span<int>{}).empty());
    EXPECT_TRUE((shared_span<int>{shared_vector{}}.empty()));
  });
}

// Random growth, in both kinds of containers, beside the same in private memory; then all of it is given back.
TEST_P(spans, of_containers_that_grow_and_shrink_as_the_standard_ones) {
  run([] {
    const std::uint64_t before = memory_statistics().live_bytes;
    {
      std::mt19937 random{here().index()};
      std::vector<std::string> model;
      std::vector<std::pmr::string, allocator<std::pmr::string>> own;
      std::pmr::map<int, std::pmr::string> by_key{segment_resource()};
      std::map<int, std::string> keys;
      for (int step = 0; step < 3000; ++step) {
        const std::string text(random() % 60, static_cast<char>('a' + random() % 26));
        const int key = static_cast<int>(random() % 200);
        if (random() % 3 == 0 && !model.empty()) {
          model.pop_back();
          own.pop_back();
          keys.erase(key);
          by_key.erase(key);
        } else {
          model.push_back(text);
          own.emplace_back(std::pmr::string{text, segment_resource()});
          keys[key] = text;
          by_key[key] = text;
        }
      }
      EXPECT_TRUE(std::equal(model.begin(), model.end(), own.begin(), own.end(),
                             [](std::string_view a, std::string_view b) { return a == b; }));
      EXPECT_TRUE(std::equal(keys.begin(), keys.end(), by_key.begin(), by_key.end(), [](const auto& a, const auto& b) {
        return a.first == b.first && std::string_view{a.second} == b.second;
      }));
      EXPECT_GT(memory_statistics().live_bytes, before);
      // Every node and every string lies in this place's segment.
      for (const auto& [key, text] : by_key) EXPECT_TRUE(ptr<const char>{text.data()}.is_here());
    }
    EXPECT_EQ(memory_statistics().live_bytes, before);
  });
}

TEST_P(spans, of_a_vector_that_lies_in_a_segment_itself_end_at_another_place) {
  run([] {
    const std::uint64_t before = memory_statistics().live_blocks;
    const ptr<std::byte> room = allocate_bytes(sizeof(shared_vector));
    new (room.local()) shared_vector(10, static_cast<int>(here().index()));
    const std::vector<ptr<std::byte>> all = all_gather(room);
    const std::uint32_t next = (here().index() + 1) % place_count();
    auto* const there = reinterpret_cast<shared_vector*>(all[next].local());
    EXPECT_EQ(*there, shared_vector(10, static_cast<int>(next)));
    there->~vector();
    deallocate(all[next]);
    EXPECT_EQ(test::settled_memory().live_blocks, before);
  });
}

TEST(segment_containers, outside_a_runtime_are_refused) {
  EXPECT_THROW(shared_vector(1), error);
  EXPECT_THROW((std::pmr::vector<int>(1, segment_resource())), error);
}

INSTANTIATE_TEST_SUITE_P(layouts, spans, testing::ValuesIn(test::layouts({1, 2, 4})), test::layout_name);

}  // namespace
}  // namespace situ
