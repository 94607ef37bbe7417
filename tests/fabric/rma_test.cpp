// put, get, copy, and their strided and indexed forms, against plain loops. Every remote range has guard bytes around
// it.
#include "support/places.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

namespace situ {
namespace {

using test::mixed;
using test::pattern;

constexpr std::size_t most_bytes = test::or_modelled(std::size_t{5} << 20, std::size_t{1} << 14) - 1;
constexpr std::size_t block_bytes = test::or_modelled(most_bytes, std::size_t{2} * most_bytes) + 8193;

// Sizes at, below and above words, lines, pages and what a large memcpy treats differently.
std::vector<std::size_t> transfer_sizes() {
  std::vector<std::size_t> sizes{0};
  for (std::size_t size = 1; size <= (std::size_t{1} << 20); size *= 4)
    for (const std::size_t near : {size - 1, size, size + 1, size + size / 3}) sizes.push_back(near);
  for (const std::size_t size : {std::size_t{4095}, std::size_t{8191}, (std::size_t{1} << 21) + 5, most_bytes})
    sizes.push_back(size);
  std::erase_if(sizes, [](std::size_t size) { return size > most_bytes; });
  return sizes;
}

// A block of each place; the caller writes to the next place's and is written to by the one before.
struct blocks {
  std::vector<ptr<std::byte>> of = all_gather(allocate<std::byte>(block_bytes));
  ptr<std::byte> mine = of[here().index()];
  ptr<std::byte> next = of[(here().index() + 1) % place_count()];
  std::uint32_t before = (here().index() + place_count() - 1) % place_count();

  blocks() { std::memset(mine.local(), 0xee, block_bytes); }
  ~blocks() {
    barrier();
    deallocate(mine);
  }
};

bool is_guard(const std::byte* at, std::size_t bytes) {
  return std::all_of(at, at + bytes, [](std::byte b) { return b == std::byte{0xee}; });
}

class rma : public test::on_places {};

TEST_P(rma, put_writes_exactly_the_bytes_given) {
  run([] {
    blocks all;
    std::uint64_t round = 0;
    for (const std::size_t size : transfer_sizes()) {
      const std::size_t offset = 64 + mixed(++round) % 4096;  // any alignment, pages crossed anywhere
      barrier();
      const std::vector<std::byte> sent = pattern(size, mixed(round, here().index()));
      put(all.next + static_cast<std::ptrdiff_t>(offset), sent.data(), size);
      barrier();
      const std::vector<std::byte> expected = pattern(size, mixed(round, all.before));
      std::byte* const at = all.mine.local() + offset;
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), at)) << size;
      EXPECT_TRUE(is_guard(at - 64, 64) && is_guard(at + size, 64)) << size;
      std::memset(at, 0xee, size);
    }
  });
}

TEST_P(rma, get_reads_exactly_the_bytes_given) {
  run([] {
    blocks all;
    const std::vector<std::byte> own = pattern(block_bytes, here().index());
    std::memcpy(all.mine.local(), own.data(), block_bytes);
    barrier();
    const std::vector<std::byte> others = pattern(block_bytes, (here().index() + 1) % place_count());
    std::vector<std::byte> received(block_bytes + 128);
    std::uint64_t round = 0;
    for (const std::size_t size : transfer_sizes()) {
      const std::size_t offset = mixed(++round) % 4096;
      std::memset(received.data(), 0xee, size + 128);
      get(received.data() + 64, all.next + static_cast<std::ptrdiff_t>(offset), size);
      EXPECT_EQ(std::memcmp(received.data() + 64, others.data() + offset, size), 0) << size;
      EXPECT_TRUE(is_guard(received.data(), 64) && is_guard(received.data() + 64 + size, 64)) << size;
    }
  });
}

