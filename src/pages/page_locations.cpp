// Queries the kernel about pages and nodes (placer.h declares the functions).
#include "pages/placer.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "os/host.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14; the headers may be older than the kernel
#endif

namespace situ::detail {
namespace {

constexpr std::size_t pages_at_once = huge_page_bytes / page_bytes;

}  // namespace

page_locations locate_pages(const void* address, std::size_t bytes, const placement_calls& calls) {
  page_locations found;
  const auto begin = reinterpret_cast<std::uintptr_t>(address) & ~(page_bytes - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(address) + bytes;
  std::array<void*, pages_at_once> addresses;
  std::array<int, pages_at_once> status;
  for (std::uintptr_t at = begin; at < end;) {
    std::size_t pages = 0;
    for (; pages < pages_at_once && at < end; ++pages, at += page_bytes) addresses[pages] = reinterpret_cast<void*>(at);
    if (calls.move(pages, addresses.data(), nullptr, status.data()) != 0) return {.error = errno};
    for (std::size_t i = 0; i < pages; ++i) {
      if (status[i] < 0) {
        found.absent_bytes += page_bytes;
        continue;
      }
      const auto node = static_cast<std::size_t>(status[i]);
      if (node >= found.node_bytes.size()) found.node_bytes.resize(node + 1);
      found.node_bytes[node] += page_bytes;
    }
  }
  return found;
}

void map_existing(const void* address, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(address) & ~(page_bytes - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(address) + bytes;
  std::array<unsigned char, pages_at_once> resident;
  for (std::uintptr_t at = begin; at < end; at += huge_page_bytes) {
    const std::size_t pages = (std::min<std::uintptr_t>(at + huge_page_bytes, end) - at + page_bytes - 1) / page_bytes;
    if (::mincore(reinterpret_cast<void*>(at), pages * page_bytes, resident.data()) != 0) return;
    for (std::size_t i = 0; i < pages;) {
      const std::size_t first = i;
      while (i < pages && (resident[i] & 1) != 0) ++i;
      if (i != first)
        ::madvise(reinterpret_cast<void*>(at + first * page_bytes), (i - first) * page_bytes, MADV_POPULATE_READ);
      else
        ++i;
    }
  }
}

void forget_placement(void* address, std::size_t bytes) noexcept {
  ::syscall(SYS_mbind, address, bytes, MPOL_DEFAULT, nullptr, 0ul, 0);  // if it fails, nothing was placed
}

std::optional<memory_use> use_of_node(std::uint32_t node, const placement_calls& calls) {
  char text[512];  // the lines that are needed are among the first
  const ssize_t bytes = calls.read_meminfo(node, text, sizeof text);
  memory_use use;
  if (bytes <= 0 || !parse_meminfo(text, text + bytes, use)) return std::nullopt;
  return use;
}

}  // namespace situ::detail
