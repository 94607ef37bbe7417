// What the tests in the guest of guest.py share: the nodes' memory, a process of its own that holds some of it, and a
// fixture that fails where the system ended a process.
#pragma once

#include <situ/base/error.h>
#include <situ/memory/allocate.h>
#include <situ/memory/placement.h>
#include <situ/runtime/runtime.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/forked.h"

namespace situ::guest_support {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t page = 4096;

struct node_memory {
  std::uint64_t total = 0;
  std::uint64_t unused = 0;
  [[nodiscard]] double percent_used() const {
    return 100.0 * (1.0 - static_cast<double>(unused) / static_cast<double>(total));
  }
};

inline node_memory memory_of(std::uint32_t node) {
  std::ifstream file{"/sys/devices/system/node/node" + std::to_string(node) + "/meminfo"};
  node_memory found;
  for (std::string line; std::getline(file, line);) {
    unsigned long long kilobytes = 0;
    if (std::sscanf(line.c_str(), "Node %*u MemTotal: %llu", &kilobytes) == 1) found.total = kilobytes << 10;
    if (std::sscanf(line.c_str(), "Node %*u MemFree: %llu", &kilobytes) == 1) found.unused = kilobytes << 10;
  }
  return found;
}

// What a process that allocated by intent said of it: bytes by node, or an error.
struct told {
  std::map<std::uint32_t, std::uint64_t> bytes;
  std::string error;
  double ns_for_a_page = 0;
  std::uint64_t by_kernel_bytes = 0;
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t all = 0;
    for (const auto& [node, each] : bytes) all += each;
    return all;
  }
};

// A process of its own, a job of one place, that allocates and then holds the memory until this ends.
class holder {
 public:
  // Without an intent, each page is touched.
  holder(std::uint64_t bytes, const intent* what) {
    if (!said_ || !go_on_) std::abort();
    child_ = test::fork_child([&] {
      go_on_.write.close();
      hold(bytes, what, said_.write.number(), go_on_.read.number());
      return 0;
    });
    said_.write.close();
    go_on_.read.close();
  }
  ~holder() { end(); }
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;

  // Waits until it has allocated.
  [[nodiscard]] told listen() const {
    std::string text;
    char part[4096];
    for (ssize_t n = 0;
         text.find("\nend\n") == std::string::npos && (n = ::read(said_.read.number(), part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(n));
    told result;
    if (const auto at = text.find("error "); at != std::string::npos) result.error = text.substr(at + 6);
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
      unsigned node = 0;
      unsigned long long bytes = 0;
      if (std::sscanf(line.c_str(), "node %u %llu", &node, &bytes) == 2) result.bytes[node] += bytes;
      (void)std::sscanf(line.c_str(), "ns %lf", &result.ns_for_a_page);
      if (std::sscanf(line.c_str(), "kernel %llu", &bytes) == 1) result.by_kernel_bytes = bytes;
    }
    return result;
  }
  // Its exit code, as code_of() has it.
  int end() {
    if (!child_) return code_;
    (void)!::write(go_on_.write.number(), "", 1);  // other children have this end, too: closing it would say nothing
    go_on_.write.close();
    said_.read.close();
    return code_ = test::code_of(child_.wait());
  }

 private:
  static void hold(std::uint64_t bytes, const intent* what, int say, int go_on) {
    char name[] = "numa_guest_test";
    char* arguments[] = {name, nullptr};
    runtime rt{1, arguments};
    try {
      const auto begin = std::chrono::steady_clock::now();
      const ptr<std::byte> block = what == nullptr ? allocate<std::byte>(bytes) : allocate<std::byte>(bytes, *what);
      for (std::uint64_t at = 0; what == nullptr && at < bytes; at += page) block.local()[at] = std::byte{1};
      const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
      const memory_placement where = placement(block);
      for (const memory_part& part : where.parts)
        ::dprintf(say, "node %u %llu\n", part.node, static_cast<unsigned long long>(part.bytes));
      ::dprintf(say, "kernel %llu\n", static_cast<unsigned long long>(where.by_kernel_bytes));
      ::dprintf(say, "ns %g\n\nend\n", time.count() / static_cast<double>(bytes / page));
    } catch (const error& bad) {
      ::dprintf(say, "error %s\nend\n", bad.what());
    }
    char none = 0;
    (void)!::read(go_on, &none, 1);
  }

  os::pipe_ends said_ = os::pipe_ends::make();
  os::pipe_ends go_on_ = os::pipe_ends::make();
  os::child child_;
  int code_ = 0;
};

// The kernel's own count of processes that it ended for want of memory.
inline std::uint64_t kills() {
  std::ifstream file{"/proc/vmstat"};
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;)
    if (name == "oom_kill") return value;
  return 0;
}

class guest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/sys/devices/system/node/node3")) GTEST_SKIP() << "not the guest of guest.py";
    kills_before_ = kills();
  }
  void TearDown() override {
    EXPECT_EQ(kills(), kills_before_) << "the system ended a process";
    ::unsetenv("SITU_ORDERINGS");
  }
  static void order(const std::string& text) {
    std::ofstream{"/tmp/orderings.toml"} << text;
    ::setenv("SITU_ORDERINGS", "/tmp/orderings.toml", 1);
  }
  static void expect_filled(std::vector<std::uint32_t> nodes, double percent = 90) {
    for (const std::uint32_t node : nodes) EXPECT_NEAR(memory_of(node).percent_used(), percent, 1.0) << "node " << node;
  }

  std::uint64_t kills_before_ = 0;
};

}  // namespace situ::guest_support
