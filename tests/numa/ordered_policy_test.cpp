// The ordered memory policies of kernel/: what "NUMA Distance for Heterogeneous Memory" describes in sections 4.1 to
// 4.4, and what Situ adds: strictness, shared memory, huge pages.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "ordered_policy.h"

namespace {

using namespace situ::guest_support;
using ::testing::HasSubstr;

// Section 4.4's program: the policy, memory, a touch of each page; then what numa_maps says of it.
int program_of_section_4_4(std::uint64_t bytes, int mode) {
  if (set_policy(mode) != 0) return 2;
  std::byte* const blob = map_memory(bytes);
  touch_all(blob, bytes);
  std::ifstream maps{"/proc/self/numa_maps"};
  std::ostringstream start;
  start << std::hex << reinterpret_cast<std::uintptr_t>(blob);
  for (std::string line; std::getline(maps, line);)
    if (line.starts_with(start.str()) && line.find(" order-bandwidth ") != std::string::npos &&
        line.find(" N2=") != std::string::npos && line.find(" N3=") != std::string::npos)
      return 0;
  return 3;
}

TEST_F(ordered_policy, the_program_of_section_4_4) {
  write_list("bandwidth", "2 0 1 3");
  EXPECT_EQ(read_line(list_file(0, "bandwidth_order")), "2 0 1 3");
  situ::os::pipe_ends go_on = situ::os::pipe_ends::make();
  situ::os::pipe_ends said = situ::os::pipe_ends::make();
  ASSERT_TRUE(go_on && said);
  situ::os::child child = situ::test::fork_child([&] {
    go_on.write.close();
    char result = static_cast<char>(program_of_section_4_4(900 * mib, order_bandwidth));
    (void)!::write(said.write.number(), &result, 1);
    (void)!::read(go_on.read.number(), &result, 1);
    return 0;
  });
  said.write.close();
  char result = 99;
  EXPECT_EQ(::read(said.read.number(), &result, 1), 1);
  EXPECT_EQ(result, 0) << "2: no such policy; 3: numa_maps says something else";
  expect_filled({2, 0, 1});
  EXPECT_LT(memory_of(3).percent_used(), 89);
  go_on.write.close();
  EXPECT_EQ(situ::test::code_of(child.wait()), 0);
}

TEST_F(ordered_policy, mbind_takes_them_without_a_nodemask) {
  write_list("capacity", "2 3");
  const std::uint64_t bytes = 300 * mib;
  std::byte* const at = map_memory(bytes);
  ASSERT_EQ(bind_policy(at, bytes, order_capacity), 0);
  touch_all(at, bytes);
  expect_filled({2});
  std::map<int, std::uint64_t> where = ask_nodes(at, bytes);
  EXPECT_EQ(where[2] + where[3], bytes);
  EXPECT_GT(where[3], 50 * mib);
  int mode = 0;
  EXPECT_EQ(::syscall(SYS_get_mempolicy, &mode, nullptr, 0ul, at, MPOL_F_ADDR), 0);
  EXPECT_EQ(mode, order_capacity);
  ::munmap(at, bytes);
}

// Situ's segments are a shared memfd: the policy is the file's then, for every process that maps it.
TEST_F(ordered_policy, shared_memory_goes_along_them_for_all_who_map_it) {
  write_list("bandwidth", "2 3");
  const int file = ::memfd_create("shared", MFD_CLOEXEC);
  const std::uint64_t bytes = 64 * mib;
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(bytes)), 0);
  std::byte* const at = map_memory(bytes, MAP_SHARED, file);
  ASSERT_EQ(bind_policy(at, bytes / 2, order_bandwidth | order_strict), 0);
  EXPECT_EQ(run_child([&] {
              std::byte* const again = map_memory(bytes, MAP_SHARED, file);
              touch_all(again, bytes);
              return 0;
            }),
            0);
  touch_all(at, bytes);
  EXPECT_EQ(ask_nodes(at, bytes / 2)[2], bytes / 2);
  EXPECT_EQ(ask_nodes(at + bytes / 2, bytes / 2)[2], 0u) << "the other half has no policy";
  ::munmap(at, bytes);
  ::close(file);
}

