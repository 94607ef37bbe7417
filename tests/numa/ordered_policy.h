// The kernel's ordered policies as a program without Situ uses them: the calls, the lists in sysfs, and where pages
// are.
#pragma once

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "guest_support.h"
#include "support/forked.h"

namespace situ::guest_support {

// As kernel/ordered-mempolicy.patch numbers them; its header is not Debian's.
enum ordered_mode : int { order_latency = 16, order_bandwidth, order_capacity, order_normal };
constexpr int order_strict = 1 << 12;
constexpr std::array<const char*, 4> order_names{"latency", "bandwidth", "capacity", "normal"};

inline int set_policy(int mode) { return static_cast<int>(::syscall(SYS_set_mempolicy, mode, nullptr, 0ul)); }
inline int bind_policy(void* at, std::uint64_t bytes, int mode, unsigned flags = 0) {
  return static_cast<int>(::syscall(SYS_mbind, at, bytes, mode, nullptr, 0ul, flags));
}

inline std::string list_file(unsigned node, const std::string& name) {
  std::string file{"/sys/devices/system/node/node"};
  file += std::to_string(node);
  file += '/';
  return file += name;
}
inline std::string read_line(const std::string& file) {
  std::string line;
  std::ifstream in{file};
  std::getline(in, line);
  return line;
}
// 0, or errno's value.
inline int write_line(const std::string& file, const std::string& text) {
  std::FILE* const out = std::fopen(file.c_str(), "we");
  if (out == nullptr) return errno;
  std::setvbuf(out, nullptr, _IONBF, 0);
  const int failed = std::fwrite(text.data(), 1, text.size(), out) == text.size() ? 0 : errno;
  std::fclose(out);
  return failed;
}
// For the processors of both nodes.
inline void write_list(const std::string& policy, const std::string& list, int fill = 90) {
  for (const unsigned node : {0u, 1u}) {
    ASSERT_EQ(write_line(list_file(node, policy + "_order"), list + "\n"), 0);
    ASSERT_EQ(write_line(list_file(node, policy + "_order_fill"), std::to_string(fill)), 0);
  }
}

inline std::byte* map_memory(std::uint64_t bytes, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int file = -1) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, file, 0);
  if (at == MAP_FAILED) std::abort();
  return static_cast<std::byte*>(at);
}
inline void touch_all(std::byte* at, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; i += page) reinterpret_cast<volatile char*>(at)[i] = 1;
}
// Bytes by node, as the kernel says.
inline std::map<int, std::uint64_t> ask_nodes(std::byte* at, std::uint64_t bytes) {
  std::map<int, std::uint64_t> found;
  std::array<void*, 512> pages;
  std::array<int, 512> status;
  for (std::uint64_t done = 0; done < bytes;) {
    std::size_t n = 0;
    for (; n < pages.size() && done < bytes; done += page) pages[n++] = at + done;
    if (::syscall(SYS_move_pages, 0, n, pages.data(), nullptr, status.data(), 0) != 0) std::abort();
    for (std::size_t i = 0; i < n; ++i) found[status[i]] += page;
  }
  return found;
}

// Runs a function in a process of its own, and returns the process's exit code, as code_of() has it.
template <class F>
int run_child(F what) {
  return test::code_of(test::in_forked_child(what));
}

// Tests of the kernel's policies: with each, the lists are the default ones again afterwards.
class ordered_policy : public guest {
 protected:
  void SetUp() override {
    guest::SetUp();
    if (!std::filesystem::exists(list_file(0, "bandwidth_order"))) GTEST_SKIP() << "the kernel has no ordered policies";
  }
  void TearDown() override {
    for (const unsigned node : {0u, 1u})
      for (const std::string name : order_names) {
        write_line(list_file(node, name + "_order"), "\n");
        write_line(list_file(node, name + "_order_fill"), "90");
      }
    guest::TearDown();
  }
};

}  // namespace situ::guest_support
