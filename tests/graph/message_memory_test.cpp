// What memory a message takes to read: no more than its bytes allow, and none that stays.
#include "graph/graph_message.h"
#include "support/places.h"

#include "fuzz/allocation_watch.h"

#include <memory>
#include <random>

namespace situ {
namespace {

using detail::message_head;
using test::message_bytes;
using test::message_of;
using test::node;
using test::read_one;
using test::set_word;
using test::small;
using test::small_message_of_everything;
using test::with_head;

constexpr std::uint64_t first_offset = sizeof(detail::arena);  // of the first object

// The most that was taken at once by operator new while it was read, and what the arena takes.
template <class T>
std::size_t memory_taken(const message_bytes& bytes) {
  const std::size_t before = test::live_allocated_bytes.load();
  test::peak_allocated_bytes.store(before);
  // at most, and with its finalizers; exactly what it takes is asked of the segment below
  std::size_t arena = bytes.size();
  const memory_usage usage = memory_statistics();
  try {
    const owned<T> arrived = read_one<T>(bytes);
    arena = memory_statistics().live_bytes - usage.live_bytes;
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::bad_message) << e.what();
  }
  EXPECT_EQ(memory_statistics().live_bytes, usage.live_bytes);
  return test::peak_allocated_bytes.load() - before + arena;
}

struct tree {
  situ::vector<tree> children;
};

TEST(message_memory, is_bounded_by_the_message) {
  const std::uint64_t seed = test::test_seed();
  const message_bytes whole = small_message_of_everything();
  const launch_result result = test::launch_on({launch_mode::threads, 1}, [&] {
    // Of what costs the most memory for its bytes: containers of one container each. A bit more than a power of two of
    // them.
    for (const std::size_t depth : {1U, 1000U, 4097U, 65537U}) {
      message_bytes bytes = [] {
        const tree leaf;
        return message_of(&leaf);
      }();
      const std::size_t image = test::image_begin(bytes);
      bytes.resize(image + depth * 24);
      for (std::size_t i = 0; i + 1 < depth; ++i) {
        set_word(bytes, image + i * 24, first_offset + (i + 1) * 24);
        set_word(bytes, image + i * 24 + 8, 1);
      }
      bytes = with_head(
          bytes, [&](message_head& head) { head.image_bytes = head.objects = depth * 24, head.objects = depth; });
      ASSERT_EQ(read_one<tree>(bytes).size().objects, depth);
      EXPECT_LE(memory_taken<tree>(bytes), test::most_memory_for(bytes.size())) << depth;
    }
    std::mt19937_64 random{seed};
    for (int i = 0; i < test::rounds(5000); ++i) {
      message_bytes bytes = whole;
      const std::uint64_t words[] = {std::uint64_t{1} << 61, std::uint64_t{1} << 63, ~std::uint64_t{0},
                                     std::uint64_t{1} << 32, random()};
      set_word(bytes, random() % (bytes.size() / 8) * 8, words[random() % 5]);
      ASSERT_LE(memory_taken<node>(bytes), test::most_memory_for(bytes.size()));
    }
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

// What a large message has left behind for the next does not stay for ever.
TEST(message_memory, of_a_large_message_is_given_back) {
  const std::size_t before = test::live_allocated_bytes.load();
  {
    const auto numbers = std::make_unique<situ::array<double>>(std::size_t{9} << 20);
    const message_bytes bytes = message_of(static_cast<const situ::array<double>*>(numbers.get()));
    EXPECT_EQ(read_one<situ::array<double>>(bytes)->size(), std::size_t{9} << 20);
  }
  const small s{1, nullptr};
  EXPECT_EQ(read_one<small>(message_of(&s))->value, 1U);
  EXPECT_LT(test::live_allocated_bytes.load(), before + (std::size_t{1} << 20));
}

}  // namespace
}  // namespace situ
