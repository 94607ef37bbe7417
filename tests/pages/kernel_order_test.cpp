// Placing by the kernel's own policies: a modelled kernel that has them. (tests/numa runs a real one.)
#include "pages/kernel_order.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "pages/placer.h"

namespace situ {
namespace {

namespace fs = std::filesystem;
using detail::kernel_order;
using detail::kernel_orders;
using detail::placement_calls;
using detail::placement_outcome;
using detail::placement_report;
using detail::placer;
using detail::spill_ordering;
using testing::ElementsAre;

constexpr std::uint64_t MiB = 1 << 20;
constexpr std::uint64_t page = 4096;
constexpr std::uintptr_t base = std::uintptr_t{1} << 40;

// Three nodes of 64 MiB. The range is at `base`, where the process has none.
struct ordering_kernel {
  static constexpr std::uint64_t total = 64 * MiB;
  std::uint64_t free[3] = {total, total, total};
  kernel_orders orders;
  std::vector<int> at = std::vector<int>(200 * MiB / page, -ENOENT);
  std::map<std::size_t, int> policy;  // from this page on: a mode, | strict; or -1 - node where that is preferred
  std::uint32_t node_here = 0;
  const char* processors = "0";                      // that the thread may run on
  std::size_t node_changes_after = ~std::size_t{0};  // so many chunks
  int preferences = 0;
  int move_error = 0;
  std::size_t looked_at = 0;  // pages

