// Graphs as messages: what is written comes back, and bytes that are anything are refused, or are a graph that can be
// walked.
#include "graph/graph_message.h"
#include "support/places.h"

#include "fuzz/allocation_watch.h"

#include <gmock/gmock.h>

#include <cctype>
#include <cstdio>
#include <fstream>
#include <random>

#include "support/build_paths.h"

namespace graph_message_example {
struct item {
  item* next;
  item* previous;
  std::uint64_t value;
};
}  // namespace graph_message_example

namespace situ {
namespace {

using detail::graph_root;
using detail::message_head;
using test::graph_comparison;
using test::graph_maker;
using test::head_of;
using test::image_begin;
using test::image_word;
using test::message_bytes;
using test::message_of;
using test::node;
using test::read_one;
using test::set_image_word;
using test::set_word;
using test::small;
using test::small_message_of_everything;
using test::with_head;
using testing::AllOf;
using testing::HasSubstr;

struct list {
  list* next;
  list* previous;
  std::uint64_t value;
};
std::vector<list> make_list(std::size_t n) {
  std::vector<list> nodes(n);
  for (std::size_t i = 0; i < n; ++i)
    nodes[i] = {i + 1 < n ? &nodes[i + 1] : nullptr, i > 0 ? &nodes[i - 1] : nullptr, i};
  return nodes;
}
constexpr std::uint64_t first_offset = sizeof(detail::arena);  // of the first object

template <class T>
std::string refusal(const message_bytes& bytes) {
  graph_root root{nullptr, &detail::descriptor_of<T>()};
  const message_bytes exact = bytes;
  const test::caught_error caught = test::error_of([&] { (void)detail::read_message(exact, {&root, 1}); });
  EXPECT_EQ(caught.code, errc::bad_message);
  EXPECT_EQ(root.object, nullptr);
  return caught.text;
}

// --- there and back ---

TEST(message, of_random_graphs_arrives_isomorphic) {
  const std::uint64_t seed = test::test_seed();
  for (int round = 0; round < test::rounds(300); ++round) {
    graph_maker maker{test::mixed(seed, static_cast<std::uint64_t>(round))};
    const node* const root = maker.make(1 + test::mixed(seed + 1, static_cast<std::uint64_t>(round)) % 300);
    const message_bytes bytes = message_of(root);
    const owned<node> arrived = read_one<node>(bytes);
    EXPECT_EQ(arrived.size(), measure(root));
    ASSERT_EQ(graph_comparison{}.difference(root, arrived.get()), "") << "round " << round;
    ASSERT_EQ(message_of(static_cast<const node*>(arrived.get())).size(), bytes.size());
  }
}

TEST(message, writes_every_byte) {
  graph_maker maker{3};
  const graph_root root = detail::root_of(maker.make(100));
  EXPECT_EQ(message_of({&root, 1}, std::byte{0}), message_of({&root, 1}, std::byte{0xff}));
}

TEST(message, of_several_roots_keeps_what_they_share) {
  graph_maker maker{5};
  const node* const a = maker.make(50);
  const node* const b = a->next[0]->next[0];
  const small s{7, nullptr};
  const graph_root roots[] = {detail::root_of(a), detail::root_of(static_cast<const node*>(nullptr)),
                              detail::root_of(b), detail::root_of(&s), detail::root_of(a)};
  const message_bytes bytes = message_of(std::span{roots});
  graph_root read[5];
  for (int i = 0; i < 5; ++i) read[i] = {nullptr, roots[i].type};
  const detail::arena_reference memory = detail::read_message(bytes, read);
  const auto* const first = static_cast<const node*>(read[0].object);
  EXPECT_EQ(graph_comparison{}.difference(a, first), "");
  EXPECT_EQ(read[1].object, nullptr);
  EXPECT_EQ(read[2].object, first->next[0]->next[0]);
  EXPECT_EQ(static_cast<const small*>(read[3].object)->value, 7U);
  EXPECT_EQ(read[4].object, first);
}

struct part {
  part* other;
};
struct whole {
  part first;
  long more;
};
struct references {
  whole* of_whole;
  part* of_part;
};
TEST(message, of_a_pointer_to_the_first_member_leads_into_the_whole) {
  whole object{{nullptr}, 7};
  object.first.other = &object.first;
  references both{&object, &object.first};
  const owned<references> copy = read_one<references>(message_of(&both));
  EXPECT_EQ(copy->of_part, &copy->of_whole->first);
  EXPECT_EQ(copy->of_part->other, copy->of_part);
  EXPECT_EQ(copy->of_whole->more, 7);
}

struct holder {
  test::circle first;
  long more;
};
struct tagged_references {
  holder* of_holder;
  test::shape* of_shape;
};
TEST(message, of_a_pointer_to_a_tagged_first_member_leads_into_the_whole) {
  holder object{};
  tagged_references both{&object, &object.first};
  message_bytes bytes = message_of(&both);
  const owned<tagged_references> copy = read_one<tagged_references>(bytes);
  EXPECT_EQ(copy->of_shape, &copy->of_holder->first);
  EXPECT_NE(cast<test::circle>(copy->of_shape), nullptr);
  set_image_word(bytes, first_offset + sizeof both, 0);  // the member's header
  EXPECT_THAT(refusal<tagged_references>(bytes), HasSubstr("shape"));
}

TEST(message, of_null_roots_and_of_no_root_is_empty) {
  const message_bytes null = message_of(static_cast<const node*>(nullptr));
  EXPECT_EQ(null.size(), sizeof(message_head) + 8);
  EXPECT_FALSE(read_one<node>(null));
  const message_bytes none = message_of(std::span<const graph_root>{});
  EXPECT_EQ(none.size(), sizeof(message_head));
  EXPECT_EQ(detail::read_message(none, {}).get()->objects, 0U);
}

TEST(message, is_read_into_the_segment_and_given_back) {
  graph_maker maker{11};
  const message_bytes bytes = message_of(static_cast<const node*>(maker.make(50)));
  const launch_result result = test::launch_on({launch_mode::threads, 1}, [&] {
    const memory_usage before = memory_statistics();
    {
      const owned<node> arrived = read_one<node>(bytes);
      EXPECT_TRUE(ptr<node>{arrived.get()}.is_here());
      for (node* n = arrived.get(); n != nullptr; n = n->next[0]) {
        n->name.append(" grew");
        n->friends.push_back(n);
        n->rows.emplace_back(100, std::uint8_t{1});
        n->either = situ::string(std::string(100, 'x'));
      }
      EXPECT_GT(memory_statistics().live_blocks, before.live_blocks + 50);
    }
    message_bytes broken = bytes;
    broken.back() = ~broken.back();
    broken[40] = std::byte{1};  // the root's offset
    EXPECT_THROW((void)read_one<node>(broken), error);
    EXPECT_EQ(memory_statistics().live_blocks, before.live_blocks);
    EXPECT_EQ(memory_statistics().live_bytes, before.live_bytes);
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

TEST(message, carries_a_long_list_without_recursion) {
  const std::vector<list> original = make_list(200000);
  const owned<list> arrived = read_one<list>(message_of(&original[0]));
  const list* before = nullptr;
  std::uint64_t seen = 0;
  for (const list* at = arrived.get(); at != nullptr; before = at, at = at->next, ++seen) {
    ASSERT_EQ(at->value, seen);
    ASSERT_EQ(at->previous, before);
  }
  EXPECT_EQ(seen, original.size());
}

struct alignas(8192) page_aligned {
  std::uint64_t value = 0;
  page_aligned* next = nullptr;
};
TEST(message, of_what_is_aligned_too_strictly_is_refused_at_the_sender) {
  const auto object = std::make_unique<page_aligned>();
  EXPECT_EQ(test::error_of([&] { (void)message_of(static_cast<const page_aligned*>(object.get())); }).code,
            errc::bad_argument);
}

// The bytes in the document, as "00000010  12 34 ...".
message_bytes documented_example() {
  std::ifstream file{SITU_TEST_SOURCE_DIR "/../docs/formats/graph_message.md"};
  message_bytes bytes;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```hex";
    } else if (inside) {
      for (std::size_t at = 10; at + 2 <= line.size(); at += 3)
        bytes.push_back(static_cast<std::byte>(std::stoul(line.substr(at, 2), nullptr, 16)));
    }
  }
  return bytes;
}
std::string hex(const message_bytes& bytes) {
  std::string text;
  char part[32];
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 16 == 0) text += (std::snprintf(part, sizeof part, "%s%08zx ", i == 0 ? "" : "\n", i), part);
    text += (std::snprintf(part, sizeof part, " %02x", static_cast<unsigned>(bytes[i])), part);
  }
  return text;
}
TEST(message, is_as_its_document_shows) {
  using graph_message_example::item;
  item second{nullptr, nullptr, 0x0203};
  item first{&second, nullptr, 1};
  second.previous = &first;
  const message_bytes bytes = message_of(static_cast<const item*>(&first));
  message_bytes expected = documented_example();
#if defined(__clang__)  // has no names of fields, so fingerprints differ
  if (expected.size() == bytes.size())
    set_word(expected, offsetof(message_head, fingerprint), head_of(bytes).fingerprint);
#endif
  EXPECT_EQ(hex(bytes), hex(expected));
}

// --- damaged ---

TEST(hostile_message, every_truncation_is_refused) {
  const message_bytes whole = small_message_of_everything();
  ASSERT_EQ(test::hostile_reading<node>(whole), "");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const message_bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_NE(refusal<node>(part), "") << length;
    if (length < image_begin(whole)) continue;
    // As if it had been sent like this.
    const message_bytes repaired =
        with_head(part, [&](message_head& head) { head.image_bytes -= whole.size() - length; });
    ASSERT_NE(refusal<node>(repaired), "") << length;
  }
}

TEST(hostile_message, every_flipped_bit_is_refused_or_does_no_harm) {
  message_bytes bytes = small_message_of_everything();
  ASSERT_LT(bytes.size(), 4096U);
  std::size_t refused = 0;
  std::size_t read = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned bit = at % test::or_modelled(1, 4); bit < 8; bit += test::or_modelled(1, 4)) {
      bytes[at] ^= static_cast<std::byte>(1U << bit);
      std::string reason;
      ASSERT_EQ(test::hostile_reading<node>(bytes, &reason), "") << "byte " << at << ", bit " << bit;
      ++(reason.empty() ? read : refused);
      bytes[at] ^= static_cast<std::byte>(1U << bit);
    }
  }
  EXPECT_GT(refused, test::or_modelled(1000U, 250U));
  EXPECT_GT(read, test::or_modelled(1000U, 250U));
}

// Many at once, and words that often are something.
TEST(hostile_message, random_damage_is_refused_or_does_no_harm) {
  std::mt19937_64 random{test::test_seed()};
  const message_bytes whole = small_message_of_everything();
  const std::size_t image = image_begin(whole);
  const std::uint64_t counts[] = {
      0, 1, 2, UINT32_MAX, std::uint64_t{1} << 61, std::uint64_t{1} << 63, ~std::uint64_t{0}};
  for (int i = 0; i < test::rounds(20000); ++i) {
    message_bytes bytes = whole;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = image + random() % ((bytes.size() - image) / 8) * 8;
      switch (random() % 4) {
        case 0: set_word(bytes, at, counts[random() % std::size(counts)]); break;
        case 1: set_word(bytes, at, random() % (bytes.size() / 8 + 8) * 8); break;  // an offset
        case 2:
          set_word(bytes, at, test::word_at(bytes, image + random() % ((bytes.size() - image) / 8) * 8));
          break;  // another word
        default: bytes[at + random() % 8] ^= static_cast<std::byte>(1 << random() % 8);
      }
    }
    ASSERT_EQ(test::hostile_reading<node>(bytes), "") << "round " << i;
  }
}

// --- one lie at a time ---

class hostile_list : public testing::Test {
 protected:
  std::vector<list> original = make_list(3);
  message_bytes bytes = message_of(static_cast<const list*>(original.data()));
  static constexpr std::uint64_t a = first_offset;
  static constexpr std::uint64_t b = a + sizeof(list);
  static constexpr std::uint64_t c = b + sizeof(list);
  static constexpr std::uint64_t end = c + sizeof(list);

  std::string with_pointer(std::uint64_t at, std::uint64_t offset) {
    message_bytes changed = bytes;
    set_image_word(changed, at, offset);
    return refusal<list>(changed);
  }
};

TEST_F(hostile_list, lies_as_the_grammar_says) {
  EXPECT_EQ(test::word_at(bytes, sizeof(message_head)), a);
  EXPECT_EQ(image_word(bytes, a), b);
  EXPECT_EQ(image_word(bytes, b), c);
  EXPECT_EQ(image_word(bytes, b + 8), a);
  EXPECT_EQ(image_word(bytes, c), 0U);
}
TEST_F(hostile_list, pointers_outside) {
  for (const std::uint64_t offset :
       {end + 8, end + 16, std::uint64_t{1} << 31, std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + a,
        std::uint64_t{1} << 61, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + a, ~std::uint64_t{0} - 7})
    for (const std::uint64_t at : {a, a + 8, b, c, c + 8})
      ASSERT_THAT(with_pointer(at, offset), HasSubstr("no object starts")) << at << ' ' << offset;
  EXPECT_THAT(with_pointer(c, end), HasSubstr("reaches beyond"));
  message_bytes shorter = with_head(bytes, [](message_head& head) { head.image_bytes -= 16; });
  shorter.resize(shorter.size() - 16);
  EXPECT_THAT(refusal<list>(shorter), HasSubstr("reaches beyond"));
}
TEST_F(hostile_list, pointers_into_the_head_of_the_arena) {
  for (std::uint64_t offset = 8; offset < first_offset; offset += 8)
    ASSERT_THAT(with_pointer(c, offset), HasSubstr("no object starts")) << offset;
}
TEST_F(hostile_list, pointers_into_the_middle_of_objects) {
  for (const std::uint64_t offset : {a + 8, a + 16, b + 8, c + 16})
    ASSERT_THAT(with_pointer(c, offset), HasSubstr("no object starts")) << offset;
}
TEST_F(hostile_list, pointers_that_are_not_aligned) {
  for (std::uint64_t shift = 1; shift < 8; ++shift)
    ASSERT_THAT(with_pointer(c, a + shift), HasSubstr("not a multiple of 8"));
}
TEST_F(hostile_list, objects_that_overlap_or_leave_gaps) {
  EXPECT_THAT(with_pointer(a, a + 8), HasSubstr("no object starts"));
  EXPECT_THAT(with_pointer(a, b - 8), HasSubstr("no object starts"));
  EXPECT_THAT(with_pointer(a, b + 8), HasSubstr("no object starts"));
  EXPECT_THAT(with_pointer(a, c), HasSubstr("no object starts"));
}
TEST_F(hostile_list, pointers_back_and_to_itself_are_cycles) {
  set_image_word(bytes, c, a);
  set_image_word(bytes, c + 8, c);
  const owned<list> arrived = read_one<list>(bytes);
  EXPECT_EQ(arrived->next->next->next, arrived.get());
  EXPECT_EQ(arrived->next->next->previous, arrived->next->next);
}
TEST_F(hostile_list, objects_that_nothing_points_to) {
  message_bytes shorter = bytes;
  set_image_word(shorter, b, 0);
  EXPECT_THAT(refusal<list>(shorter), HasSubstr("24 bytes follow the last object"));
}
TEST_F(hostile_list, roots_that_are_none) {
  set_word(bytes, sizeof(message_head), b);
  EXPECT_THAT(refusal<list>(bytes), HasSubstr("no object starts"));
  set_word(bytes, sizeof(message_head), 0);
  EXPECT_THAT(refusal<list>(bytes), HasSubstr("72 bytes follow the last object"));
}
TEST_F(hostile_list, heads) {
  const auto changed = [&](auto change) { return refusal<list>(with_head(bytes, change)); };
  EXPECT_THAT(changed([](message_head& head) { head.magic ^= 1; }), HasSubstr("it starts with"));
  EXPECT_THAT(changed([](message_head& head) { head.version = 3; }),
              HasSubstr("version 3, where this program reads versions 1 and 2"));
  EXPECT_THAT(changed([](message_head& head) { head.root_count = 2; }), HasSubstr("2 roots, where 1 are expected"));
  EXPECT_THAT(changed([](message_head& head) { head.fingerprint ^= 1; }), HasSubstr("built from different sources"));
  EXPECT_THAT(changed([](message_head& head) { head.objects = 2; }), HasSubstr("3 objects, where the head says 2"));
  EXPECT_THAT(changed([](message_head& head) { head.objects = std::uint64_t{1} << 63; }),
              HasSubstr("objects in an image"));
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{71}, std::uint64_t{80}, std::uint64_t{1} << 61,
                                    std::uint64_t{1} << 63, ~std::uint64_t{0}})
    EXPECT_THAT(changed([&](message_head& head) { head.image_bytes = wrong; }), HasSubstr("bytes hold no head"))
        << wrong;
  for (const std::uint32_t wrong : {1U, 1U << 28, 1U << 31, UINT32_MAX})
    EXPECT_THAT(changed([&](message_head& head) { head.tagged_count = wrong; }), HasSubstr("bytes hold no head"))
        << wrong;
  EXPECT_THAT(changed([](message_head& head) {
                head.tagged_count = 1;
                head.image_bytes -= 16;
              }),
              HasSubstr("no object starts"));
}
TEST_F(hostile_list, trailing_bytes) {
  message_bytes longer = bytes;
  longer.resize(longer.size() + 8);
  EXPECT_THAT(refusal<list>(longer), HasSubstr("bytes hold no head"));
  EXPECT_THAT(refusal<list>(with_head(longer, [](message_head& head) { head.image_bytes += 8; })),
              HasSubstr("8 bytes follow the last object"));
}
TEST_F(hostile_list, alignments) {
  for (const std::uint32_t wrong : {0U, 1U, 8U, 24U, 8192U, 1U << 31, UINT32_MAX})
    EXPECT_THAT(refusal<list>(with_head(bytes, [&](message_head& head) { head.alignment = wrong; })),
                HasSubstr("an alignment of"))
        << wrong;
}
TEST(hostile_message, alignment_that_is_less_than_an_object_needs) {
  const test::wide w{1, nullptr};
  const message_bytes bytes = message_of(&w);
  EXPECT_EQ(head_of(bytes).alignment, 64U);
  for (const std::uint32_t less : {16U, 32U})
    EXPECT_THAT(refusal<test::wide>(with_head(bytes, [&](message_head& head) { head.alignment = less; })),
                HasSubstr("is aligned to 64 bytes"))
        << less;
}

struct left_type {
  std::uint64_t value = 0;
};
struct right_type {
  std::uint64_t value = 0;
};
struct two_types {
  left_type* left = nullptr;
  right_type* right = nullptr;
};

TEST(hostile_message, pointers_to_objects_of_another_type) {
  const left_type l{1};
  const right_type r{2};
  two_types both;
  both.left = const_cast<left_type*>(&l);
  both.right = const_cast<right_type*>(&r);
  message_bytes bytes = message_of(&both);
  set_image_word(bytes, first_offset + 8, image_word(bytes, first_offset));
  EXPECT_THAT(refusal<two_types>(bytes),
              AllOf(HasSubstr("a pointer to "), HasSubstr("right_type leads to a "), HasSubstr("left_type")));
}

struct tagged_first {
  test::shape* figure = nullptr;
  small* plain = nullptr;
};
struct tagged_second {
  small* plain = nullptr;
  test::shape* figure = nullptr;
};
TEST(hostile_message, tagged_and_untagged_objects_in_each_others_place) {
  test::circle c;
  small s;
  const tagged_first first{&c, &s};
  message_bytes bytes = message_of(&first);
  set_image_word(bytes, first_offset + 8, image_word(bytes, first_offset));
  EXPECT_THAT(refusal<tagged_first>(bytes), AllOf(HasSubstr("small leads to a "), HasSubstr("circle")));
  const tagged_second second{&s, &c};
  bytes = message_of(&second);
  set_image_word(bytes, first_offset + 8, image_word(bytes, first_offset));
  EXPECT_THAT(refusal<tagged_second>(bytes), AllOf(HasSubstr("shape leads to a "), HasSubstr("small")));
}

struct animal : derived<animal> {
  std::array<std::uint64_t, 30> legs{};
  SITU_DESCRIBE_DERIVED(animal, (situ::object), legs)
};

class hostile_tags : public testing::Test {
 protected:
  test::circle c;
  test::group g;
  message_bytes bytes = [this] {
    c.neighbour = &g;
    c.radius = 1;
    return message_of(static_cast<const test::shape*>(&c));
  }();
  static constexpr std::size_t list = sizeof(message_head) + 8;  // of tagged types
};

TEST_F(hostile_tags, arrive_if_right) {
  EXPECT_EQ(head_of(bytes).tagged_count, 2U);
  const owned<test::shape> arrived = read_one<test::shape>(bytes);
  ASSERT_NE(cast<test::circle>(arrived.get()), nullptr);
  EXPECT_NE(cast<test::group>(arrived->neighbour), nullptr);
}
TEST_F(hostile_tags, of_no_type_and_of_one_that_does_not_derive) {
  set_image_word(bytes, first_offset, 12345);
  EXPECT_THAT(refusal<test::shape>(bytes), HasSubstr("names no type that derives from"));
  const animal other;
  set_image_word(bytes, first_offset, other.type_tag());
  EXPECT_THAT(refusal<test::shape>(bytes), HasSubstr("names no type that derives from"));
  set_image_word(bytes, first_offset, 0);
  EXPECT_THAT(refusal<test::shape>(bytes), HasSubstr("names no type that derives from"));
}
TEST_F(hostile_tags, of_another_derived_type) {
  set_image_word(bytes, first_offset, g.type_tag());
  EXPECT_THAT(refusal<test::shape>(bytes), HasSubstr("does not list"));
}
TEST_F(hostile_tags, of_types_that_are_laid_out_differently) {
  for (const std::size_t at : {list + 8, list + 24}) {
    message_bytes changed = bytes;
    set_word(changed, at, test::word_at(changed, at) ^ 1);
    EXPECT_THAT(refusal<test::shape>(changed), HasSubstr("laid out differently"));
  }
}
TEST_F(hostile_tags, that_are_not_listed_or_listed_in_vain) {
  message_bytes changed = bytes;
  set_word(changed, list, 12345);
  EXPECT_THAT(refusal<test::shape>(changed), HasSubstr("does not list"));
  changed = with_head(bytes, [](message_head& head) { head.tagged_count = 1; });
  changed.erase(changed.begin() + list + 16, changed.begin() + list + 32);
  EXPECT_THAT(refusal<test::shape>(changed), HasSubstr("does not list"));
  changed = with_head(bytes, [](message_head& head) { head.tagged_count = 3; });
  changed.insert(changed.begin() + list + 32, bytes.begin() + list, bytes.begin() + list + 16);
  EXPECT_THAT(refusal<test::shape>(changed), HasSubstr("lists 3 tagged types, and has objects of 2"));
}
// An object within another is what it is declared as, whatever its header says.
struct has_figures {
  test::circle one;
  situ::vector<test::circle> many;
  std::optional<test::circle> maybe;
  std::array<test::circle, 2> two;
  std::variant<int, test::circle> either;
};
TEST(hostile_message, tags_of_objects_within_others) {
  has_figures original;
  original.many.emplace_back();
  original.many.emplace_back();
  original.maybe.emplace();
  original.either.emplace<test::circle>();
  const message_bytes bytes = message_of(static_cast<const has_figures*>(&original));
  ASSERT_EQ(read_one<has_figures>(bytes)->many.size(), 2U);
  // many[1]
  std::vector<std::uint64_t> headers{image_word(bytes, first_offset + sizeof(test::circle)) + sizeof(test::circle)};
  const auto add = [&](const test::circle& part) {
    headers.push_back(first_offset + static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&part) -
                                                                reinterpret_cast<const std::byte*>(&original)));
  };
  add(original.one);
  add(*original.maybe);
  add(original.two[1]);
  add(std::get<1>(original.either));
  const test::group g;
  const test::shape base;
  for (const std::uint64_t at : headers) {
    ASSERT_EQ(image_word(bytes, at), original.one.type_tag());
    message_bytes changed = bytes;
    for (const std::uint64_t wrong : {g.type_tag(), std::uint64_t{12345}}) {
      set_image_word(changed, at, wrong);
      EXPECT_THAT(refusal<has_figures>(changed), HasSubstr("within")) << at;
    }
    set_image_word(changed, at, base.type_tag());  // that it is
    EXPECT_EQ(test::hostile_reading<has_figures>(changed), "");
  }
}
// What it holds there is an address by then, which is nobody's business.
TEST_F(hostile_tags, in_the_middle_of_objects_do_not_show_addresses) {
  for (std::uint64_t offset = 8; offset < first_offset + sizeof(test::circle); offset += 8) {
    if (offset == first_offset) continue;
    message_bytes changed = bytes;
    set_image_word(changed, image_word(bytes, first_offset + 16) + 16, offset);  // the neighbour of the second
    EXPECT_THAT(refusal<test::shape>(changed), AllOf(HasSubstr("no object starts"), testing::Not(HasSubstr("tag 0x"))))
        << offset;
  }
}

struct with_arrays {
  situ::vector<double> numbers;
  situ::vector<small> smalls;
  situ::vector<small*> pointers;
  situ::string text;
  situ::vector<std::uint8_t> rest;
};

class hostile_containers : public testing::Test {
 protected:
  static constexpr std::size_t numbers = 0, smalls = 24, pointers = 48, text = 72, rest = 96;
  with_arrays original{{1, 2, 3}, {{1, nullptr}, {2, nullptr}}, {nullptr, nullptr}, situ::string{"text"}, {1, 2, 3}};
  message_bytes bytes = message_of(static_cast<const with_arrays*>(&original));
};

TEST_F(hostile_containers, counts_that_overflow_or_are_too_large) {
  for (const std::size_t field : {numbers, smalls, pointers, text, rest}) {
    for (const std::uint64_t count :
         {std::uint64_t{1} << 32, std::uint64_t{1} << 59, std::uint64_t{1} << 60, (std::uint64_t{1} << 60) + 1,
          std::uint64_t{1} << 61, (std::uint64_t{1} << 61) + 3, std::uint64_t{1} << 62, std::uint64_t{1} << 63,
          (std::uint64_t{1} << 63) + 2, ~std::uint64_t{0} - 1, ~std::uint64_t{0}}) {
      message_bytes changed = bytes;
      set_image_word(changed, first_offset + field + 8, count);
      EXPECT_THAT(refusal<with_arrays>(changed), HasSubstr("more than the image")) << field << ' ' << count;
    }
    // From a few too many to all that the image has room for.
    for (std::uint64_t count = 9; count < 64; ++count) {
      message_bytes changed = bytes;
      set_image_word(changed, first_offset + field + 8, count);
      ASSERT_EQ(test::hostile_reading<with_arrays>(changed), "") << field << ' ' << count;
    }
  }
}
TEST_F(hostile_containers, no_elements_somewhere) {
  set_image_word(bytes, first_offset + smalls + 8, 0);
  EXPECT_THAT(refusal<with_arrays>(bytes), HasSubstr("an empty container"));
}
TEST_F(hostile_containers, elements_that_are_another_containers_or_no_elements) {
  message_bytes changed = bytes;
  set_image_word(changed, first_offset + smalls, image_word(bytes, first_offset + numbers));
  EXPECT_THAT(refusal<with_arrays>(changed), HasSubstr("no object starts"));
  set_image_word(changed, first_offset + smalls, first_offset);  // the object itself
  EXPECT_THAT(refusal<with_arrays>(changed), HasSubstr("no object starts"));
  set_image_word(changed, first_offset + smalls, 0);
  EXPECT_THAT(refusal<with_arrays>(changed), HasSubstr("no object starts"));
  set_image_word(changed, first_offset + smalls, image_word(bytes, first_offset + smalls) + 4);
  EXPECT_THAT(refusal<with_arrays>(changed), HasSubstr("not a multiple of 8"));
}
TEST_F(hostile_containers, pointers_into_a_container) {
  message_bytes changed = bytes;
  const std::uint64_t elements = image_word(bytes, first_offset + smalls);
  set_image_word(changed, image_word(bytes, first_offset + pointers), elements);
  EXPECT_NE(refusal<with_arrays>(changed), "");
  set_image_word(changed, image_word(bytes, first_offset + pointers), elements + sizeof(small));
  EXPECT_THAT(refusal<with_arrays>(changed), HasSubstr("no object starts"));
}
TEST_F(hostile_containers, capacities_and_terminators_are_not_believed) {
  for (const std::size_t field : {numbers, smalls, pointers, text, rest})
    set_image_word(bytes, first_offset + field + 16, ~std::uint64_t{0});
  const std::uint64_t characters = image_word(bytes, first_offset + text);
  set_image_word(bytes, characters, ~std::uint64_t{0} / 255 * 'x');
  const owned<with_arrays> arrived = read_one<with_arrays>(bytes);
  EXPECT_EQ(std::strlen(arrived->text.c_str()), 4U);
  EXPECT_EQ(arrived->numbers.capacity(), 3U);
  arrived->numbers.push_back(4);
  arrived->text.append("xxxxxxxxxx");
  EXPECT_EQ(arrived->numbers, (situ::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(arrived->text, "xxxxxxxxxxxxxx");
}

struct choices {
  std::optional<small*> maybe;
  std::variant<std::uint64_t, small*, situ::string> either;
};
TEST(hostile_message, states_that_there_are_not) {
  choices original;
  const message_bytes bytes = message_of(static_cast<const choices*>(&original));
  const auto state_at = [](const auto& field, std::size_t bytes_of_value) {
    return reinterpret_cast<const std::byte*>(&field) + bytes_of_value;
  };
  const auto begin = reinterpret_cast<const std::byte*>(&original);
  const auto maybe = static_cast<std::size_t>(state_at(original.maybe, 8) - begin);
  const auto either = static_cast<std::size_t>(state_at(original.either, 24) - begin);
  for (unsigned state = 0; state < 256; ++state) {
    message_bytes changed = bytes;
    changed[image_begin(bytes) + maybe] = static_cast<std::byte>(state);
    if (state > 1) {
      ASSERT_THAT(refusal<choices>(changed), HasSubstr("is in state"));
    }
    changed = bytes;
    changed[image_begin(bytes) + either] = static_cast<std::byte>(state);
    if (state > 2) {
      ASSERT_THAT(refusal<choices>(changed), HasSubstr("is in state"));
    }
  }
}

struct flags {
  std::uint16_t number = 7;
  bool is_set = true;
};
struct truths {
  bool alone = true;
  std::array<bool, 3> some{true, true, true};
  flags nested;
  std::pair<std::uint32_t, bool> paired{7, true};
  std::optional<bool> maybe{true};
  std::variant<std::uint64_t, flags> either{flags{}};
  situ::vector<bool> listed{true, true};
  situ::vector<flags> flagged{flags{}, flags{}, flags{}};
  flags* pointed = nullptr;
};
TEST(hostile_message, bools_that_are_neither_true_nor_false) {
  flags far;
  truths original;
  original.pointed = &far;
  bool* const bools[] = {&original.alone,
                         &original.some[1],
                         &original.some[2],
                         &original.nested.is_set,
                         &original.paired.second,
                         &*original.maybe,
                         &std::get<flags>(original.either).is_set,
                         &original.listed[1],
                         &original.flagged[2].is_set,
                         &far.is_set};
  const message_bytes bytes = message_of(static_cast<const truths*>(&original));
  for (bool* const each : bools) {
    *each = false;
    message_bytes changed = message_of(static_cast<const truths*>(&original));
    *each = true;
    const auto where =
        static_cast<std::size_t>(std::mismatch(bytes.begin(), bytes.end(), changed.begin()).first - bytes.begin());
    ASSERT_LT(where, bytes.size());
    EXPECT_EQ(test::hostile_reading<truths>(changed), "");
    for (const int value : {2, 3, 128, 255}) {
      changed[where] = static_cast<std::byte>(value);
      ASSERT_THAT(refusal<truths>(changed), AllOf(HasSubstr("a bool of a"), HasSubstr("is " + std::to_string(value))))
          << each - bools[0];
    }
  }
}

}  // namespace
}  // namespace situ
