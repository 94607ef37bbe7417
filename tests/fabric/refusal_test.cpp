// Accesses that must not happen: each is an error that names the address, the place and the size, and the place goes
// on.
#include "support/places.h"

#include <fmt/format.h>

namespace situ {
namespace {

using test::error_of;

class refusal : public test::on_places {};

// What the compiler cannot know: it would warn of the very accesses that are refused here.
template <class T>
T unknown(T value) {
  volatile T hidden = value;
  return hidden;
}

std::string hex(std::uintptr_t address) { return fmt::format("{:#x}", address); }

TEST_P(refusal, addresses_in_no_segment) {
  run([] {
    long private_word = 5;
    const ptr<long> outside{&private_word};
    const auto e = error_of([&] { put(outside, 1L); });
    EXPECT_EQ(e.code, errc::bad_address);
    EXPECT_TRUE(e.says(hex(outside.address())) && e.says("8 bytes") && e.says("put")) << e.text;
    EXPECT_EQ(private_word, 5);
    EXPECT_EQ(error_of([&] { (void)get(outside); }).code, errc::bad_address);
    EXPECT_EQ(error_of([&] { (void)atomic_load(outside); }).code, errc::bad_address);
    long value = 0;
    const auto null = error_of([&] { get(&value, ptr<long>{unknown<long*>(nullptr)}, unknown(3)); });
    EXPECT_EQ(null.code, errc::bad_address);
    EXPECT_TRUE(null.says("null") && null.says("24 bytes")) << null.text;
    EXPECT_EQ(error_of([&] { atomic_fetch_add(ptr<long>{}, 1L); }).code, errc::bad_address);
    const ptr<long> good = allocate<long>();
    EXPECT_EQ(error_of([&] { copy(good, ptr<const long>{outside}, 1); }).code, errc::bad_address);
    EXPECT_EQ(error_of([&] { copy(outside, ptr<const long>{good}, 1); }).code, errc::bad_address);
    put(good, 7L);
    EXPECT_EQ(get(good), 7);
    deallocate(good);
  });
}

TEST_P(refusal, beyond_the_open_part_of_a_segment) {
  run([] {
    const auto words = all_gather(allocate<long>());
    const std::uint32_t other = (here().index() + 1) % place_count();
    const ptr<long> word = words[other];
    const auto far = static_cast<std::ptrdiff_t>(memory_statistics().capacity_bytes / sizeof(long) / 2);
    const auto e = error_of([&] { put(word + far, 1L); });
    EXPECT_EQ(e.code, errc::bad_address);
    EXPECT_TRUE(e.says(fmt::format("place {}'s segment", other)) && e.says(hex((word + far).address()))) << e.text;
    std::vector<long> local(1);
    // From inside to outside: starts in the open part, ends beyond it. The count must not wrap around either.
    EXPECT_EQ(error_of([&] { get(local.data(), word, unknown(static_cast<std::size_t>(far))); }).code,
              errc::bad_address);
    EXPECT_EQ(error_of([&] { get(local.data(), word, unknown(SIZE_MAX)); }).code, errc::bad_address);
    EXPECT_EQ(error_of([&] { get(local.data(), word, unknown(SIZE_MAX / 8 + 2)); }).code, errc::bad_address);
    EXPECT_EQ(error_of([&] { (void)get(word - far); }).code, errc::bad_address);
    barrier();
    deallocate(words[here().index()]);
  });
}

TEST_P(refusal, channels_and_metadata_below_the_heap) {
  run([] {
    const std::uintptr_t slice = detail::current->base;
    const auto e = error_of([&] { put(ptr<int>{reinterpret_cast<int*>(slice + 4096)}, 1); });
    EXPECT_EQ(e.code, errc::bad_address);
    EXPECT_EQ(
        error_of([&] { put(ptr<int>{reinterpret_cast<int*>(slice + detail::current->heap_offset - 4)}, 1); }).code,
        errc::bad_address);
  });
}

TEST_P(refusal, strided_boxes_that_leave_the_segment) {
  run([] {
    const ptr<int> block = allocate<int>(100);
    const auto far = static_cast<std::ptrdiff_t>(memory_statistics().capacity_bytes / sizeof(int));
    const std::vector<int> source(8, 9);
    put(block, 1);
    const std::array<std::ptrdiff_t, 2> dense{4, 1};
    const std::array<std::size_t, 2> extents{2, 4};
    EXPECT_EQ(error_of([&] {
                put_strided(block, std::array<std::ptrdiff_t, 2>{far, 1}, source.data(), dense, extents);
              }).code,
              errc::bad_address);
    EXPECT_EQ(error_of([&] {
                put_strided(block, std::array<std::ptrdiff_t, 2>{-far, 1}, source.data(), dense, extents);
              }).code,
              errc::bad_address);
    EXPECT_EQ(get(block), 1);  // refused as a whole
    EXPECT_EQ(error_of([&] {
                put_indexed(block, std::vector<std::size_t>{static_cast<std::size_t>(far)}, source.data());
              }).code,
              errc::bad_address);
    deallocate(block);
  });
}

TEST_P(refusal, strided_boxes_whose_reach_wraps_around) {
  run([] {
    const ptr<int> block = allocate<int>(100);
    const std::vector<int> source(8, 9);
    put(block, 1);
    const std::array<std::ptrdiff_t, 2> dense{4, 1};
    const std::array<std::size_t, 2> extents{2, 4};
    constexpr std::ptrdiff_t wraps = std::ptrdiff_t{1} << 62;  // times sizeof(int) is 0 modulo 2^64
    EXPECT_EQ(error_of([&] {
                put_strided(block, std::array<std::ptrdiff_t, 2>{wraps, 1}, source.data(), dense, extents);
              }).code,
              errc::bad_address);
    EXPECT_EQ(error_of([&] {
                put_strided(block, std::array<std::ptrdiff_t, 2>{4, 1}, source.data(),
                            std::array<std::ptrdiff_t, 2>{0, 0}, std::array<std::size_t, 2>{std::size_t{1} << 61, 4});
              }).code,
              errc::bad_address);
    EXPECT_EQ(get(block), 1);
    deallocate(block);
  });
}

TEST_P(refusal, misaligned_atomics) {
  run([] {
    const auto blocks = all_gather(allocate<std::uint64_t>(4));
    const std::uint64_t zeros[4]{};
    put(blocks[here().index()], zeros, 4);
    barrier();
    const std::uintptr_t address = blocks[(here().index() + 1) % place_count()].address();
    const auto e =
        error_of([&] { atomic_fetch_add(ptr<std::uint64_t>{reinterpret_cast<std::uint64_t*>(address + 4)}, 1); });
    EXPECT_EQ(e.code, errc::misaligned);
    EXPECT_TRUE(e.says(hex(address + 4)) && e.says("8 bytes")) << e.text;
    EXPECT_EQ(
        error_of([&] { (void)atomic_load(ptr<std::int32_t>{reinterpret_cast<std::int32_t*>(address + 2)}); }).code,
        errc::misaligned);
    EXPECT_EQ(error_of([&] { atomic_store(ptr<double>{reinterpret_cast<double*>(address + 1)}, 1.0); }).code,
              errc::misaligned);
    EXPECT_EQ(error_of([&] { atomic_fetch_min(ptr<double>{reinterpret_cast<double*>(address + 4)}, 1.0); }).code,
              errc::misaligned);
    barrier();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(blocks[here().index()].local()[i], 0U);
    barrier();
    deallocate(blocks[here().index()]);
  });
}

TEST_P(refusal, checked_mode_knows_freed_and_unallocated_memory) {
  run(
      [] {
        const auto blocks = all_gather(allocate<long>(100));
        const ptr<long> remote = blocks[(here().index() + 1) % place_count()];
        put(remote + 99, 5L);
        EXPECT_EQ(get(remote + 99), 5);
        std::vector<long> many(1000);
        const auto past = error_of([&] { get(many.data(), remote + 50, unknown(many.size())); });
        EXPECT_EQ(past.code, errc::bad_address);
        EXPECT_TRUE(past.says("past the end")) << past.text;
        barrier();
        deallocate(blocks[here().index()]);
        barrier();
        const auto freed = error_of([&] { put(remote, 1L); });
        EXPECT_EQ(freed.code, errc::bad_address);
        EXPECT_TRUE(freed.says("freed") && freed.says(hex(remote.address()))) << freed.text;
        EXPECT_EQ(error_of([&] { (void)atomic_load(remote); }).code, errc::bad_address);
      },
      {.checked = true});
}

TEST_P(refusal, places_that_are_not_there) {
  run([] {
    const place nobody{place_count()};
    EXPECT_EQ(error_of([&] { at(nobody, [] {}); }).code, errc::bad_argument);
    EXPECT_EQ(error_of([&] { (void)async_at(nobody, [] {}); }).code, errc::bad_argument);
    EXPECT_EQ(error_of([&] { at(place{UINT32_MAX}, [] {}); }).code, errc::bad_argument);
  });
}

TEST_P(refusal, a_second_runtime) {
  run([] {
    const auto e = error_of([] { const runtime second; });
    EXPECT_EQ(e.code, errc::bad_launch);
    EXPECT_TRUE(e.says("already has a situ::runtime")) << e.text;
    EXPECT_EQ(at(here(), [] { return 7; }), 7);  // the first is as it was
    barrier();
  });
}

TEST_P(refusal, memory_runs_out_and_the_place_goes_on) {
  run(
      [] {
        std::vector<ptr<char>> blocks;
        const auto e = error_of([&] {
          for (int i = 0; i < 10000; ++i) blocks.push_back(allocate<char>(std::size_t{1} << 20));
        });
        EXPECT_EQ(e.code, errc::out_of_memory);
        EXPECT_TRUE(e.says(fmt::format("place {}", here().index())) && e.says("1048576")) << e.text;
        barrier();
        for (const ptr<char> block : blocks) deallocate(block);
        barrier();
        const std::uint32_t next = (here().index() + 1) % place_count();
        EXPECT_EQ(at(place{next}, [](const std::string& s) { return s + "!"; }, "still here"), "still here!");
        const ptr<char> again = allocate<char>(std::size_t{1} << 20);
        put(again, 'x');
        deallocate(again);
        if (place_count() > 1) {
          EXPECT_EQ(error_of([&] {
                      (void)at(place{next}, [](std::vector<char> v) { return v.size(); }, std::vector<char>(100 << 20));
                    }).code,
                    errc::out_of_memory);
          try {
            (void)at(place{next}, [] { return std::vector<char>(100 << 20); });  // no room for the answer
            ADD_FAILURE() << "nothing was thrown";
          } catch (const remote_error& failure) {
            EXPECT_EQ(failure.place_index(), next);
            EXPECT_NE(failure.remote_what().find("out of memory"), std::string::npos) << failure.remote_what();
          }
        }
        EXPECT_EQ(at(place{next}, [](int n) { return n + 1; }, 1), 2);
        barrier();
      },
      {.memory_budget = std::uint64_t{64} << 20});
}

TEST(outside_a_runtime, every_call_says_so) {
  long word = 0;
  const ptr<long> p{&word};
  EXPECT_EQ(error_of([&] { put(p, 1L); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { (void)get(p); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { atomic_fetch_add(p, 1L); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { (void)here(); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { (void)place_count(); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { (void)world(); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { barrier(); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { progress(); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { at(place{0}, [] {}); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { (void)async_at(place{0}, [] {}); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { (void)async([] {}); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { finish([] {}); }).code, errc::no_runtime);
  EXPECT_EQ(error_of([&] { (void)allocate<int>(); }).code, errc::no_runtime);
  EXPECT_EQ(word, 0);
}

INSTANTIATE_TEST_SUITE_P(layouts, refusal, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