TEST_F(ordered_policy, a_tmpfs_can_be_mounted_with_one) {
  write_list("bandwidth", "2 3");
  ::mkdir("/tmp/ordered", 0700);
  ASSERT_EQ(::mount("none", "/tmp/ordered", "tmpfs", 0, "mpol=order-bandwidth=strict"), 0);
  EXPECT_EQ(::mount("none", "/tmp/ordered", "tmpfs", 0, "mpol=local=strict"), -1);
  EXPECT_EQ(::mount("none", "/tmp/ordered", "tmpfs", 0, "mpol=order-bandwidth:2"), -1) << "no nodes";
  EXPECT_EQ(::mount("none", "/tmp/ordered", "tmpfs", 0, "mpol="), -1);
  const int file = ::open("/tmp/ordered/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::vector<char> data(64 * mib, 'x');
  EXPECT_EQ(::write(file, data.data(), data.size()), static_cast<ssize_t>(data.size()));
  std::byte* const at = map_memory(64 * mib, MAP_SHARED, file);
  touch_all(at, 64 * mib);
  EXPECT_EQ(ask_nodes(at, 64 * mib)[2], 64 * mib);
  ::munmap(at, 64 * mib);
  ::close(file);
  EXPECT_EQ(::umount("/tmp/ordered"), 0);
}

TEST_F(ordered_policy, each_node_has_a_list_for_each_policy) {
  EXPECT_EQ(read_line(list_file(0, "latency_order")), "0 2 1 3") << "by distance";
  EXPECT_EQ(read_line(list_file(1, "normal_order")), "1 0 2 3");
  EXPECT_EQ(read_line(list_file(3, "normal_order")), "3 1 0 2");
  for (const std::string name : order_names) {
    EXPECT_EQ(read_line(list_file(1, name + "_order_fill")), "90");
    EXPECT_EQ(write_line(list_file(1, name + "_order"), " 3  1\n"), 0);
    EXPECT_EQ(read_line(list_file(1, name + "_order")), "3 1");
    EXPECT_NE(read_line(list_file(0, name + "_order")), "3 1");
    EXPECT_EQ(write_line(list_file(1, name + "_order_fill"), "75\n"), 0);
    EXPECT_EQ(read_line(list_file(1, name + "_order_fill")), "75");
    EXPECT_EQ(read_line(list_file(1, name + "_order")), "3 1");
    EXPECT_EQ(write_line(list_file(1, name + "_order"), "\n"), 0);
    EXPECT_EQ(read_line(list_file(1, name + "_order")), "1 0 2 3");
    EXPECT_EQ(read_line(list_file(1, name + "_order_fill")), "75");
  }
}

TEST_F(ordered_policy, bad_lists_are_refused_and_change_nothing) {
  const std::string list = list_file(0, "bandwidth_order");
  ASSERT_EQ(write_line(list, "2 0 1 3"), 0);
  for (const char* bad : {"2 2", "2 9", "2 -1", "x", "2 0 x", "2,0", "2x", "0 1 2 3 4", "99999999999", "2 0 1 3 0"}) {
    EXPECT_EQ(write_line(list, bad), EINVAL) << bad;
    EXPECT_EQ(read_line(list), "2 0 1 3") << bad;
  }
  for (const char* bad : {"0", "101", "-5", "half", "90 90"}) EXPECT_NE(write_line(list + "_fill", bad), 0) << bad;
  EXPECT_EQ(read_line(list + "_fill"), "90");
  struct ::stat of{};
  ASSERT_EQ(::stat(list.c_str(), &of), 0);
  EXPECT_EQ(of.st_mode & 0777, 0644u);
}

TEST_F(ordered_policy, modes_and_flags_that_are_none_are_refused) {
  std::byte* const at = map_memory(page);
  for (const int bad : {6, 9, 15, 20, MPOL_BIND | order_strict, MPOL_LOCAL | order_strict, 0 | order_strict,
                        order_latency | MPOL_F_STATIC_NODES, order_latency | MPOL_F_NUMA_BALANCING}) {
    EXPECT_EQ(bind_policy(at, page, bad), -1) << bad;
    EXPECT_EQ(errno, EINVAL) << bad;
  }
  unsigned long mask = 1;
  EXPECT_EQ(::syscall(SYS_mbind, at, page, order_latency, &mask, 8ul, 0), -1) << "there is no nodemask";
  EXPECT_EQ(bind_policy(at, page, order_normal | order_strict), 0);
  int mode = 0;
  EXPECT_EQ(::syscall(SYS_get_mempolicy, &mode, nullptr, 0ul, at, MPOL_F_ADDR), 0);
  EXPECT_EQ(mode, order_normal | order_strict);
  ::munmap(at, page);
}

TEST_F(ordered_policy, a_threshold_can_be_set) {
  write_list("bandwidth", "2 3", 50);
  std::byte* const at = map_memory(200 * mib);
  ASSERT_EQ(bind_policy(at, 200 * mib, order_bandwidth), 0);
  touch_all(at, 200 * mib);
  expect_filled({2}, 50);
  ::munmap(at, 200 * mib);
}

TEST_F(ordered_policy, an_exhausted_ordering_falls_back_to_the_default_policy) {
  write_list("bandwidth", "2");
  std::byte* const at = map_memory(300 * mib);
  ASSERT_EQ(bind_policy(at, 300 * mib, order_bandwidth), 0);
  touch_all(at, 300 * mib);
  expect_filled({2});
  std::map<int, std::uint64_t> where = ask_nodes(at, 300 * mib);
  EXPECT_GT(where[0] + where[1], 50 * mib) << "the local node, which is not in the list";
  ::munmap(at, 300 * mib);
}

// --- strictness ---

std::uint64_t populated_until_refused(std::byte* at, std::uint64_t bytes, std::uint64_t step = mib) {
  for (std::uint64_t done = 0; done < bytes; done += step)
    if (::madvise(at + done, step, MADV_POPULATE_WRITE) != 0) return errno == ENOMEM ? done : 0;
  return bytes;
}

// How many pages a call that writes them gets before it is refused. The kernel counts free pages in parts by processor,
// so that some hundred turn up after a first refusal.
std::uint64_t written_until_refused(std::byte* at, std::uint64_t pages) {
  const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  std::uint64_t done = 0;
  while (done < pages && ::read(zeros, at + done * page, page) == static_cast<ssize_t>(page)) ++done;
  const int reason = errno;
  ::close(zeros);
  EXPECT_TRUE(done == pages || reason == EFAULT) << reason;
  return done;
}

TEST_F(ordered_policy, strictly_no_room_is_an_error_and_nobody_is_killed) {
  write_list("bandwidth", "2 0");
  for (const int flags : {MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS}) {
    std::byte* const at = map_memory(2000 * mib, flags);
    ASSERT_EQ(bind_policy(at, 2000 * mib, order_bandwidth | order_strict), 0);
    const std::uint64_t got = populated_until_refused(at, 2000 * mib);
    EXPECT_GT(got, 400 * mib);
    EXPECT_LT(got, 640 * mib);
    expect_filled({2, 0});
    EXPECT_EQ(ask_nodes(at, got)[1] + ask_nodes(at, got)[3], 0u);
    // A touch in the process is a SIGBUS; a call that writes there fails.
    const std::uint64_t turned_up = written_until_refused(at + got + 16 * mib, 16 * mib / page);
    std::printf("%llu pages after the first refusal\n", static_cast<unsigned long long>(turned_up));
    EXPECT_LT(turned_up * page, 4 * mib) << "within a hundredth of what the two nodes have";
    expect_filled({2, 0});
    const int status = run_child([&] {
      touch_all(at + got + 64 * mib, 64 * mib);
      return 0;
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
    ::munmap(at, 2000 * mib);
  }
}

// More than all memory, with no threshold: what is kept lets the system live.
TEST_F(ordered_policy, strictly_all_memory_can_be_asked_for) {
  write_list("bandwidth", "2 0 1 3", 100);
  std::byte* const at = map_memory(4000 * mib);
  ASSERT_EQ(bind_policy(at, 4000 * mib, order_bandwidth | order_strict), 0);
  const std::uint64_t got = populated_until_refused(at, 4000 * mib, 64 << 10);
  EXPECT_GT(got, 1200 * mib);
  EXPECT_EQ(run_child([] {
              std::byte* const more = map_memory(4 * mib);  // another program still gets some
              touch_all(more, 4 * mib);
              return 0;
            }),
            0);
  ::munmap(at, 4000 * mib);
}

// Files, pipes and page tables of the kernel.
bool make_things_of_the_kernel() {
  const int file = ::open("/tmp/of_the_kernel", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const situ::os::pipe_ends ends = situ::os::pipe_ends::make();
  const bool made = file >= 0 && ends && ::write(ends.write.number(), "x", 1) == 1;
  ::close(file);
  ::unlink("/tmp/of_the_kernel");
  return made;
}

TEST_F(ordered_policy, strictly_as_the_tasks_policy_the_kernels_own_pages_are_not_refused) {
  write_list("bandwidth", "2", 50);
  EXPECT_EQ(run_child([] {
              std::byte* const at = map_memory(1000 * mib);
              // Once before: pages of the program itself, which fork has left to be copied, would be refused, too.
              if (!make_things_of_the_kernel() || set_policy(order_bandwidth | order_strict) != 0) return 2;
              const std::uint64_t got = populated_until_refused(at, 1000 * mib);
              if (got < 60 * mib || got > 200 * mib) return 3;
              return make_things_of_the_kernel() ? 0 : 4;
            }),
            0);
}

// --- two at a time ---

// Two processes, round by round: both want a megabyte where there is one.
TEST_F(ordered_policy, two_that_race_for_the_last_megabyte_are_both_placed) {
  constexpr int rounds = 1000;
  write_list("bandwidth", "2 3");
  std::byte* const filling = map_memory(400 * mib);
  ASSERT_EQ(bind_policy(filling, 400 * mib, order_bandwidth), 0);
  std::uint64_t filled = 0;
  while (memory_of(2).percent_used() < 89.5) touch_all(filling + filled, mib / 4), filled += mib / 4;
  // How much of the rest the kernel counts as free differs by machine: tried until there is no room for two.
  const auto has_room_for_two = [] {
    std::byte* const tried = map_memory(2 * mib);
    EXPECT_EQ(bind_policy(tried, 2 * mib, order_bandwidth | order_strict), 0);
    touch_all(tried, 2 * mib);
    const bool has_room = ask_nodes(tried, 2 * mib)[3] == 0;
    ::munmap(tried, 2 * mib);
    return has_room;
  };
  while (filled < 400 * mib && has_room_for_two()) touch_all(filling + filled, mib / 4), filled += mib / 4;
  struct meeting {
    std::atomic<int> arrived{0};
    std::atomic<int> bad{0};
    std::atomic<int> spilled{0};
  };
  auto* const both = new (map_memory(page, MAP_SHARED | MAP_ANONYMOUS)) meeting;
  const auto race = [&] {
    for (int round = 0; round < rounds; ++round) {
      std::byte* const at = map_memory(mib);
      if (bind_policy(at, mib, order_bandwidth | order_strict) != 0) return 2;
      both->arrived.fetch_add(1);
      while (both->arrived.load() < 2 * round + 2) std::this_thread::yield();
      if (::madvise(at, mib, MADV_POPULATE_WRITE) != 0) both->bad.fetch_add(1);
      std::map<int, std::uint64_t> where = ask_nodes(at, mib);
      if (where[2] + where[3] != mib) both->bad.fetch_add(1);
      if (where[3] != 0) both->spilled.fetch_add(1);
      ::munmap(at, mib);
    }
    return 0;
  };
  situ::os::child other = situ::test::fork_child(race);
  EXPECT_EQ(race(), 0);
  EXPECT_EQ(situ::test::code_of(other.wait()), 0);
  EXPECT_EQ(both->bad.load(), 0);
  EXPECT_GT(both->spilled.load(), rounds / 10) << "there was room for both";
  expect_filled({2});
  ::munmap(filling, 400 * mib);
  ::munmap(both, page);
}

TEST_F(ordered_policy, two_that_compete_are_both_placed_in_order) {
  write_list("bandwidth", "2 0 1 3");
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    auto* const done = new (map_memory(page, MAP_SHARED | MAP_ANONYMOUS)) std::atomic<int>{0};
    std::vector<situ::os::child> children;
    for (int i = 0; i < 2; ++i)
      children.push_back(situ::test::fork_child([&] {
        if (set_policy(order_bandwidth) != 0) return 2;
        touch_all(map_memory(500 * mib), 500 * mib);
        done->fetch_add(1);
        for (;;) ::pause();
      }));
    for (int waited = 0; done->load() < 2 && waited < 3000; ++waited) ::usleep(10000);
    EXPECT_EQ(done->load(), 2);
    expect_filled({2, 0, 1});
    children.clear();
    ::munmap(done, page);
  }
}

TEST_F(ordered_policy, lists_may_be_written_while_others_allocate) {
  std::vector<situ::os::child> writers;
  for (const char* list : {"2 3", "3 1 0"})
    writers.push_back(situ::test::fork_child([list] {
      for (int i = 0; i < 3000; ++i)
        if (write_line(list_file(i % 2, "bandwidth_order"), list) != 0 ||
            write_line(list_file(i % 2, "bandwidth_order_fill"), i % 3 == 0 ? "80" : "90") != 0)
          return false;
      return true;
    }));
  for (int i = 0; i < 40; ++i) {
    std::byte* const at = map_memory(8 * mib);
    ASSERT_EQ(bind_policy(at, 8 * mib, order_bandwidth | (i % 2 != 0 ? order_strict : 0)), 0);
    touch_all(at, 8 * mib);
    ::munmap(at, 8 * mib);
  }
  for (situ::os::child& writer : writers) EXPECT_EQ(situ::test::code_of(writer.wait()), 0);
  EXPECT_THAT((std::vector<std::string>{"2 3", "3 1 0"}),
              ::testing::Contains(read_line(list_file(0, "bandwidth_order"))));
}

// --- huge pages ---

TEST_F(ordered_policy, transparent_huge_pages_go_along_them) {
  write_list("bandwidth", "2 3");
  const std::uint64_t bytes = 300 * mib;
  std::byte* const raw = map_memory(bytes + 2 * mib);
  std::byte* const at = raw + (2 * mib - reinterpret_cast<std::uintptr_t>(raw) % (2 * mib));
  ASSERT_EQ(::madvise(at, bytes, MADV_HUGEPAGE), 0);
  ASSERT_EQ(bind_policy(at, bytes, order_bandwidth | order_strict), 0);
  touch_all(at, bytes);
  expect_filled({2});
  EXPECT_EQ(ask_nodes(at, bytes)[2] + ask_nodes(at, bytes)[3], bytes);
  std::ifstream smaps{"/proc/self/smaps"};
  unsigned long huge_kb = 0;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long kb = 0;
    if (std::sscanf(line.c_str(), "AnonHugePages: %lu", &kb) == 1) huge_kb += kb;
  }
  EXPECT_GT(huge_kb, 200u << 10);
  ::munmap(raw, bytes + 2 * mib);
}

TEST_F(ordered_policy, huge_pages_of_the_pool_are_taken_in_order) {
  const auto pool = [](unsigned node) { return list_file(node, "hugepages/hugepages-2048kB/nr_hugepages"); };
  for (const unsigned node : {2u, 3u}) ASSERT_EQ(write_line(pool(node), "8"), 0);
  write_list("bandwidth", "3 2");
  std::byte* const at = map_memory(24 * mib, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB);
  ASSERT_EQ(bind_policy(at, 24 * mib, order_bandwidth), 0);
  touch_all(at, 24 * mib);
  EXPECT_EQ(ask_nodes(at, 16 * mib)[3], 16 * mib);
  EXPECT_EQ(ask_nodes(at + 16 * mib, 8 * mib)[2], 8 * mib);
  ::munmap(at, 24 * mib);

  write_list("bandwidth", "3");
  std::byte* const strict = map_memory(24 * mib, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB);
  ASSERT_EQ(bind_policy(strict, 24 * mib, order_bandwidth | order_strict), 0);
  const int status = run_child([&] {
    touch_all(strict, 24 * mib);
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) << status;
  ::munmap(strict, 24 * mib);
  for (const unsigned node : {2u, 3u}) EXPECT_EQ(write_line(pool(node), "0"), 0);
}

// --- limits of others ---

TEST_F(ordered_policy, cpusets_are_respected) {
  write_list("bandwidth", "2 0 1 3");
  ::mkdir("/tmp/groups", 0700);
  ASSERT_EQ(::mount("none", "/tmp/groups", "cgroup2", 0, nullptr), 0);
  ASSERT_EQ(write_line("/tmp/groups/cgroup.subtree_control", "+cpuset"), 0);
  ::mkdir("/tmp/groups/two", 0700);
  ASSERT_EQ(write_line("/tmp/groups/two/cpuset.mems", "0-1"), 0);
  const int status = run_child([] {
    if (write_line("/tmp/groups/two/cgroup.procs", std::to_string(::getpid())) != 0) return 2;
    std::byte* const at = map_memory(1500 * mib);
    if (bind_policy(at, 1500 * mib, order_bandwidth | order_strict) != 0) return 3;
    const std::uint64_t got = populated_until_refused(at, 1500 * mib);
    std::map<int, std::uint64_t> where = ask_nodes(at, got);
    if (got < 400 * mib || where[2] + where[3] != 0) return 4;
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(::rmdir("/tmp/groups/two"), 0);
  EXPECT_EQ(::umount("/tmp/groups"), 0);
}

TEST_F(ordered_policy, mbind_moves_what_lies_on_none_of_the_orderings_nodes) {
  write_list("bandwidth", "2 3");
  std::byte* const at = map_memory(16 * mib);
  touch_all(at, 16 * mib);
  EXPECT_EQ(bind_policy(at, 16 * mib, order_bandwidth, MPOL_MF_STRICT), -1) << "they are on the local node";
  EXPECT_EQ(bind_policy(at, 16 * mib, order_bandwidth, MPOL_MF_MOVE), 0);
  EXPECT_EQ(ask_nodes(at, 16 * mib)[2], 16 * mib);
  EXPECT_EQ(bind_policy(at, 16 * mib, order_bandwidth, MPOL_MF_STRICT), 0);
  ::munmap(at, 16 * mib);
}

// --- Situ on such a kernel ---

TEST_F(ordered_policy, situ_leaves_an_ordering_to_the_kernel_that_has_it) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 0, 1, 3\"\n");
  for (const bool is_kernels : {true, false}) {
    write_list("bandwidth", is_kernels ? "2 0 1 3" : "3 1 0 2");
    // In a process of its own, which reads the lists anew.
    holder one{900 * mib, &situ::intent::bandwidth};
    const told where = one.listen();
    EXPECT_EQ(where.error, "");
    EXPECT_EQ(where.sum(), 900 * mib);
    EXPECT_EQ(where.by_kernel_bytes, is_kernels ? 900 * mib : 0);
    expect_filled({2, 0, 1});
    EXPECT_LT(memory_of(3).percent_used(), 89);
    EXPECT_EQ(one.end(), 0);
  }
}

TEST_F(ordered_policy, situ_by_the_kernel_two_compete_and_no_room_is_an_error) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 0\"\n");
  write_list("bandwidth", "2 0");
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    holder first{200 * mib, &situ::intent::bandwidth};
    holder second{200 * mib, &situ::intent::bandwidth};
    const told one = first.listen();
    const told other = second.listen();
    EXPECT_EQ(one.error + other.error, "");
    EXPECT_EQ(one.by_kernel_bytes + other.by_kernel_bytes, 400 * mib);
    expect_filled({2});
    holder third{300 * mib, &situ::intent::bandwidth};
    EXPECT_THAT(third.listen().error, HasSubstr("no memory of its ordering has room"));
    EXPECT_EQ(first.end() | second.end() | third.end(), 0);
  }
}

