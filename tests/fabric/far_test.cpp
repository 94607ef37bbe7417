// Memory of another host goes to far_hosts, whatever way it is asked for, and memory of this host never does.
#include <situ/fabric/detail/far.h>
#include <situ/runtime/completion.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>

#include "support/places.h"

namespace situ {
namespace {

using test::error_of;

// Place 0 is of one host, the others of another. Their memory is here all the same: what is asked for is done at once,
// and noted.
class noting_hosts final : public detail::far_hosts {
 public:
  noting_hosts() : far_hosts{homes_of_all(), 0} {}
  std::vector<std::string> asked;

  [[nodiscard]] std::string take() {
    std::string all;
    for (const std::string& each : std::exchange(asked, {})) all += (all.empty() ? "" : " ") + each;
    return all;
  }

  void put(std::uintptr_t to, const void* from, std::size_t bytes) override {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    asked.push_back("put" + std::to_string(bytes));
  }
  void get(void* to, std::uintptr_t from, std::size_t bytes) override {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    asked.push_back("get" + std::to_string(bytes));
  }
  // Of two dimensions.
  void move_box(detail::access how, const detail::strided_box& box) override {
    ASSERT_EQ(box.dimensions, 2U);
    const auto at = [&](std::byte* origin, const std::ptrdiff_t* strides, std::size_t i, std::size_t j) {
      return origin + (static_cast<std::ptrdiff_t>(i) * strides[0] + static_cast<std::ptrdiff_t>(j) * strides[1]) *
                          static_cast<std::ptrdiff_t>(box.element_bytes);
    };
    for (std::size_t i = 0; i < box.extents[0]; ++i)
      for (std::size_t j = 0; j < box.extents[1]; ++j) {
        std::byte* const there = at(reinterpret_cast<std::byte*>(box.far), box.far_strides, i, j);
        std::byte* const mine = at(box.near, box.near_strides, i, j);
        std::memcpy(how == detail::access::put ? there : mine, how == detail::access::put ? mine : there,
                    box.element_bytes);
      }
    asked.push_back((how == detail::access::put ? "box_put" : "box_get") +
                    std::to_string(box.extents[0] * box.extents[1] * box.element_bytes));
  }
  std::uint64_t atomic(const detail::word_request& request) override {
    asked.push_back("atomic" + std::to_string(static_cast<int>(request.what)) + "/" +
                    std::to_string(static_cast<int>(request.type)));
    const std::atomic_ref word{*reinterpret_cast<std::uint64_t*>(request.word)};
    switch (request.what) {
      case detail::word_operation::load: return word.load();
      case detail::word_operation::compare_exchange: {
        std::uint64_t found = request.value;
        word.compare_exchange_strong(found, request.second);
        return found;
      }
      default: return request.value + 1;  // as good as any
    }
  }
  void put_signal(std::uintptr_t to, const void* from, std::size_t bytes,
                  const detail::signal_change& signal) override {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    const std::atomic_ref word{*reinterpret_cast<std::uint64_t*>(signal.word)};
    word.store(signal.adds ? word.load() + signal.value : signal.value);
    asked.push_back("put_signal" + std::to_string(bytes) + (signal.adds ? "+" : "="));
  }
  void give_back(std::uintptr_t block) noexcept override {
    given_back = block;
    asked.emplace_back("give_back");
  }
  std::uintptr_t given_back = 0;
  void arrive(detail::host_barrier, std::uint64_t) noexcept override {}
  // Messages go as ever: nobody has said send_by_hosts().
  detail::channel& window(std::uint32_t, bool) override { std::abort(); }
  void carry(const detail::outgoing&, const detail::cell&, const detail::message_form&) noexcept override {}
  void want_room(const detail::outgoing&) noexcept override {}
  bool poll() override { return false; }
  [[nodiscard]] bool is_outstanding() const noexcept override { return false; }
  bool sleep(std::int64_t) noexcept override { return false; }

