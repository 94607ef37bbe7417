// Graphs as large as there may be, by message and by copy: places in a copy are numbers of 32 bits, in units of 8
// bytes, so whatever is kept in 32 bits of bytes would show here. Takes gigabytes; skipped where the machine has not so
// many to spare.
#include "support/places.h"

#include <situ/graph/clone.h>

#include <cstdio>
#include <fstream>
#include <memory>

#include "graph/message.h"

namespace situ {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

std::uint64_t available_bytes() {
  std::ifstream file{"/proc/meminfo"};
  for (std::string word; file >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}
#define SKIP_WITHOUT(gigabytes)                   \
  if (available_bytes() < (gigabytes) * gibibyte) \
  GTEST_SKIP() << "takes " << (gigabytes) << " GiB, of which " << available_bytes() / gibibyte << " are available"

struct list {
  list* next;
  std::uint64_t value;
};
struct numbers {
  numbers* next;
  situ::array<std::uint64_t> values;
};

// From the end of the memory to its beginning, in pairs that change places.
std::unique_ptr<list[]> make_list(std::uint64_t n) {
  auto items = std::make_unique_for_overwrite<list[]>(n);
  const auto at = [n](std::uint64_t i) { return (n - 1 - i) ^ 1; };  // n is even
  for (std::uint64_t i = 0; i < n; ++i) items[at(i)] = {i + 1 < n ? &items[at(i + 1)] : nullptr, i};
  return items;
}
void expect_list(const list* head, std::uint64_t n) {
  std::uint64_t i = 0;
  for (; head != nullptr && head->value == i; head = head->next) ++i;
  EXPECT_EQ(i, n);
}

// 1e8 objects of 16 bytes: 1.6 GB each way, with a table beside the source of half as much.
TEST(large_graph, of_1e8_objects_is_copied_and_read) {
  SKIP_WITHOUT(9);
  constexpr std::uint64_t n = 100'000'000;
  std::unique_ptr<list[]> original = make_list(n);
  const list* const first = &original[(n - 1) ^ 1];
  owned<list> copy = clone(first);
  EXPECT_EQ(copy.size(), (graph_size{n, n * sizeof(list)}));
  original.reset();
  expect_list(copy.get(), n);

  const detail::graph_root root = detail::root_of(copy.get());
  auto bytes = std::make_unique_for_overwrite<std::vector<std::byte>>();
  {
    const detail::borrowed_plan plan;
    plan->discover(&root, 1, copy_map::automatic, detail::source_check::none);
    bytes->resize(detail::message_bytes(*plan, 1));
    detail::write_message(*plan, {&root, 1}, bytes->data());
  }
  copy = nullptr;
  detail::graph_root read{nullptr, root.type};
  const detail::arena_reference memory = detail::read_message(*bytes, {&read, 1});
  bytes.reset();
  EXPECT_EQ(memory.get()->objects, n);
  expect_list(static_cast<const list*>(read.object), n);
}

// 4 GiB and a bit, of blocks that lie on both sides of each power of two of bytes.
TEST(large_graph, of_more_than_4_gib_is_copied) {
  SKIP_WITHOUT(10);
  constexpr std::size_t blocks = 17;
  constexpr std::uint64_t each = gibibyte / 4 / sizeof(std::uint64_t);
  std::vector<numbers> original(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    original[i].next = i + 1 < blocks ? &original[i + 1] : nullptr;
    original[i].values = situ::array<std::uint64_t>(each);
    for (std::uint64_t k = 0; k < each; k += 511) original[i].values[k] = i << 32 | k;
    original[i].values.back() = i;
  }
  const owned<numbers> copy = clone(&original[0]);
  EXPECT_GT(copy.size().bytes, 4 * gibibyte);
  std::size_t seen = 0;
  for (const numbers* at = copy.get(); at != nullptr; at = at->next, ++seen) {
    ASSERT_EQ(at->values.size(), each);
    ASSERT_EQ(at->values.back(), seen);
    for (std::uint64_t k = 0; k + 1 < each; k += 511) ASSERT_EQ(at->values[k], seen << 32 | k);
  }
  EXPECT_EQ(seen, blocks);
}

// The head of the message, the offsets and the lists of a reader at 4 GiB, without all of it being there twice at a
// time.
TEST(large_graph, of_more_than_4_gib_is_a_message) {
  SKIP_WITHOUT(15);
  constexpr std::uint64_t each = gibibyte / 2 / sizeof(std::uint64_t);
  std::vector<numbers> original(9);
  for (std::size_t i = 0; i < original.size(); ++i) {
    original[i].next = i + 1 < original.size() ? &original[i + 1] : nullptr;
    original[i].values = situ::array<std::uint64_t>(each);
    original[i].values[each - 1] = i + 1;
  }
  const detail::graph_root root = detail::root_of(&original[0]);
  std::vector<std::byte> bytes;
  {
    const detail::borrowed_plan plan;
    plan->discover(&root, 1, copy_map::automatic, detail::source_check::none);
    bytes.resize(detail::message_bytes(*plan, 1));
    detail::write_message(*plan, {&root, 1}, bytes.data());
  }
  EXPECT_GT(bytes.size(), 4 * gibibyte);
  original.clear();
  detail::graph_root read{nullptr, root.type};
  const detail::arena_reference memory = detail::read_message(bytes, {&read, 1});
  std::uint64_t seen = 0;
  for (const auto* at = static_cast<const numbers*>(read.object); at != nullptr; at = at->next) {
    ASSERT_EQ(at->values.size(), each);
    ASSERT_EQ(at->values.back(), ++seen);
  }
  EXPECT_EQ(seen, 9U);
}

// One element more than a copy has places for: an error that says so, and no memory is gone.
TEST(large_graph, of_more_than_31_gib_is_refused) {
  numbers one{nullptr, {}};
  std::uint64_t words[3];
  std::memcpy(words, static_cast<const void*>(&one.values), sizeof words);
  alignas(8) static std::uint64_t somewhere[1];
  words[0] = reinterpret_cast<std::uintptr_t>(somewhere);
  words[1] = 32 * gibibyte / sizeof(std::uint64_t);  // never read: its size is looked at first
  std::memcpy(static_cast<void*>(&one.values), words, sizeof words);
  const test::caught_error caught = test::error_of([&] { (void)measure(&one); });
  EXPECT_EQ(caught.code, errc::bad_argument);
  EXPECT_TRUE(caught.says("send it in parts")) << caught.text;
  words[0] = words[1] = words[2] = 0;
  std::memcpy(static_cast<void*>(&one.values), words, sizeof words);
}

}  // namespace
}  // namespace situ
