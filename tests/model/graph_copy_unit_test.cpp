// The graph-copy unit, its maps and its queue: costs worked out by hand, and copies beside the library's own.
//
// Memory: 26 cycles an access that is waited for, a cycle each further word; 10 ns a cycle; states 4 cycles.
#include <situ/base/error.h>
#include <situ/graph/clone.h>

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "model/graph_units/copy_queue.h"
#include "model/graph_units/direct_memory.h"
#include "model/graph_units/graph_copy_unit.h"
#include "model/unit_graph.h"
#include "support/places.h"

namespace situ::model {
namespace {

constexpr time_ps cycle = 10'000;

struct one_word {
  std::uint32_t value = 0;
};
struct forty_words {
  std::array<std::uint32_t, 40> values{};
};
struct link {
  link* next = nullptr;
  link* previous = nullptr;
  std::uint32_t value = 0;
};
struct numbers {
  situ::array<std::uint32_t> values;
};
struct links {
  situ::vector<one_word*> all;
};
struct cached {
  situ::transient<std::uint64_t> cache;
};

template <class T>
copy_request request_of(const T* root, std::vector<std::byte>& to, map_kind map, std::uint64_t objects = 0) {
  const detail::graph_root graph = detail::root_of(root);
  return {.root = graph.object,
          .type = graph.type,
          .destination = to.data(),
          .destination_bytes = to.size(),
          .objects = objects,
          .map = map};
}

template <class T>
std::uint64_t cycles_of(const T* root, map_kind map, std::uint64_t objects = 0, word_sizes words = {}) {
  direct_memory memory;
  graph_copy_unit unit{memory, {}, {}, words};
  std::vector<std::byte> to(1 << 20);
  const copy_result copy = unit.copy(request_of(root, to, map, objects), 500 * cycle);
  EXPECT_EQ(copy.begin, 500 * cycle);
  return (copy.end - copy.begin) / cycle;
}

// An object met: state 4, class 4 reads, vptr, map 2, parent 2: 4 + 9 * 26 = 238. Its word: 26 into the line buffer, 4.
// The state behind the last word 4; Retreat 4, and a read of its parent, 26: null.
TEST(graph_copy_unit, an_object_of_one_word) {
  const one_word object{7};
  EXPECT_EQ(cycles_of(&object, map_kind::linear), 238U + 30 + 4 + 30);
  EXPECT_EQ(cycles_of(&object, map_kind::linear), 302U);
}

// Hashing: 2 slots zeroed, 8 + 2; a hash, 4; one probe, 26.
TEST(graph_copy_unit, hashing_takes_0_4_us_more_for_one_object) {
  const one_word object{7};
  EXPECT_EQ(cycles_of(&object, map_kind::hash, 1) - cycles_of(&object, map_kind::linear), 10U + 4 + 26);
}

// 40 words of 4 bytes lie in 5 lines: 40 * 4, 26 for the first line, 6 for each of 4 others; the mask of 16 words is
// fetched twice more: 2 * 26. The object starts a line.
TEST(graph_copy_unit, data_words_lines_and_masks) {
  alignas(32) const forty_words object{};
  EXPECT_EQ(cycles_of(&object, map_kind::linear), 238U + 40 * 4 + 26 + 4 * 6 + 2 * 26 + 4 + 30);
}

// A transient word of 8 bytes is two of the paper's: not read.
TEST(graph_copy_unit, a_transient_word_is_not_read) {
  const cached object{std::uint64_t{3}};
  EXPECT_EQ(cycles_of(&object, map_kind::linear), 238U + 2 * 4 + 4 + 30);
}

// A pointer to an object that points to nothing. The root is met, 238. `next` is read, 26 + 4; one entry searched, 26.
// Advance: offset and index, 2 * 26, and 238. There: two null pointers and two data words (one of them padding), 26
// and 4 * 4, all in one line; 4. Retreat: 4, three reads of parent and offset, class 4, the pointer's write: 8 * 26.
// The root again: `previous`, read into the line buffer anew, 26 + 4; two data words, 2 * 4; 4; 30.
TEST(graph_copy_unit, a_pointer_costs_an_advance_and_a_retreat) {
  alignas(32) link second{nullptr, nullptr, 5};
  alignas(32) const link first{&second, nullptr, 4};
  EXPECT_EQ(cycles_of(&first, map_kind::linear),
            238U + 30 + 26 + (52 + 238) + (26 + 16 + 4) + (4 + 8 * 26) + (30 + 8 + 4 + 30));
}

// A pointer to what is known: the search of entry 0, 26, and its other half, 26; no advance.
TEST(graph_copy_unit, a_known_pointer_costs_a_search) {
  alignas(32) link self{nullptr, nullptr, 4};
  const std::uint64_t without = cycles_of(&self, map_kind::linear);
  self.next = &self;
  EXPECT_EQ(cycles_of(&self, map_kind::linear) - without, 52U);
}

// 1000 words: the descriptor's three, 26 + 3 * 4; then 26 + 26 + 2 * 999.
TEST(graph_copy_unit, data_arrays_take_two_cycles_a_word) {
  alignas(32) numbers object;
  object.values = situ::array<std::uint32_t>(1000);
  EXPECT_EQ(cycles_of(&object, map_kind::linear), 238U + 26 + 3 * 4 + 52 + 2 * 999 + 4 + 30);
}

// A descriptor that begins with the last entry of a mask word. Line 41 asks for the entry of its second word: another
// fetch, where the array has elements. With pointers of 8 bytes each word of a descriptor is two entries.
struct straddling_array {
  one_word* pointer = nullptr;
  std::array<std::uint32_t, 14> values{};
  situ::array<std::uint32_t> words;
};
struct straddling_wide_array {
  std::array<std::uint32_t, 14> values{};
  situ::array<std::uint32_t> words;
};

TEST(graph_copy_unit, an_array_s_second_word_may_lie_in_the_next_mask_word) {
  direct_memory memory;
  graph_copy_unit unit{memory};
  std::vector<std::byte> to(4096);
  straddling_array object;
  EXPECT_EQ(unit.copy(request_of(&object, to, map_kind::linear), 0).mask_words, 0U);
  const std::uint64_t without = cycles_of(&object, map_kind::linear);
  object.words = situ::array<std::uint32_t>(1);
  EXPECT_EQ(unit.copy(request_of(&object, to, map_kind::linear), 0).mask_words, 1U);
  EXPECT_EQ(cycles_of(&object, map_kind::linear) - without, 26U + 52);  // the mask; the array's word in and out
  graph_copy_unit wide{memory, {}, {}, {4, 8}};
  straddling_wide_array other;
  other.words = situ::array<std::uint32_t>(1);
  EXPECT_EQ(unit.copy(request_of(&other, to, map_kind::linear), 0).mask_words, 0U);  // entries 14 and 15
  EXPECT_EQ(wide.copy(request_of(&other, to, map_kind::linear), 0).mask_words, 1U);  // 14 to 17
}

// Without its word and the access for the line of it, an object takes three states and ten accesses: Advance 4 and
// nine, the end of its words 4, Retreat 4 and one.
TEST(graph_copy_unit, an_object_takes_272_cycles_besides_its_words) {
  const one_word object{7};
  EXPECT_EQ(cycles_of(&object, map_kind::linear) - (26 + 4), 3U * 4 + 10 * 26);
  EXPECT_EQ(cycles_of(&object, map_kind::linear) - (26 + 4), 272U);
}

// With pointers of 8 bytes, each access of the unit's own takes a cycle more, but for the mask, and a pointer is two
// words. One object: 8 of 9 accesses and the parent's.
TEST(graph_copy_unit, pointers_of_eight_bytes_take_a_cycle_more) {
  const one_word object{7};
  EXPECT_EQ(cycles_of(&object, map_kind::linear, 0, {4, 8}), 302U + 8 + 1);
}

// Searched in an array of 3 pointers: 1, 2 and 3 entries, no more.
TEST(graph_copy_unit, linear_search_reads_what_is_there) {
  std::array<one_word, 3> all{};
  links object;
  for (one_word& each : all) object.all.push_back(&each);
  direct_memory memory;
  graph_copy_unit unit{memory};
  std::vector<std::byte> to(4096);
  EXPECT_EQ(unit.copy(request_of(&object, to, map_kind::linear), 0).probes, 1U + 2 + 3);
}

TEST(copy_maps, slots_are_a_power_of_two_beyond_the_objects) {
  EXPECT_EQ(hash_slots(1), 2U);
  EXPECT_EQ(hash_slots(2), 4U);
  EXPECT_EQ(hash_slots(3), 8U);
  EXPECT_EQ(hash_slots(64), 128U);
  EXPECT_EQ(hash_slots(65), 256U);
}

TEST(copy_maps, h3_is_linear_over_exclusive_or) {
  direct_memory memory;
  const hashed_map map{memory, {}, 4, 0};
  EXPECT_EQ(map.hash(0), 0U);
  EXPECT_NE(map.hash(1), 0U);
  EXPECT_NE(map.hash(1), map.hash(2));
  for (std::uint64_t a = 1; a < 50; ++a) EXPECT_EQ(map.hash(a * 977) ^ map.hash(a << 40), map.hash(a * 977 ^ a << 40));
}

TEST(copy_maps, find_what_was_put) {
  direct_memory memory;
  searched_map searched{memory, {}};
  hashed_map hashed{memory, {}, 4, 0};
  for (unit_copy_map* map : {static_cast<unit_copy_map*>(&searched), static_cast<unit_copy_map*>(&hashed)}) {
    (void)map->begin(100, 0);
    for (std::uint32_t i = 0; i < 100; ++i) {
      EXPECT_EQ(map->find(4096 + i * 24, 0).copy, unit_copy_map::nothing);
      (void)map->insert(4096 + i * 24, i, 0);
    }
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(map->find(4096 + i * 24, 0).copy, i);
    (void)map->begin(1, 0);
    EXPECT_EQ(map->find(4096, 0).copy, unit_copy_map::nothing);
  }
}

template <class Call>
std::string message_of(errc code, Call call) {
  try {
    call();
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), code) << failure.what();
    return std::string{failure.message()};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(graph_copy_unit, says_what_is_too_small) {
  direct_memory memory;
  std::vector<link> all(40);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) all[i].next = &all[i + 1];
  std::vector<std::byte> to(4096);
  graph_copy_unit few{memory, {.entries = 10}};
  EXPECT_NE(message_of(errc::out_of_memory, [&] { (void)few.copy(request_of(all.data(), to, map_kind::linear), 0); })
                .find("copy map needs 11 entries, its buffer has 10"),
            std::string::npos);
  graph_copy_unit unit{memory};
  EXPECT_NE(message_of(errc::bad_argument, [&] { (void)unit.copy(request_of(all.data(), to, map_kind::hash), 0); })
                .find("measure the graph first"),
            std::string::npos);
  EXPECT_NE(message_of(errc::bad_argument, [&] { (void)unit.copy(request_of(all.data(), to, map_kind::hash, 4), 0); })
                .find("more objects than were measured"),
            std::string::npos);
  std::vector<std::byte> small(100);
  EXPECT_NE(
      message_of(errc::out_of_memory, [&] { (void)unit.copy(request_of(all.data(), small, map_kind::linear), 0); })
          .find("the 100 bytes of its destination"),
      std::string::npos);
}

struct optional_holder {
  std::optional<link*> maybe;
};
struct nested_arrays {
  situ::vector<numbers> rows;
};

TEST(graph_copy_unit, refuses_what_its_masks_cannot_describe) {
  direct_memory memory;
  graph_copy_unit unit{memory};
  std::vector<std::byte> to(4096);
  const optional_holder holder;
  EXPECT_NE(message_of(errc::not_supported, [&] { (void)unit.copy(request_of(&holder, to, map_kind::linear), 0); })
                .find("optional"),
            std::string::npos);
  nested_arrays nested;
  nested.rows.resize(1);
  EXPECT_NE(message_of(errc::not_supported, [&] { (void)unit.copy(request_of(&nested, to, map_kind::linear), 0); })
                .find("its elements hold arrays"),
            std::string::npos);
}

// A copy that is made in one place with the pointers of another is good once it lies there (section 4.2).
TEST(graph_copy_unit, makes_pointers_for_where_a_dma_moves_the_copy) {
  direct_memory memory;
  graph_copy_unit unit{memory};
  test::unit_graph_maker maker{11};
  const test::unit_node* const root = maker.make(30);
  alignas(64) static std::byte between[1 << 16];
  alignas(64) static std::byte final_place[1 << 16];
  const detail::graph_root graph = detail::root_of(root);
  const copy_result copy = unit.copy({.root = graph.object,
                                      .type = graph.type,
                                      .destination = between,
                                      .destination_bytes = sizeof between,
                                      .final_address = final_place,
                                      .map = map_kind::linear},
                                     0);
  EXPECT_EQ(copy.root, final_place);
  std::memcpy(final_place, between, copy.bytes);
  std::memset(between, 0xa5, sizeof between);
  EXPECT_EQ(test::canonical_graph{static_cast<const test::unit_node*>(copy.root)}.words(),
            test::canonical_graph{clone(root).get()}.words());
}

// The unit goes depth first, the library breadth first: equal up to isomorphism, with both maps.
TEST(graph_copy_unit, copies_as_the_library_does) {
  const std::uint64_t seed = test::test_seed();
  direct_memory memory;
  graph_copy_unit unit{memory};
  std::vector<std::byte> buffer(1 << 20);
  std::size_t objects = 0;
  for (std::uint64_t round = 0; round < 10'000; ++round) {
    SCOPED_TRACE(round);
    test::unit_graph_maker maker{test::mixed(seed, round)};
    const test::unit_node* const root = maker.make(1 + test::mixed(seed + 1, round) % 40);
    const auto expected = clone(root);
    const test::canonical_graph canonical{expected.get()};
    objects += canonical.objects();
    for (const map_kind map : {map_kind::linear, map_kind::hash}) {
      std::memset(buffer.data(), 0xa5, buffer.size() / 16);
      const copy_result copy = unit.copy(request_of(root, buffer, map, canonical.objects()), 0);
      ASSERT_EQ(copy.objects, canonical.objects());
      ASSERT_EQ(copy.objects + copy.arrays, expected.size().objects);
      const test::canonical_graph made{static_cast<const test::unit_node*>(copy.root)};
      ASSERT_EQ(made.words(), canonical.words());
      ASSERT_TRUE(made.is_aligned());
    }
  }
  EXPECT_GT(objects, 100'000U);  // not all graphs are trivial
}

// 16 wait; a 17th does not fit until the unit begins with the first.
TEST(copy_queue, holds_sixteen_and_serves_in_order) {
  direct_memory memory;
  graph_copy_unit unit{memory};
  copy_queue queue{unit};
  const one_word object{7};
  std::vector<std::byte> to(64);
  const copy_request request = request_of(&object, to, map_kind::linear);
  EXPECT_EQ(queue.next_start(), no_time);
  for (std::uint64_t i = 0; i < 16; ++i) EXPECT_TRUE(queue.submit(request, i, 100 * cycle));
  EXPECT_FALSE(queue.submit(request, 16, 100 * cycle));
  EXPECT_EQ(queue.next_start(), 100 * cycle);
  const copy_queue::served first = queue.start_next();
  EXPECT_EQ(first.ticket, 0U);
  EXPECT_EQ(first.result.end, (100 + 302) * cycle);
  EXPECT_TRUE(queue.submit(request, 16, 101 * cycle));
  EXPECT_EQ(queue.next_start(), 402 * cycle);  // not before the unit is free
  for (std::uint64_t i = 1; i <= 16; ++i) EXPECT_EQ(queue.start_next().ticket, i);
  EXPECT_EQ(queue.counted().busy, 17 * 302 * cycle);
  EXPECT_EQ(queue.counted().refused, 1U);
  // request i waits i copies; the last came a cycle later
  EXPECT_EQ(queue.counted().waiting, (16 * 17 / 2 * 302 - 1) * cycle);
  EXPECT_TRUE(queue.submit(request, 17, 9'000 * cycle));
  EXPECT_EQ(queue.next_start(), 9'000 * cycle);
}

TEST(dummy_allocations, are_one_an_object_and_can_be_left_out) {
  const copy_result copy{.objects = 5};
  EXPECT_EQ((dummy_allocations{.each = 100}).time(copy), 500U);
  EXPECT_EQ((dummy_allocations{.are_made = false, .each = 100}).time(copy), 0U);
  EXPECT_EQ((dummy_allocations{.are_made = false, .each = 100}).count(copy), 0U);
}

}  // namespace
}  // namespace situ::model