TEST_P(rma, copy_moves_between_any_two_places) {
  run([] {
    blocks all;
    const std::vector<std::byte> own = pattern(block_bytes / 2, here().index());
    std::memcpy(all.mine.local(), own.data(), own.size());
    const std::uint32_t n = place_count();
    const std::uint32_t from = (here().index() + n / 2) % n;  // neither end need be the caller
    const std::uint32_t to = (here().index() + n / 3) % n;
    const std::vector<std::byte> expected = pattern(block_bytes / 2, from);
    barrier();
    std::uint64_t round = 0;
    for (const std::size_t size : transfer_sizes()) {
      if (size > block_bytes / 4) continue;
      const auto source = static_cast<std::ptrdiff_t>(mixed(++round) % 4096);
      const auto destination = static_cast<std::ptrdiff_t>(block_bytes / 2 + mixed(round, 1) % 4096);
      switch (round % 3) {
        case 0: copy(all.of[to] + destination, ptr<const std::byte>{all.of[from] + source}, size); break;
        case 1: put(all.of[to] + destination, all.of[from] + source, size); break;
        case 2: get(all.of[to] + destination, all.of[from] + source, size); break;
      }
      std::vector<std::byte> got(size);
      get(got.data(), all.of[to] + destination, size);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin() + source)) << size;
    }
  });
}

struct record {
  std::int16_t a;
  double b;
  char c[5];
};

TEST_P(rma, single_elements_and_futures) {
  run([] {
    const auto cells = all_gather(allocate<record>(4));
    const std::uint32_t n = place_count();
    const std::uint32_t me = here().index();
    const ptr<record> next = cells[(me + 1) % n];
    const record sent{static_cast<std::int16_t>(me), me * 0.5, "abcd"};
    put(next, sent);
    EXPECT_EQ(get(next).b, me * 0.5);
    put_async(next + 1, sent).get();
    put_async(next + 2, &sent, 1).get();
    EXPECT_EQ(get_async(next + 2).get().a, static_cast<std::int16_t>(me));
    record back{};
    get_async(&back, next + 1, 1).get();
    EXPECT_STREQ(back.c, "abcd");
    copy_async(next + 3, ptr<const record>{next + 2}, 1).get();
    EXPECT_EQ(get(next + 3).b, me * 0.5);
    barrier();
    const std::uint32_t before = (me + n - 1) % n;
    for (int i = 0; i < 4; ++i) EXPECT_EQ(cells[me].local()[i].a, static_cast<std::int16_t>(before)) << i;
    barrier();
    deallocate(cells[me]);
  });
}

// Where element (i, j, k) of a box lies on a side with these strides.
std::ptrdiff_t position(const std::array<std::ptrdiff_t, 3>& strides, std::size_t i, std::size_t j, std::size_t k) {
  return static_cast<std::ptrdiff_t>(i) * strides[0] + static_cast<std::ptrdiff_t>(j) * strides[1] +
         static_cast<std::ptrdiff_t>(k) * strides[2];
}

// A random box and random strides that give every element a place of its own, possibly backwards.
struct random_side {
  std::array<std::ptrdiff_t, 3> strides{};
  std::size_t origin = 0;  // so that all positions fall into [0, elements)
  std::size_t elements = 0;

