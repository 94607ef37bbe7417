// Each bit of a pool's own parts changed, and the file cut at each sector: what is read then is what was there, or it
// is refused or reported with its byte; and a pool that is refused, or read, is left as it is.
#include "fuzz/pool_image.h"
#include "pool/format.h"
#include "pools.h"

#include <situ/base/log.h>

#include <algorithm>
#include <cstring>
#include <utility>

using namespace situ_pool_test;
using namespace situ::detail;
using situ::errc;
using situ::pool;
using situ::pool_access;
using situ::test::pool_leaf;
using situ::test::pool_node;
using testing::HasSubstr;

namespace {

// What a program finds in the pool.
struct meaning {
  std::vector<std::string> roots;
  std::vector<std::pair<std::uint64_t, std::size_t>> blocks;  // by offset
  std::vector<std::uint64_t> values;

  bool operator==(const meaning&) const = default;
};

// Throws bad_file; damage: what check says.
meaning read_meaning(const pool& from, std::vector<std::string>& damage) {
  meaning found;
  const situ::pool_info info = from.info();
  damage = from.check().damage;
  if (!damage.empty()) return found;  // pointers may lead anywhere
  for (const auto& each : info.roots) found.roots.push_back(each.name + "@" + std::to_string(each.offset));
  from.for_each_block([&](void* at, std::size_t bytes) {
    found.blocks.emplace_back(reinterpret_cast<std::uintptr_t>(at) - info.base, bytes);
  });
  const auto* const list = from.root<pool_leaf>("list");
  const auto* const tree = from.root<pool_node>("tree");
  if (list == nullptr || tree == nullptr) return found;
  for (const pool_leaf* each = list; each != nullptr && found.values.size() < 5; each = each->next)
    found.values.push_back(each->value);
  found.values.insert(found.values.end(),
                      {tree->number, tree->children[0]->number, tree->children[1]->children[1]->number});
  return found;
}

class pool_damage : public testing::Test {
 protected:
  pool_damage() : sink_{situ::set_log_sink([](situ::log_level, std::string_view) {})} {
    file.fill(image);
    std::vector<std::string> damage;
    sound = read_meaning(pool::open(file.path(), pool_access::read), damage);
    EXPECT_TRUE(damage.empty());
    EXPECT_EQ(sound.values.size(), 8);
    heap = image.size() - (std::uint64_t{1} << 20);
  }
  ~pool_damage() override { situ::set_log_sink(sink_); }

  // Opens what the file holds. True where it was found damaged.
  bool is_found(pool_access access, const std::vector<std::byte>& holds) {
    bool is_open = false;
    try {
      const pool opened = pool::open(file.path(), access);
      is_open = true;
      std::vector<std::string> damage;
      const meaning found = read_meaning(opened, damage);
      for (const std::string& each : damage) EXPECT_THAT(each, HasSubstr("byte "));
      EXPECT_TRUE(!damage.empty() || found == sound) << "it is read as something else, and no damage is said";
      return !damage.empty();
    } catch (const situ::error& refused) {
      EXPECT_EQ(refused.code(), errc::bad_file) << refused.what();
      EXPECT_THAT(std::string{refused.message()}, testing::AllOf(HasSubstr(file.path()), HasSubstr("byte ")));
      EXPECT_TRUE(is_open || file.holds(holds)) << "a pool that is refused is left as it is";
      return true;
    }
  }

  // Each `step`th bit from byte `from` to byte `to`. How many were found.
  std::size_t flip(std::uint64_t from, std::uint64_t to, pool_access access, std::uint64_t step = 1) {
    return flip(image, from, to, access, step);
  }
  std::size_t flip(const std::vector<std::byte>& in, std::uint64_t from, std::uint64_t to, pool_access access,
                   std::uint64_t step) {
    std::vector<std::byte> holds = in;
    std::size_t found = 0;
    for (std::uint64_t bit = from * 8; bit < to * 8; bit += step) {
      SCOPED_TRACE(testing::Message() << "bit " << bit % 8 << " of byte " << bit / 8);
      std::byte& byte = holds[bit / 8];
      const std::byte before = byte;
      byte ^= std::byte{1} << static_cast<int>(bit % 8);
      if (access == pool_access::write) file.fill(in);
      file.set(bit / 8, byte);
      found += is_found(access, holds) ? 1 : 0;
      byte = before;
      file.set(bit / 8, byte);
      if (HasFailure()) break;
    }
    EXPECT_TRUE(access == pool_access::write || file.holds(in)) << "a reader changes nothing";
    return found;
  }