// What is promised to who touches it first goes along the list as it is then: others have taken what was chosen.
TEST_F(ordered_policy, situ_leaves_first_touch_to_the_kernel_too) {
  order("[[ordering]]\nintent = \"bandwidth\"\nmemories = \"2, 0, 1, 3\"\n");
  write_list("bandwidth", "2 0 1 3");
  const int status = run_child([] {
    char name[] = "numa_guest_test";
    char* arguments[] = {name, nullptr};
    situ::runtime rt{1, arguments};
    const situ::ptr<std::byte> block =
        situ::allocate<std::byte>(200 * mib, situ::intent::bandwidth, {.populate = false});
    if (situ::placement(block).by_kernel_bytes != 200 * mib) return 2;
    std::byte* const of_others = map_memory(100 * mib);
    if (bind_policy(of_others, 100 * mib, order_bandwidth) != 0) return 3;
    touch_all(of_others, 100 * mib);
    touch_all(block.local(), 200 * mib);
    std::map<int, std::uint64_t> where = ask_nodes(block.local(), 200 * mib);
    if (where[2] + where[0] != 200 * mib || where[0] < 60 * mib) return 4;
    const double used = memory_of(2).percent_used();
    return used > 89 && used < 91 ? 0 : 5;
  });
  EXPECT_EQ(status, 0) << "4: elsewhere than on nodes 2 and 0; 5: node 2 is not filled to its threshold";
}

// One by the kernel's policy, the other by Situ in user space: both hold the threshold.
TEST_F(ordered_policy, one_of_each_mechanism_compete) {
  write_list("bandwidth", "2 0 1 3");
  write_list("capacity", "2 3");  // not what Situ orders for it
  order("[[ordering]]\nintent = \"capacity\"\nmemories = \"2, 0, 1, 3\"\nfill = 89.5\n");
  holder in_user_space{500 * mib, &situ::intent::capacity};
  std::byte* const at = map_memory(500 * mib);
  ASSERT_EQ(bind_policy(at, 500 * mib, order_bandwidth | order_strict), 0);
  touch_all(at, 500 * mib);
  const told where = in_user_space.listen();
  EXPECT_EQ(where.error, "");
  EXPECT_EQ(where.by_kernel_bytes, 0u);
  expect_filled({2, 0, 1});
  EXPECT_EQ(in_user_space.end(), 0);
  ::munmap(at, 500 * mib);
}

}  // namespace