  static std::size_t index(const void* address) { return (reinterpret_cast<std::uintptr_t>(address) - base) / page; }
  void set_policy(const void* address, std::size_t bytes, int what) {
    const std::size_t end = index(address) + bytes / page;
    const auto after = policy.upper_bound(end);
    const int then = after == policy.begin() ? 0 : std::prev(after)->second;
    policy.erase(policy.lower_bound(index(address)), policy.lower_bound(end));
    policy[index(address)] = what;
    policy.emplace(end, then);
  }
  int policy_of(std::size_t p) const {
    const auto after = policy.upper_bound(p);
    return after == policy.begin() ? 0 : std::prev(after)->second;
  }
  bool fault(std::size_t p) {
    if (at[p] >= 0) return true;
    const int by = policy_of(p);
    if (by < 0) return take(p, static_cast<std::uint32_t>(-1 - by), 0) || take(p, 0, 0) || take(p, 1, 0);
    for (const kernel_order& row : orders.rows())
      if (row.from == node_here && row.mode == (by & 0xfff))
        for (const std::uint32_t node : row.nodes)
          if (take(p, node, total * (100 - row.fill_percent) / 100)) return true;
    return (by & 0x1000) == 0 && take(p, 0, 0);
  }
  bool take(std::size_t p, std::uint32_t node, std::uint64_t kept) {
    if (free[node] < kept + page) return false;
    free[node] -= page;
    at[p] = static_cast<int>(node);
    return true;
  }
};
ordering_kernel* kernel = nullptr;

const placement_calls ordered_calls{
    .find_meminfo = [](std::uint32_t) noexcept { return 0; },
    .read_meminfo = [](std::uint32_t node, char* text, std::size_t bytes) noexcept -> ssize_t {
      std::snprintf(text, bytes, "Node 0 MemTotal: %llu kB\nNode 0 MemFree: %llu kB\n",
                    static_cast<unsigned long long>(ordering_kernel::total >> 10),
                    static_cast<unsigned long long>(kernel->free[node] >> 10));
      return static_cast<ssize_t>(std::strlen(text));
    },
    .kept_free = [](std::uint32_t) noexcept { return std::uint64_t{0}; },
    .prefer =
        [](void* address, std::size_t bytes, std::uint32_t node) noexcept {
          ++kernel->preferences;
          kernel->set_policy(address, bytes, -1 - static_cast<int>(node));
          return 0;
        },
    .advise =
        [](void* address, std::size_t bytes, int) noexcept {
          const std::size_t first = ordering_kernel::index(address);
          for (std::size_t p = first; p < first + bytes / page; ++p) {
            if (kernel->fault(p)) continue;
            errno = ENOMEM;
            return -1;
          }
          if (kernel->node_changes_after-- == 1) kernel->node_here = 1;
          return 0;
        },
    .touch = [](void*, std::size_t) noexcept {},
    .move =
        [](std::size_t pages, void** addresses, const int*, int* status) noexcept {
          for (std::size_t i = 0; i < pages; ++i) status[i] = kernel->at[ordering_kernel::index(addresses[i])];
          kernel->looked_at += pages;
          errno = kernel->move_error;
          return kernel->move_error == 0 ? 0 : -1;
        },
    .ordered_policies = []() noexcept -> const kernel_orders& { return kernel->orders; },
    .bind_ordered =
        [](void* address, std::size_t bytes, int mode, bool is_strict) noexcept {
          kernel->set_policy(address, bytes, mode | (is_strict ? 0x1000 : 0));
          return 0;
        },
    .node_here = []() noexcept { return kernel->node_here; },
    .processors = [] { return machine::processor_set::parse(kernel->processors); }};

class by_kernel : public testing::Test {
 protected:
  by_kernel() {
    kernel = &model;
    model.orders = kernel_orders{{{0, "latency", 16, {0, 2, 1}, 90, of("0-3")},
                                  {0, "bandwidth", 17, {2, 0}, 90, of("0-3")},
                                  {1, "latency", 16, {0, 2, 1}, 90, of("4-7")},
                                  {1, "bandwidth", 17, {1, 2}, 90, of("4-7")},
                                  {2, "latency", 16, {2, 0, 1}, 90, of("")}}};
  }
  ~by_kernel() override { kernel = nullptr; }
  static machine::processor_set of(const char* list) { return machine::processor_set::parse(list); }
  static spill_ordering in_order(std::vector<std::uint32_t> nodes, double fill = 0.9) {
    spill_ordering made;
    for (const std::uint32_t node : nodes) made.steps.push_back({{.node = node, .fill = fill}});
    return made;
  }
  static placement_report place(const spill_ordering& ordering, std::uint64_t bytes) {
    return placer{ordering, ordered_calls}.place(reinterpret_cast<void*>(base), bytes);
  }
  std::uint64_t bytes_on(int node) const {
    return page * static_cast<std::uint64_t>(std::count(model.at.begin(), model.at.end(), node));
  }
  ordering_kernel model;
};

TEST_F(by_kernel, an_ordering_that_the_kernel_has_is_left_to_it) {
  const placement_report report = place(in_order({2, 0}), 100 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::placed);
  EXPECT_EQ(report.placed_bytes, 100 * MiB);
  EXPECT_EQ(report.by_kernel_bytes, 100 * MiB);
  EXPECT_EQ(model.preferences, 0);
  EXPECT_EQ(report.meminfo_reads, 0u);
  EXPECT_EQ(report.memories[0].placed_bytes, bytes_on(2));
  EXPECT_EQ(report.memories[1].placed_bytes, bytes_on(0));
  EXPECT_NEAR(static_cast<double>(bytes_on(2)), 0.9 * 64 * MiB, page);
  EXPECT_LE(model.looked_at, 1u + 50 + 512) << "one page of each chunk, and all of the one that lies on both";
  EXPECT_EQ(model.policy_of(0), 17) << "strict no longer";
  EXPECT_EQ(model.policy_of(100 * MiB / page - 1), 17);
}

TEST_F(by_kernel, others_are_placed_in_user_space) {
  spill_ordering turns = in_order({2});
  turns.steps[0].push_back({.node = 0});
  detail::byte_budget part{.bytes = 8 * MiB};
  spill_ordering budget = in_order({2, 0});
  budget.steps[0][0].budget = &part;
  spill_ordering fills = in_order({2, 0});
  fills.steps[1][0].fill = 0.8;
  for (const spill_ordering& each :
       {in_order({2, 1}), in_order({2}), in_order({2, 0, 1}), in_order({2, 0}, 0.8), turns, budget, fills}) {
    model = {.orders = model.orders};
    const placement_report report = place(each, 4 * MiB);
    EXPECT_EQ(report.outcome, placement_outcome::placed);
    EXPECT_EQ(report.by_kernel_bytes, 0u);
    EXPECT_GT(model.preferences, 0);
  }
}

TEST_F(by_kernel, what_is_promised_of_a_node_is_kept_from_its_policy) {
  struct : detail::promises {
    detail::promise_sums all;
    detail::promise_sums& sums() noexcept override { return all; }
    void settle(detail::residence_call) noexcept override {}
  } promised;
  const placer places{in_order({2, 0}), ordered_calls, &promised};
  promised.all.bytes[0] = 20 * MiB;
  const placement_report report = places.place(reinterpret_cast<void*>(base), 100 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::no_room);
  EXPECT_EQ(report.by_kernel_bytes, 0u);
  EXPECT_LE(bytes_on(0), ordering_kernel::total * 9 / 10 - 20 * MiB);
  promised.all.bytes[0] = 0;
  model = {.orders = model.orders};
  EXPECT_EQ(places.place(reinterpret_cast<void*>(base), 100 * MiB).by_kernel_bytes, 100 * MiB);
}

// Chunks that begin and end amid 2 MiB, more of them than are asked for at once, and two of them on both nodes.
TEST_F(by_kernel, where_chunks_went_is_told_to_the_byte_whatever_their_number) {
  const auto at = reinterpret_cast<void*>(base + 5 * page);
  for (const std::uint64_t bytes : {page, 3 * MiB, 2 * MiB - 5 * page, 115 * MiB}) {
    SCOPED_TRACE(bytes);
    model = {.orders = model.orders};
    const placement_report report = placer{in_order({2, 0}), ordered_calls}.place(at, bytes);
    EXPECT_EQ(report.by_kernel_bytes, bytes);
    EXPECT_EQ(report.memories[0].placed_bytes, bytes_on(2));
    EXPECT_EQ(report.memories[1].placed_bytes, bytes_on(0));
  }
}

// --- first touch ---

struct one_promise : detail::promises {
  detail::promise_sums all;
  std::vector<detail::promise_map::cell> cells =
      std::vector<detail::promise_map::cell>(detail::promise_map::cells_for(200 * MiB));
  detail::promise_map notes{reinterpret_cast<std::byte*>(base), 200 * MiB, cells.data(), all};
  detail::promise_sums& sums() noexcept override { return all; }
  void settle(detail::residence_call) noexcept override {}
};

TEST_F(by_kernel, what_comes_at_first_touch_goes_by_its_policy) {
  one_promise promised;
  const placer places{in_order({2, 0}), ordered_calls, &promised};
  const placement_report report = places.promise(reinterpret_cast<void*>(base), 100 * MiB, promised.notes);
  EXPECT_EQ(report.outcome, placement_outcome::placed);
  EXPECT_EQ(report.by_kernel_bytes, 100 * MiB);
  EXPECT_EQ(model.preferences, 0);
  EXPECT_EQ(promised.all.bytes[2].load() + promised.all.bytes[0].load(), 100 * MiB);
  EXPECT_EQ(model.policy_of(0), 17) << "not strict";
  model.free[2] = 10 * MiB;  // others have been there since
  for (std::size_t p = 0; p < 40 * MiB / page; ++p) ASSERT_TRUE(model.fault(p));
  EXPECT_NEAR(static_cast<double>(model.free[2]), 0.1 * 64 * MiB, page);
  EXPECT_EQ(bytes_on(1), 0u);
}

TEST_F(by_kernel, first_touch_is_the_kernels_only_where_all_who_may_touch_have_that_list) {
  one_promise promised;
  const auto by_kernel_bytes = [&](std::vector<std::uint32_t> nodes, const char* processors) {
    model = {.orders = model.orders, .processors = processors};
    const placer places{in_order(std::move(nodes)), ordered_calls, &promised};
    const placement_report report = places.promise(reinterpret_cast<void*>(base), 4 * MiB, promised.notes);
    EXPECT_EQ(report.outcome, placement_outcome::placed);
    EXPECT_EQ(model.preferences == 0, report.by_kernel_bytes != 0);
    promised.notes.withdraw(reinterpret_cast<std::byte*>(base), 4 * MiB);
    return report.by_kernel_bytes;
  };
  EXPECT_EQ(by_kernel_bytes({2, 0}, "1-2"), 4 * MiB);
  EXPECT_EQ(by_kernel_bytes({2, 0}, "3-4"), 0u) << "node 1 has another list";
  EXPECT_EQ(by_kernel_bytes({0, 2, 1}, "3-4"), 4 * MiB);
  EXPECT_EQ(by_kernel_bytes({2, 0, 1}, "0-7"), 0u) << "of a node without processors";
  EXPECT_EQ(by_kernel_bytes({0, 2, 1}, "9"), 0u) << "a processor that no node has";
}

// What no memory has room for is refused before anybody touches it, or the last memory takes it.
TEST_F(by_kernel, without_room_nothing_more_is_promised) {
  one_promise promised;
  spill_ordering ordering = in_order({2, 0});
  placement_report report =
      placer{ordering, ordered_calls, &promised}.promise(reinterpret_cast<void*>(base), 150 * MiB, promised.notes);
  EXPECT_EQ(report.outcome, placement_outcome::no_room);
  EXPECT_NEAR(static_cast<double>(report.placed_bytes), 0.9 * 128 * MiB, MiB);
  promised.notes.withdraw(reinterpret_cast<std::byte*>(base), 150 * MiB);
  ordering.policy = detail::when_full::last_memory;
  model = {.orders = model.orders};
  report = placer{ordering, ordered_calls, &promised}.promise(reinterpret_cast<void*>(base), 120 * MiB, promised.notes);
  EXPECT_EQ(report.outcome, placement_outcome::placed);
  EXPECT_EQ(report.by_kernel_bytes + report.beyond_bytes, 120 * MiB);
  EXPECT_GT(report.beyond_bytes, 4 * MiB);
  EXPECT_EQ(model.policy_of(0), 17);
  EXPECT_EQ(model.policy_of(120 * MiB / page - 1), -1) << "node 0, the last of the ordering";
}

TEST_F(by_kernel, no_room_is_an_error_with_the_fills) {
  const placement_report report = place(in_order({2, 0}), 150 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::no_room);
  EXPECT_NEAR(static_cast<double>(report.placed_bytes), 0.9 * 128 * MiB, 2 * MiB);
  EXPECT_THAT(format_fills(report), testing::HasSubstr("by the kernel's policy, no memory has room for more"));
  EXPECT_THAT(format_fills(report), testing::HasSubstr("node 2"));
}

TEST_F(by_kernel, the_last_memory_takes_the_rest_in_user_space) {
  spill_ordering ordering = in_order({2, 0});
  ordering.policy = detail::when_full::last_memory;
  const placement_report report = place(ordering, 120 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::placed);
  EXPECT_EQ(report.placed_bytes, 120 * MiB);
  EXPECT_LT(report.by_kernel_bytes, 120 * MiB);
  EXPECT_GT(report.by_kernel_bytes, 110 * MiB);
  EXPECT_EQ(bytes_on(1), 0u);
}

TEST_F(by_kernel, a_thread_that_comes_to_a_node_with_another_list_goes_on_in_user_space) {
  model.node_changes_after = 3;
  const placement_report report = place(in_order({2, 0}), 20 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::placed);
  EXPECT_EQ(report.by_kernel_bytes, 6 * MiB);
  EXPECT_EQ(report.placed_bytes, 20 * MiB);
  EXPECT_EQ(bytes_on(2), 20 * MiB);
  EXPECT_GT(model.preferences, 0);
}

TEST_F(by_kernel, what_cannot_be_asked_for_its_pages_is_placed_in_user_space) {
  model.move_error = EPERM;
  const placement_report report = place(in_order({2, 0}), 4 * MiB);
  EXPECT_EQ(report.by_kernel_bytes, 0u);
  EXPECT_EQ(report.placed_bytes, 4 * MiB);
  EXPECT_FALSE(report.is_checked);
}

// --- the kernel's files ---

class kernel_files : public testing::Test {
 protected:
  kernel_files() : folder{fs::temp_directory_path() / ("situ_kernel_order." + std::to_string(::getpid()))} {}
  ~kernel_files() override { fs::remove_all(folder); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream{folder / name} << text;
  }
  void write_all(const std::string& node, const std::string& list) {
    for (const char* name : {"latency", "bandwidth", "capacity", "normal"}) {
      write(node + "/" + name + "_order", list);
      write(node + "/" + name + "_order_fill", "90\n");
    }
  }
  fs::path folder;
};

TEST_F(kernel_files, lists_are_read_for_each_node) {
  write_all("node0", "0\n");
  write_all("node1", "0\n");
  write("node1/bandwidth_order_fill", "75\n");
  write("node0/cpulist", "0-1,4\n");
  write("node1/cpulist", "\n");
  write("nodes/latency_order", "0\n");
  const kernel_orders all = kernel_orders::read(folder);
  ASSERT_EQ(all.rows().size(), 8u);
  EXPECT_EQ(all.rows()[0].from, 0u);
  EXPECT_EQ(all.rows()[0].name, "latency");
  EXPECT_EQ(all.rows()[0].mode, 16);
  EXPECT_EQ(all.rows()[3].mode, 19);
  EXPECT_THAT(all.rows()[5].nodes, ElementsAre(0));
  EXPECT_EQ(all.rows()[5].fill_percent, 75u);
  EXPECT_EQ(all.rows()[0].processors.to_string(), "0-1,4");
  EXPECT_TRUE(all.rows()[5].processors.empty());
  const std::vector<std::uint32_t> nodes{0};
  ASSERT_NE(all.find(1, nodes, 0.75), nullptr);
  EXPECT_EQ(all.find(1, nodes, 0.75)->name, "bandwidth");
  EXPECT_EQ(all.find(1, nodes, 0.5), nullptr);
  EXPECT_EQ(all.find(7, nodes, 0.9), nullptr);
}

TEST_F(kernel_files, a_kernel_without_them_has_none) {
  write("node0/meminfo", "");
  EXPECT_TRUE(kernel_orders::read(folder).empty());
  EXPECT_TRUE(kernel_orders::read(folder / "nowhere").empty());
}

TEST_F(kernel_files, what_is_no_list_is_none) {
  write_all("node0", "0\n");
  for (const char* bad : {"zero", "0 x", "-1", ""}) {
    write("node0/normal_order", bad);
    EXPECT_TRUE(kernel_orders::read(folder).empty()) << bad;
  }
}

}  // namespace
}  // namespace situ
