// What a placer asks the system.
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "os/descriptor.h"
#include "os/host.h"
#include "pages/placer.h"

namespace situ::detail {
namespace {

// A kernel without NUMA has the same lines in /proc/meminfo.
std::array<char, 64> meminfo_path(std::uint32_t node) noexcept {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/sys/devices/system/node/node%u/meminfo", node);
  if (node == 0 && ::access(path.data(), F_OK) != 0) std::snprintf(path.data(), path.size(), "/proc/meminfo");
  return path;
}

ssize_t read_node_meminfo(std::uint32_t node, char* text, std::size_t bytes) noexcept {
  const os::descriptor file{::open(meminfo_path(node).data(), O_RDONLY | O_CLOEXEC)};
  return file ? ::read(file.number(), text, bytes) : -1;
}

// Returns the high watermarks of the node's zones, in bytes; the file has them in pages:
//   Node 3, zone   Normal
//     pages free     126105
//           ...
//           high     7260
std::uint64_t read_high_marks(std::uint32_t node) noexcept {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen("/proc/zoneinfo", "re"), &std::fclose};
  if (!file) return 0;
  std::uint64_t pages = 0;
  bool is_its = false;
  char line[256];
  while (std::fgets(line, sizeof line, file.get()) != nullptr) {
    unsigned number = 0;
    unsigned long long high = 0;
    if (std::sscanf(line, "Node %u, zone", &number) == 1) is_its = number == node;
    if (is_its && std::sscanf(line, " high %llu", &high) == 1) pages += high;
  }
  return pages * page_bytes;
}

int prefer_node(void* address, std::size_t bytes, std::uint32_t node) noexcept {
  constexpr std::uint32_t word_bits = 8 * sizeof(unsigned long);
  unsigned long mask[node_limit / word_bits] = {};
  mask[node / word_bits] = 1ul << (node % word_bits);
  // The kernel subtracts one from the number of bits first.
  return static_cast<int>(::syscall(SYS_mbind, address, bytes, MPOL_PREFERRED, mask, node + 2ul, 0));
}

void touch_pages(void* address, std::size_t bytes) noexcept {
  auto* const pages = static_cast<volatile std::byte*>(address);
  for (std::size_t at = 0; at < bytes; at += page_bytes) pages[at] = std::byte{0};
}

}  // namespace

const placement_calls& system_placement_calls() noexcept {
  static constexpr placement_calls calls{
      .find_meminfo = [](std::uint32_t node) noexcept { return ::access(meminfo_path(node).data(), R_OK); },
      .read_meminfo = read_node_meminfo,
      .kept_free = read_high_marks,
      .prefer = prefer_node,
      .advise = [](void* address, std::size_t bytes, int advice) noexcept { return ::madvise(address, bytes, advice); },
      .touch = touch_pages,
      .move =
          [](std::size_t pages, void** addresses, const int* nodes, int* status) noexcept {
            // Pages that other processes map, too, can be moved only with CAP_SYS_NICE.
            const long moved = ::syscall(SYS_move_pages, 0, pages, addresses, nodes, status,
                                         nodes == nullptr ? MPOL_MF_MOVE : MPOL_MF_MOVE_ALL);
            if (nodes == nullptr || moved == 0 || errno != EPERM) return static_cast<int>(moved);
            return static_cast<int>(::syscall(SYS_move_pages, 0, pages, addresses, nodes, status, MPOL_MF_MOVE));
          },
      .residence = [](void* address, std::size_t bytes,
                      unsigned char* resident) noexcept { return ::mincore(address, bytes, resident); },
      .ordered_policies = kernel_orders_here,
      .bind_ordered = bind_ordered,
      .node_here = node_of_this_thread,
      .processors = machine::processor_set::of_this_thread};
  return calls;
}

}  // namespace situ::detail