  random_side(std::mt19937_64& random, const std::array<std::size_t, 3>& extents) {
    std::array<std::size_t, 3> order{0, 1, 2};
    if (random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
    std::ptrdiff_t step = random() % 3 == 0 ? static_cast<std::ptrdiff_t>(1 + random() % 3) : 1;
    std::ptrdiff_t lowest = 0, highest = 0;
    for (std::size_t o = 3; o-- > 0;) {
      const std::size_t d = order[o];
      strides[d] = random() % 4 == 0 ? -step : step;
      const std::ptrdiff_t reach = static_cast<std::ptrdiff_t>(std::max<std::size_t>(extents[d], 1) - 1) * strides[d];
      (reach < 0 ? lowest : highest) += reach;
      step = step * static_cast<std::ptrdiff_t>(std::max<std::size_t>(extents[d], 1)) +
             static_cast<std::ptrdiff_t>(random() % 3);
    }
    origin = static_cast<std::size_t>(-lowest);
    elements = static_cast<std::size_t>(highest - lowest) + 1;
  }
};

TEST_P(rma, strided_forms_agree_with_a_loop) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    constexpr std::size_t most = 16 * 16 * 16 * 8;
    const auto blocks = all_gather(allocate<std::int32_t>(most));
    const ptr<std::int32_t> remote = blocks[(here().index() + 1) % place_count()];
    std::mt19937_64 random{mixed(seed, here().index())};
    for (int round = 0; round < test::rounds(300); ++round) {
      const std::array<std::size_t, 3> extents{random() % 9, 1 + random() % 9, 1 + random() % 17};
      const random_side there{random, extents}, near{random, extents};
      ASSERT_LT(there.elements, most);
      std::vector<std::int32_t> model(there.elements, -1), local(near.elements);
      for (std::size_t i = 0; i < local.size(); ++i) local[i] = static_cast<std::int32_t>(random());
      std::fill_n(remote.local(), there.elements, -1);
      const auto for_each = [&](auto visit) {
        for (std::size_t i = 0; i < extents[0]; ++i)
          for (std::size_t j = 0; j < extents[1]; ++j)
            for (std::size_t k = 0; k < extents[2]; ++k)
              visit(static_cast<std::ptrdiff_t>(there.origin) + position(there.strides, i, j, k),
                    static_cast<std::ptrdiff_t>(near.origin) + position(near.strides, i, j, k));
      };
      put_strided(remote + static_cast<std::ptrdiff_t>(there.origin), there.strides, local.data() + near.origin,
                  near.strides, extents);
      for_each([&](std::ptrdiff_t at, std::ptrdiff_t from) {
        model[static_cast<std::size_t>(at)] = local[static_cast<std::size_t>(from)];
      });
      ASSERT_TRUE(std::equal(model.begin(), model.end(), remote.local())) << "put, round " << round;

      std::vector<std::int32_t> received(near.elements, -7), expected(near.elements, -7);
      get_strided(received.data() + near.origin, near.strides, remote + static_cast<std::ptrdiff_t>(there.origin),
                  there.strides, extents);
      for_each([&](std::ptrdiff_t at, std::ptrdiff_t to) {
        expected[static_cast<std::size_t>(to)] = model[static_cast<std::size_t>(at)];
      });
      ASSERT_EQ(received, expected) << "get, round " << round;
    }
    barrier();
    deallocate(blocks[here().index()]);
  });
}

TEST_P(rma, indexed_forms_agree_with_a_loop) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    constexpr std::size_t elements = 5000;
    const auto blocks = all_gather(allocate<double>(elements));
    const ptr<double> remote = blocks[(here().index() + 1) % place_count()];
    std::vector<double> model(elements, 0.0);
    put(remote, model.data(), elements);
    std::mt19937_64 random{mixed(seed, here().index())};
    for (int round = 0; round < test::rounds(100); ++round) {
      std::vector<std::size_t> indices(random() % 600);
      for (std::size_t& index : indices) index = random() % elements;  // some twice: the last write stands
      std::vector<double> values(indices.size());
      for (double& value : values) value = static_cast<double>(random() % 1000000);
      put_indexed(remote, indices, values.data());
      for (std::size_t i = 0; i < indices.size(); ++i) model[indices[i]] = values[i];
      std::vector<double> received(indices.size());
      get_indexed(received.data(), remote, indices);
      for (std::size_t i = 0; i < indices.size(); ++i) ASSERT_EQ(received[i], model[indices[i]]);
    }
    std::vector<double> all(elements);
    get(all.data(), remote, elements);
    EXPECT_EQ(all, model);
    barrier();
    deallocate(blocks[here().index()]);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, rma, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
