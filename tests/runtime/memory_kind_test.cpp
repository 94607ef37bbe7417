// What the segments of a job may lie in: the same job on every kind, and what is said where one cannot be had.

#include <situ/base/error.h>
#include <situ/fabric/rma.h>
#include <situ/memory/allocate.h>
#include <situ/memory/placement.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/launch.h>
#include <situ/runtime/runtime.h>
#include <situ/runtime/team.h>

#include "pages/page_file.h"
#include "support/forked.h"
#include "support/memory_kinds.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace situ;

constexpr std::size_t mib = std::size_t{1} << 20;

// A folder of its own, which must be empty at the end.
class folder {
 public:
  folder() {
    std::string name = testing::TempDir() + "situ-kind-XXXXXX";
    path = ::mkdtemp(name.data());
  }
  ~folder() {
    EXPECT_TRUE(fs::is_empty(path)) << path;
    fs::remove_all(path);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  std::string path;
};

// Takes and touches memory until there is no more: an error says so, not a signal.
int fill_all() {
  try {
    for (;;) std::memset(allocate<std::byte>(2 * mib).local(), 1, 2 * mib);
  } catch (const error& bad) {
    return bad.code() == errc::out_of_memory ? 0 : 6;
  }
}

// Two places that allocate, fill, read each other's and give back, twice.
void expect_job_works(const std::string& kind, std::uint64_t budget = 0, std::size_t bytes = 8 * mib) {
  launch_options how;
  how.memory = kind;
  how.memory_budget = budget;
  how.time_limit = std::chrono::seconds{60};
  const launch_result result = launch(
      2,
      [bytes] {
        for (int round = 0; round < 2; ++round) {
          const ptr<std::byte> large = allocate<std::byte>(bytes);
          const ptr<int> small = allocate<int>(100);
          std::memset(large.local(), 1 + static_cast<int>(here().index()), bytes);
          small.local()[99] = 7;
          const std::vector<ptr<std::byte>> all = all_gather(large);
          const ptr<std::byte> other = all[1 - here().index()];
          if (get(other + static_cast<std::ptrdiff_t>(bytes - 1)) != std::byte(2 - here().index())) return 2;
          if (small.local()[99] != 7) return 3;
          barrier();
          deallocate(large);
          deallocate(small);
        }
        try {
          (void)allocate<std::byte>(std::size_t{1} << 34);
          return memory_statistics().capacity_bytes > std::size_t{1} << 34 ? 0 : 4;
        } catch (const error& bad) {
          return bad.code() == errc::out_of_memory ? 0 : 5;
        }
      },
      how);
  EXPECT_TRUE(result.ok()) << kind << ": " << result.message() << " " << result.exit_code();
}

std::string refusal_of(const std::string& kind) {
  try {
    launch_options how;
    how.memory = kind;
    (void)launch(2, [] {}, how);
  } catch (const error& bad) {
    return std::string{bad.message()};
  }
  return "none";
}

std::string device_of(const test::kinds_of_memory& kinds) { return "device:" + kinds.device().path; }

// One place in memory of this kind.
void expect_ends_well(const std::string& kind, const std::function<int()>& body, std::uint32_t places = 1) {
  launch_options how;
  how.memory = kind;
  const launch_result result = launch(places, body, how);
  EXPECT_TRUE(result.ok()) << result.message() << " " << result.exit_code();
}

TEST(memory_kind, segments_lie_in_a_file_without_a_name) {
  const folder scratch;
  expect_job_works("file:" + scratch.path);
  expect_job_works("file:" + scratch.path + "/segments");
}

TEST(memory_kind, a_program_alone_reads_the_environment) {
  char name[] = "memory_kind_test";
  char* arguments[] = {name, nullptr};
  char** given = arguments;
  int count = 1;
  ::setenv("SITU_MEMORY", "intent:capacity", 1);
  {
    const runtime rt{count, given};
    EXPECT_EQ(placement(allocate<std::byte>(mib)).intent, "capacity");
  }
  ::setenv("SITU_MEMORY", "paper", 1);
  EXPECT_THROW((runtime{count, given}), error);
  ::unsetenv("SITU_MEMORY");
}

bool is_open(std::string_view name) {
  for (const auto& each : fs::directory_iterator{"/proc/self/fd"}) {
    std::error_code is_gone;  // the one that this reads
    if (fs::read_symlink(each.path(), is_gone).string().find(name) != std::string::npos) return true;
  }
  return false;
}

TEST(memory_kind, a_place_does_not_hold_what_its_launcher_shows_to_others) {
  const test::kinds_of_memory kinds{150 * mib};
  for (const std::string& kind : {"file:" + kinds.file().path, device_of(kinds)})
    expect_ends_well(kind, [] { return is_open("situ-job-is:") ? 1 : 0; });
}

TEST(memory_kind, segments_lie_on_a_node) {
  expect_job_works("node:0");
  expect_job_works("");
}

TEST(memory_kind, segments_lie_where_an_intent_has_them) {
  expect_ends_well("intent:capacity", [] { return placement(allocate<std::byte>(mib)).intent == "capacity" ? 0 : 1; });
}

TEST(memory_kind, segments_lie_on_reserved_huge_pages) {
  if (test::kinds_of_memory::huge_pages() < 48) {
    EXPECT_NE(refusal_of("huge").find("/proc/sys/vm/nr_hugepages"), std::string::npos) << refusal_of("huge");
    GTEST_SKIP() << "48 huge pages are not reserved here";
  }
  expect_job_works("huge");
  expect_ends_well("huge", fill_all, 2);
}

TEST(memory_kind, segments_lie_on_a_device) {
  const test::kinds_of_memory small{mib}, kinds{150 * mib};
  EXPECT_NE(refusal_of(device_of(small)).find("are needed at least"), std::string::npos);
  expect_job_works(device_of(kinds));
  expect_job_works(device_of(kinds));  // what the first job left is no heap
  expect_job_works(device_of(kinds), 40 * mib);
  expect_ends_well(device_of(kinds), fill_all, 2);
}

TEST(memory_kind, a_device_serves_one_job_at_a_time) {
  const test::kinds_of_memory kinds{150 * mib};
  expect_ends_well(device_of(kinds), [&] {
    const ptr<int> held = allocate<int>(1);
    held.local()[0] = 7;
    try {
      (void)detail::page_file::create(kinds.device(), "another");
      return 1;
    } catch (const error& bad) {
      const bool says_so = std::string{bad.message()}.find("in use by another job") != std::string::npos;
      return says_so && held.local()[0] == 7 ? 0 : 2;
    }
  });
  expect_job_works(device_of(kinds));
}

TEST(memory_kind, a_device_has_no_intents) {
  const test::kinds_of_memory kinds{150 * mib};
  expect_ends_well(device_of(kinds), [] {
    try {
      (void)allocate<int>(10, intent::bandwidth);
      return 1;
    } catch (const error& bad) {
      return bad.code() == errc::not_supported ? 0 : 2;
    }
  });
  launch_options how;
  how.memory = device_of(kinds);
  how.memory_intent = intent::bandwidth;
  EXPECT_THROW((void)launch(1, [] {}, how), error);
}

TEST(memory_kind, what_cannot_be_had_is_said_with_what_to_do) {
  const folder scratch;
  EXPECT_NE(refusal_of("floppy").find("is no kind of memory"), std::string::npos);
  EXPECT_NE(refusal_of("node:x").find("is no kind of memory"), std::string::npos);
  EXPECT_NE(refusal_of("file:").find("is no kind of memory"), std::string::npos);
  EXPECT_NE(refusal_of("node:77").find("no such NUMA node"), std::string::npos);
  EXPECT_NE(refusal_of("file:" + scratch.path + "/no/such").find("not there yet"), std::string::npos);
  EXPECT_NE(refusal_of("device:" + scratch.path + "/dax0.0").find("cannot be opened"), std::string::npos);
  EXPECT_NE(refusal_of("pim:m.toml").find("what several processes share cannot lie in it"), std::string::npos);
  const std::string taken = scratch.path + "/taken";
  std::ofstream{taken} << "somebody's";
  EXPECT_NE(refusal_of("file:" + taken).find("File exists"), std::string::npos) << "it is not ours to unlink";
  EXPECT_TRUE(fs::exists(taken));
  fs::remove(taken);
  launch_options both;
  both.memory = "intent:capacity";
  both.memory_intent = intent::bandwidth;
  EXPECT_THROW((void)launch(1, [] {}, both), error);
}

TEST(memory_kind, nothing_is_left_of_a_file_whose_job_was_killed) {
  const folder scratch;
  const auto launcher = [&] {
    launch_options how;
    how.memory = "file:" + scratch.path + "/segments";
    (void)launch(
        2,
        [child = ::getpid()] {
          std::memset(allocate<std::byte>(4 * mib).local(), 1, 4 * mib);
          barrier();
          ::kill(child, SIGKILL);
          ::pause();
        },
        how);
    return false;
  };
  EXPECT_EQ(test::in_forked_child(launcher, {.seconds = 30}).signal, SIGKILL);
}

}  // namespace