  const std::vector<std::byte> image = situ::test::make_pool_image(false);
  situ::test::pool_in_memory file;
  meaning sound;
  std::uint64_t heap = 0;

 private:
  situ::log_sink sink_;
};

TEST_F(pool_damage, of_each_bit_of_the_head_is_found_or_means_nothing) {
  EXPECT_EQ(flip(0, sizeof(pool_header), pool_access::read), 8 * sizeof(pool_header));
  flip(sizeof(pool_header), pool_roots_offset, pool_access::read);
  EXPECT_EQ(flip(pool_sequence_offset, pool_sequence_offset + 8, pool_access::write), 64);
  EXPECT_EQ(flip(pool_state_offset, pool_state_offset + sizeof(pool_state_record), pool_access::write), 0)
      << "the other copy is whole";
}

TEST_F(pool_damage, of_each_bit_of_the_roots_is_found_or_means_nothing) {
  EXPECT_EQ(flip(pool_roots_offset, pool_roots_offset + 2 * sizeof(pool_root_record), pool_access::read), 1024);
  flip(pool_roots_offset + 2 * sizeof(pool_root_record), pool_log_offset, pool_access::read, 7);
  flip(pool_roots_offset, pool_roots_offset + 2 * sizeof(pool_root_record), pool_access::write, 5);
}

// Of a log whose transaction is complete: nothing in it counts.
TEST_F(pool_damage, of_the_log_means_nothing) {
  EXPECT_EQ(flip(pool_log_offset, pool_log_offset + 512, pool_access::read), 0);
  EXPECT_EQ(flip(pool_log_offset, pool_log_offset + 512, pool_access::write, 11), 0);
  EXPECT_EQ(flip(pool_log_offset + 512, pool_map_offset, pool_access::read, 1009), 0);
}

TEST_F(pool_damage, of_each_entry_of_the_map_is_found) {
  EXPECT_EQ(flip(pool_map_offset, pool_map_offset + 64 * 8, pool_access::read), 64 * 64);
  EXPECT_EQ(flip(pool_map_offset, pool_map_offset + 64 * 8, pool_access::write, 13), 64 * 64 / 13 + 1);
  flip(pool_map_offset + 64 * 8, heap, pool_access::read, 1009);
}

TEST_F(pool_damage, of_the_head_of_a_slab_is_found_where_it_is_no_bit_of_a_block) {
  EXPECT_EQ(flip(heap, heap + 8, pool_access::read), 64);
}

// Each bit that objects have, and each of their checks.
TEST_F(pool_damage, of_each_object_that_has_a_check_is_found) {
  const std::vector<std::byte> checked = situ::test::make_pool_image(false, true);
  file.fill(checked);
  std::vector<std::pair<std::uint64_t, std::size_t>> blocks;
  {
    const pool opened = pool::open(file.path(), pool_access::read);
    std::vector<std::string> damage;
    sound = read_meaning(opened, damage);
    blocks = sound.blocks;
  }
  ASSERT_EQ(blocks.size(), 7);
  for (const auto& [offset, bytes] : blocks) {
    const std::uint64_t step = bytes > 1000 ? 9973 : 1;
    for (const pool_access access : {pool_access::read, pool_access::write}) {
      const std::uint64_t every = access == pool_access::write ? step * 11 : step;
      EXPECT_EQ(flip(checked, offset, offset + bytes, access, every), (bytes * 8 + every - 1) / every);
      file.fill(checked);
    }
  }
  // Five leaves and an array of nodes are the first blocks of two slabs, the large block lies behind them.
  for (const auto& [chunk, count] : {std::pair{1, 5}, {2, 1}, {8, 1}}) {
    const std::uint64_t end = heap + static_cast<std::uint64_t>(chunk) * chunk_bytes;
    const std::uint64_t bytes = count * sizeof(object_check);
    EXPECT_EQ(flip(checked, end - bytes, end, pool_access::read, 1), bytes * 8) << chunk;
  }
}

TEST_F(pool_damage, a_file_cut_at_any_sector_is_refused_by_its_length) {
  for (const pool_access access : {pool_access::read, pool_access::write}) {
    for (std::size_t length = 0; length < image.size(); length += 512) {
      const std::vector<std::byte> part(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(length));
      file.fill(part);
      EXPECT_THAT(error_of(errc::bad_file, [&] { (void)pool::open(file.path(), access); }),
                  testing::AllOf(HasSubstr(file.path()), HasSubstr("byte " + std::to_string(length) + ":")));
      EXPECT_TRUE(file.holds(part)) << length;
      if (HasFailure()) return;
    }
  }
}

}  // namespace