 private:
  [[nodiscard]] static std::span<const detail::place_home> homes_of_all() {
    static constexpr detail::place_home homes[]{{0, 0}, {1, 0}, {1, 1}};
    return homes;
  }
};

class far_memory : public test::on_places {
 protected:
  // The body runs at place 0.
  template <class Body>
  void run_beside_others(Body body, launch_options options = {}) {
    run(
        [&] {
          const auto blocks = all_gather(allocate<long>(block_longs));
          const auto words = all_gather(allocate_signals());
          if (here().index() == 0) {
            noting_hosts hosts;
            join_hosts(*detail::current, hosts);
            body(hosts, blocks, words);
            leave_hosts(*detail::current);
          }
          barrier();
          deallocate(blocks[here().index()]);
          deallocate(words[here().index()]);
        },
        std::move(options));
  }
  static constexpr std::size_t block_longs = 1000;
};

TEST_P(far_memory, goes_to_far_hosts_by_each_way_of_asking) {
  run_beside_others([](noting_hosts& hosts, const auto& blocks, const auto& words) {
    const ptr<long> there = blocks[1];
    std::vector<long> some(100);
    std::iota(some.begin(), some.end(), 7);

    put(there, 5L);
    EXPECT_EQ(hosts.take(), "put8");
    EXPECT_EQ(get(there), 5);
    EXPECT_EQ(hosts.take(), "get8");
    put(there + 1, some.data(), some.size());
    std::vector<long> back(100);
    get(back.data(), there + 1, back.size());
    EXPECT_EQ(back, some);
    EXPECT_EQ(hosts.take(), "put800 get800");

    const std::array<std::size_t, 2> extents{3, 4};
    put_strided<long, 2>(there + 500, {-10, 2}, some.data(), {4, 1}, extents);
    std::vector<long> box(12);
    get_strided<long, 2>(box.data(), {4, 1}, there + 500, {-10, 2}, extents);
    EXPECT_TRUE(std::equal(box.begin(), box.end(), some.begin()));
    EXPECT_EQ(hosts.take(), "box_put96 box_get96");

    const std::array<std::size_t, 2> indices{3, 900};
    put_indexed<long>(there, indices, some.data());
    get_indexed<long>(back.data(), there, indices);
    EXPECT_EQ(back[1], some[1]);
    EXPECT_EQ(hosts.take(), "put8 put8 get8 get8");

    put_signal(there, some.data(), 2, words[1], 9);
    put_signal(there + 2, 11L, words[1], 2, signal_by::add);
    EXPECT_EQ(hosts.take(), "put_signal16= put_signal8+");
    EXPECT_EQ(words[1].local()->value, 11U);

    access_batch batch;
    batch.put(there, 1L);
    batch.get(back.data(), there);
    EXPECT_EQ(back[0], 1);
    EXPECT_EQ(hosts.take(), "put8 get8");
    EXPECT_EQ(get_async(there).get(), 1);
    EXPECT_EQ(hosts.take(), "get8");
  });
}

TEST_P(far_memory, is_changed_by_name) {
  run_beside_others([](noting_hosts& hosts, const auto& blocks, const auto& words) {
    const ptr<std::uint64_t> word64{reinterpret_cast<std::uint64_t*>(blocks[1].local())};
    *word64.local() = 3;
    EXPECT_EQ(atomic_load(word64), 3U);
    atomic_store(word64, 4);
    EXPECT_EQ(atomic_exchange(word64, 5), 6U);
    EXPECT_EQ(atomic_compare_exchange(word64, 6, 7), 3U);
    EXPECT_EQ(atomic_fetch_add(word64, 7), 8U);
    EXPECT_EQ(hosts.take(), "atomic0/3 atomic1/3 atomic2/3 atomic3/3 atomic4/3");
    const ptr<std::int32_t> word32{reinterpret_cast<std::int32_t*>(blocks[1].local())};
    EXPECT_EQ(atomic_fetch_and(word32, -8), -7);
    EXPECT_EQ(atomic_fetch_or(word32, 1), 2);
    EXPECT_EQ(atomic_fetch_xor(word32, 2), 3);
    EXPECT_EQ(hosts.take(), "atomic5/0 atomic6/0 atomic7/0");
    const ptr<double> real{reinterpret_cast<double*>(blocks[1].local())};
    (void)atomic_fetch_min(real, 1.5);
    (void)atomic_fetch_max(real, 2.5);
    EXPECT_EQ(hosts.take(), "atomic8/4 atomic9/4");
    send_signal(words[1], 3);
    send_signal(words[1], 3, signal_by::add);
    EXPECT_EQ(hosts.take(), "atomic1/3 atomic4/3");
    EXPECT_EQ(error_of([&] { atomic_fetch_add(ptr<int>{reinterpret_cast<int*>(word64.address() + 2)}, 1); }).code,
              errc::misaligned);
    EXPECT_EQ(hosts.take(), "");
    *word64.local() = 20;
    EXPECT_EQ(detail::fetch_change(word64, [](std::uint64_t x) { return 2 * x; }), 20U);
    EXPECT_EQ(*word64.local(), 40U);
    EXPECT_EQ(hosts.take(), "atomic0/3 atomic3/3");
  });
}

TEST_P(far_memory, is_copied_by_way_of_the_one_who_asks) {
  run_beside_others([](noting_hosts& hosts, const auto& blocks, const auto&) {
    const ptr<long> mine = blocks[0];
    std::iota(mine.local(), mine.local() + 20, 1);
    copy(blocks[1], ptr<const long>{mine}, 20);
    EXPECT_EQ(hosts.take(), "put160");
    copy(blocks[2], ptr<const long>{blocks[1]}, 20);
    EXPECT_EQ(hosts.take(), "get160 put160");
    copy(mine + 20, ptr<const long>{blocks[2]}, 20);
    EXPECT_EQ(hosts.take(), "get160");
    EXPECT_TRUE(std::equal(mine.local(), mine.local() + 20, mine.local() + 20));
    copy(mine + 40, ptr<const long>{mine}, 20);
    EXPECT_EQ(hosts.take(), "");
    EXPECT_TRUE(std::equal(mine.local(), mine.local() + 20, mine.local() + 40));
  });
}

TEST_P(far_memory, is_refused_before_it_is_asked_for_where_it_cannot_be) {
  run_beside_others([](noting_hosts& hosts, const auto& blocks, const auto& words) {
    long some[2]{};
    volatile std::size_t huge = SIZE_MAX;
    EXPECT_EQ(error_of([&] { get(some, blocks[1], huge); }).code, errc::bad_address);
    EXPECT_EQ(error_of([&] { put(blocks[1], some, huge / 16); }).code, errc::bad_address);
    const ptr<long> channels{reinterpret_cast<long*>(detail::current->base + detail::current->slice_mask + 1)};
    const auto below = error_of([&] { put(channels, 1L); });
    EXPECT_EQ(below.code, errc::bad_address);
    EXPECT_TRUE(below.says("place 1's segment")) << below.text;
    EXPECT_EQ(error_of([&] { put_signal(blocks[1], 1L, words[2], 1); }).code, errc::bad_address);
    EXPECT_EQ(error_of([&] { put(ptr<long>{some}, 1L); }).code, errc::bad_address);
    const auto touched = error_of([&] { detail::check_access(detail::access::get, blocks[1].address(), 8); });
    EXPECT_EQ(touched.code, errc::bad_address);
    EXPECT_TRUE(touched.says("memory of place 1, which is on another host than place 0")) << touched.text;
    EXPECT_EQ(hosts.take(), "");
  });
}

TEST_P(far_memory, of_this_host_is_not_asked_for) {
  run_beside_others([](noting_hosts& hosts, const auto& blocks, const auto& words) {
    put(blocks[0], 3L);
    EXPECT_EQ(get(blocks[0]), 3);
    put_signal(blocks[0], 4L, words[0], 1);
    EXPECT_EQ(*blocks[0].local(), 4);
    EXPECT_EQ(hosts.take(), "");
  });
}

// The sender's own end stays as it is: places of one host still send each other messages here.
TEST_P(far_memory, is_fetched_and_given_back_where_a_parcel_lies_in_it) {
  run_beside_others([](noting_hosts& hosts, const auto&, const auto&) {
    const std::vector<int> sent(200'000, 3);
    const std::vector<int> got = at(place{1}, [](std::vector<int> v) { return v; }, sent);
    EXPECT_EQ(got, sent);
    EXPECT_EQ(hosts.take(), "get800008 give_back");
    deallocate(ptr<std::byte>{reinterpret_cast<std::byte*>(hosts.given_back)});
    EXPECT_EQ(hosts.take(), "give_back");
    leave_hosts(*detail::current);
    deallocate(ptr<std::byte>{reinterpret_cast<std::byte*>(hosts.given_back)});  // in truth
  });
}

TEST_P(far_memory, is_counted_as_any) {
  run_beside_others(
      [](noting_hosts& hosts, const auto& blocks, const auto&) {
        put(blocks[1], 3L);
        EXPECT_EQ(get(blocks[1]), 3);
        EXPECT_EQ(hosts.take(), "put8 get8");
        put(blocks[0], 3L);
        EXPECT_EQ(hosts.take(), "");
      },
      {.stats = true});
}

INSTANTIATE_TEST_SUITE_P(layouts, far_memory, testing::ValuesIn(test::layouts({3})), test::layout_name);

}  // namespace
}  // namespace situ
