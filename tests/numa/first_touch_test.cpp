// First touch and moves between memories of four kinds, in the guest of guest.py; elsewhere skipped. What is expected
// within a place is printed where it fails, and makes its exit code 1.

#include <situ/base/error.h>
#include <situ/memory/allocate.h>
#include <situ/memory/move.h>
#include <situ/memory/placement.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/launch.h>
#include <situ/runtime/runtime.h>
#include <situ/runtime/team.h>

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace situ;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

std::uint64_t bytes_on(const memory_placement& where, std::uint32_t node) {
  std::uint64_t bytes = 0;
  for (const memory_part& part : where.parts)
    if (part.node == node) bytes += part.bytes;
  return bytes;
}

double percent_used(std::uint32_t node) {
  std::ifstream file{"/sys/devices/system/node/node" + std::to_string(node) + "/meminfo"};
  double total = 1;
  double unused = 0;
  for (std::string line; std::getline(file, line);) {
    (void)std::sscanf(line.c_str(), "Node %*u MemTotal: %lf", &total);
    (void)std::sscanf(line.c_str(), "Node %*u MemFree: %lf", &unused);
  }
  return 100 * (1 - unused / total);
}

void touch(ptr<std::byte> block, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += 4096) block.local()[at] = std::byte{7};
}
bool is_touched(ptr<std::byte> block, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += 4096)
    if (block.local()[at] != std::byte{7}) return false;
  return true;
}

// Whether all has held so far, at this place.
class expected {
 public:
  void operator()(bool holds, const std::string& what) {
    if (holds) return;
    std::fprintf(stderr, "place %u: %s\n", here().index(), what.c_str());
    code_ = 1;
  }
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_ = 0;
};

// Node 2, to its threshold. What the system itself has given back there since the promise is no part of it.
void expect_filled(expected& that) {
  const double percent = percent_used(2);
  that(percent > 84 && percent < 91, "node 2 at " + std::to_string(percent) + " %");
}

// From here on this process may not move what others map.
void give_up_moving() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0) return;
  data[0].effective &= ~(1u << CAP_SYS_NICE);
  (void)!::syscall(SYS_capset, &header, data);
}

class first_touch_guest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/sys/devices/system/node/node3")) GTEST_SKIP() << "not the guest of guest.py";
    std::ofstream{"/tmp/first_touch.toml"} << "[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 0, 1, 3\"\n"
                                              "[[ordering]]\nintent = \"capacity\"\nmemories = \"3\"\n"
                                              "[[ordering]]\nintent = \"only_fast\"\nmemories = \"2\"\n";
    ::setenv("SITU_ORDERINGS", "/tmp/first_touch.toml", 1);
  }
  void TearDown() override { ::unsetenv("SITU_ORDERINGS"); }
};

// 250 and 200 MiB, of which node 2 takes what it has to 90 %: no byte of it twice.
TEST_F(first_touch_guest, two_places_promise_no_room_twice_and_pages_come_where_they_were_promised) {
  const launch_result result = launch(2, [] {
    expected that;
    const double before = percent_used(2);
    const std::uint64_t bytes = (here().index() == 0 ? 150 : 200) * mib;
    const ptr<std::byte> mine = allocate<std::byte>(bytes, intent::bandwidth, {.populate = false});
    that(placement(mine).untouched_bytes == bytes, "something exists: " + placement(mine).to_text());
    that(percent_used(2) < before + 5, "node 2 was filled by a promise");
    const std::vector<ptr<std::byte>> all = all_gather(mine);
    const std::uint64_t others = (here().index() == 0 ? 200 : 150) * mib;
    touch(all[1 - here().index()], others);  // another place than the one that has allocated
    barrier();
    const memory_placement where = placement(mine);
    const std::uint64_t fast = all_reduce(bytes_on(where, 2), std::plus<>{});
    that(where.untouched_bytes == 0, "untouched: " + where.to_text());
    that(fast > 150 * mib, "node 2 has little: " + where.to_text());
    expect_filled(that);
    barrier();
    deallocate(mine);
    return that.code();
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

TEST_F(first_touch_guest, what_is_promised_is_no_room_for_eager_memory) {
  const launch_result result = launch(1, [] {
    expected that;
    const ptr<std::byte> late = allocate<std::byte>(120 * mib, intent::bandwidth, {.populate = false});
    touch(late, 20 * mib);
    const ptr<std::byte> early = allocate<std::byte>(200 * mib, intent::bandwidth);
    touch(late, 120 * mib);
    that(bytes_on(placement(late), 2) == 120 * mib, "late: " + placement(late).to_text());
    that(bytes_on(placement(early), 2) > 60 * mib, "early: " + placement(early).to_text());
    expect_filled(that);
    return that.code();
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

TEST_F(first_touch_guest, blocks_move_between_nodes_also_what_another_place_maps) {
  const launch_result result = launch(2, [] {
    expected that;
    constexpr std::uint64_t bytes = 100 * mib;
    ptr<std::byte> block;
    if (here().index() == 0) block = allocate<std::byte>(bytes, intent::bandwidth);
    block = broadcast(block);
    touch(block, bytes);
    barrier();
    if (here().index() == 0) {
      that(bytes_on(placement(block), 2) == bytes, "at first: " + placement(block).to_text());
      const move_report away = move_block(block, intent::capacity);
      that(away.moved_bytes == bytes && away.held_bytes == 0 && bytes_on(away.now, 3) == bytes, away.to_text());
      that(is_touched(block, bytes), "values are lost");
      give_up_moving();
      const move_report held = move_block(block, intent{"only_fast"});
      that(held.needs_privilege && held.held_bytes == bytes && bytes_on(held.now, 3) == bytes, held.to_text());
      that(is_touched(block, bytes), "values are lost");
    }
    barrier();
    that(is_touched(block, bytes), "values are lost");
    return that.code();
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

TEST_F(first_touch_guest, without_room_a_block_stays_where_it_is) {
  const launch_result result = launch(1, [] {
    expected that;
    const ptr<std::byte> block = allocate<std::byte>(300 * mib, intent::capacity);
    try {
      (void)move_block(block, intent{"only_fast"});
      that(false, "node 2 has not 300 MiB: " + placement(block).to_text());
    } catch (const error& bad) {
      that(bad.code() == errc::out_of_memory, bad.what());
    }
    that(bytes_on(placement(block), 3) == 300 * mib, placement(block).to_text());
    return that.code();
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

TEST_F(first_touch_guest, segments_lie_on_a_node) {
  launch_options how;
  how.memory = "node:3";
  const launch_result result = launch(
      2,
      [] {
        expected that;
        const ptr<std::byte> block = allocate<std::byte>(32 * mib);
        touch(block, 32 * mib);
        that(bytes_on(placement(block), 3) == 32 * mib, placement(block).to_text());
        return that.code();
      },
      how);
  EXPECT_TRUE(result.ok()) << result.message();
}

}  // namespace
