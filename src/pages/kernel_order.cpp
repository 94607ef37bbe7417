#include "pages/kernel_order.h"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <utility>

#include "os/host.h"
#include "os/mapping.h"
#include "pages/placer.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; the headers may be older than the kernel
#endif

namespace situ::detail {
namespace {

// The numbers of the policies in kernel/ordered-mempolicy.patch.
constexpr std::pair<const char*, int> ordered_policies[] = {
    {"latency", 16}, {"bandwidth", 17}, {"capacity", 18}, {"normal", 19}};
constexpr int strict_flag = 1 << 12;

constexpr std::size_t mask_bits = 1024;  // MAX_NUMNODES of the largest kernels
constexpr std::size_t mask_words = mask_bits / (8 * sizeof(unsigned long));

// The nodes that this process may use: all, if the kernel does not tell.
class allowed_nodes {
 public:
  allowed_nodes() noexcept {
    is_told_ = ::syscall(SYS_get_mempolicy, nullptr, words_, mask_bits, nullptr, MPOL_F_MEMS_ALLOWED) == 0;
  }
  [[nodiscard]] bool has(std::uint32_t node) const noexcept {
    constexpr std::size_t word_bits = 8 * sizeof(unsigned long);
    return !is_told_ || (node < mask_bits && (words_[node / word_bits] >> (node % word_bits) & 1) != 0);
  }

 private:
  unsigned long words_[mask_words] = {};
  bool is_told_ = false;
};

// Reads a list such as "2 0 1 3"; returns an empty one if the file is missing or has other contents.
std::vector<std::uint32_t> read_node_numbers(const std::string& file) {
  std::ifstream in{file};
  std::vector<std::uint32_t> numbers;
  for (long number = 0; in >> number;) {
    if (number < 0 || number >= static_cast<long>(mask_bits)) return {};
    numbers.push_back(static_cast<std::uint32_t>(number));
  }
  if (!in.eof()) numbers.clear();
  return numbers;
}

// Reads the processors of a node; a node without processors has an empty line there.
machine::processor_set read_processors(const std::filesystem::path& file) {
  std::ifstream in{file};
  std::string list;
  std::getline(in, list);
  return machine::processor_set::parse(list);
}

// Returns 12 for "node12", -1 for any other name.
long node_number(const std::string& name) noexcept {
  unsigned number = 0;
  int used = 0;
  if (std::sscanf(name.c_str(), "node%u%n", &number, &used) != 1) return -1;
  return static_cast<std::size_t>(used) == name.size() ? static_cast<long>(number) : -1;
}

// Returns whether the kernel accepts its policies from this process: it may have the files and yet refuse them (a
// container's filter of calls).
bool takes_ordered_policies() noexcept {
  const os::mapping page = os::mapping::anywhere(page_bytes, PROT_READ | PROT_WRITE, os::backing::zeros());
  return page && std::all_of(std::begin(ordered_policies), std::end(ordered_policies), [&page](const auto& policy) {
           return bind_ordered(page.begin(), page_bytes, policy.second, true) == 0;
         });
}

// Makes the pages of a chunk. Returns false if the kernel has no room, or lacks the call.
bool populate_chunk(std::byte* chunk, std::size_t bytes, const placement_calls& calls) noexcept {
  while (calls.advise(chunk, bytes, MADV_POPULATE_WRITE) != 0)
    if (errno != EINTR) return false;
  return true;
}

// Returns the bytes up to the next multiple of 2 MiB.
std::size_t chunk_at(const std::byte* address, std::size_t left) noexcept {
  return std::min(huge_page_bytes - reinterpret_cast<std::uintptr_t>(address) % huge_page_bytes, left);
}

// Finds the nodes of consecutive chunks, with one request for many of them.
class chunk_looks {
 public:
  explicit chunk_looks(std::vector<std::uint64_t>& node_bytes, const placement_calls& calls) noexcept
      : node_bytes_{node_bytes}, calls_{calls} {}

  // Adds a chunk. Returns false if the kernel does not report nodes.
  [[nodiscard]] bool add(std::byte* chunk, std::size_t bytes) {
    if (chunks_ == 0) begin_ = chunk;
    end_ = chunk + bytes;
    return ++chunks_ != most_chunks || look();
  }
  // A chunk is compared with the one before it, so the first chunk needs its first page, too.
  [[nodiscard]] bool look() {
    if (chunks_ == 0) return true;
    std::array<void*, most_chunks + 1> pages{begin_};
    std::array<int, most_chunks + 1> nodes;
    std::size_t count = 1;
    for (std::byte* at = begin_; at != end_; pages[count++] = at - page_bytes)
      at += chunk_at(at, static_cast<std::size_t>(end_ - at));
    const std::size_t known = node_before_ >= 0 ? 1 : 0;
    if (calls_.move(count - known, pages.data() + known, nullptr, nodes.data() + known) != 0) return false;
    if (known == 0) node_before_ = nodes[0];
    for (std::size_t i = 1; i < count; ++i) {
      const std::size_t bytes = chunk_at(begin_, static_cast<std::size_t>(end_ - begin_));
      if (!add_to_nodes(bytes, nodes[i])) return false;
      begin_ += bytes;
    }
    chunks_ = 0;
    return true;
  }

 private:
  static constexpr std::size_t most_chunks = 64;

  bool add_to_nodes(std::size_t bytes, int node) {
    const bool is_whole = node >= 0 && node == std::exchange(node_before_, node);
    const page_locations found = is_whole ? page_locations{} : locate_pages(begin_, bytes, calls_);
    const std::size_t nodes = is_whole ? static_cast<std::size_t>(node) + 1 : found.node_bytes.size();
    if (node_bytes_.size() < nodes) node_bytes_.resize(nodes);
    if (is_whole) node_bytes_[static_cast<std::size_t>(node)] += bytes;
    for (std::size_t i = 0; i < found.node_bytes.size(); ++i) node_bytes_[i] += found.node_bytes[i];
    return found.error == 0;
  }

  std::vector<std::uint64_t>& node_bytes_;
  const placement_calls& calls_;
  std::byte* begin_ = nullptr;  // range of pages that were made and not yet looked at
  std::byte* end_ = nullptr;
  std::size_t chunks_ = 0;
  int node_before_ = -1;
};

}  // namespace

kernel_orders kernel_orders::read(const std::string& folder) {
  std::vector<kernel_order> rows;
  const allowed_nodes allowed;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator{folder, failed}) {
    const long from = node_number(entry.path().filename().string());
    if (from < 0) continue;
    const machine::processor_set processors = read_processors(entry.path() / "cpulist");
    for (const auto& [name, mode] : ordered_policies) {
      const std::string file = fmt::format("{}/{}_order", entry.path().string(), name);
      kernel_order row{.from = static_cast<std::uint32_t>(from), .name = name, .mode = mode};
      row.nodes = read_node_numbers(file);
      const std::vector<std::uint32_t> fill = read_node_numbers(file + "_fill");
      if (row.nodes.empty() || fill.size() != 1) return {};
      row.fill_percent = fill.front();
      std::erase_if(row.nodes, [&](std::uint32_t node) { return !allowed.has(node); });
      row.processors = processors;
      rows.push_back(std::move(row));
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const kernel_order& a, const kernel_order& b) { return a.from < b.from; });
  return kernel_orders{std::move(rows)};
}

bool kernel_order::is(std::span<const std::uint32_t> ordering, double fill) const noexcept {
  return std::equal(nodes.begin(), nodes.end(), ordering.begin(), ordering.end()) &&
         std::abs(fill_percent - 100 * fill) < 0.001;
}

const kernel_order* kernel_orders::find(std::uint32_t from, std::span<const std::uint32_t> nodes,
                                        double fill) const noexcept {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const kernel_order& row) { return row.from == from && row.is(nodes, fill); });
  return found == rows_.end() ? nullptr : &*found;
}

const kernel_order* kernel_orders::find_from_all(const machine::processor_set& processors,
                                                 std::span<const std::uint32_t> nodes, double fill) const noexcept {
  for (const kernel_order& one : rows_) {
    if (!one.processors.intersects(processors) || !one.is(nodes, fill)) continue;
    const bool is_everywhere = std::all_of(rows_.begin(), rows_.end(), [&](const kernel_order& row) {
      return row.mode != one.mode || !row.processors.intersects(processors) || row.is(nodes, fill);
    });
    if (is_everywhere) return &one;
  }
  return nullptr;
}

const kernel_orders& kernel_orders_here() noexcept {
  static const kernel_orders all = [] {
    try {
      kernel_orders read = kernel_orders::read("/sys/devices/system/node");
      return read.empty() || takes_ordered_policies() ? read : kernel_orders{};
    } catch (const std::exception&) {
      return kernel_orders{};  // no memory for the lists: user space places the pages
    }
  }();
  return all;
}

int bind_ordered(void* address, std::size_t bytes, int mode, bool is_strict) noexcept {
  return static_cast<int>(::syscall(SYS_mbind, address, bytes, mode | (is_strict ? strict_flag : 0), nullptr, 0ul, 0));
}

std::uint32_t node_of_this_thread() noexcept {
  unsigned node = 0;
  ::getcpu(nullptr, &node);  // fails only for a bad address
  return node;
}

kernel_placement place_by_kernel(std::byte* address, std::size_t bytes, std::span<const std::uint32_t> nodes,
                                 double fill, const placement_calls& calls,
                                 const std::function<void(std::byte* chunk, std::size_t bytes)>& prepare) {
  kernel_placement placed;
  chunk_looks looks{placed.node_bytes, calls};
  const kernel_order* bound = nullptr;
  while (placed.is_told && placed.bytes != bytes) {
    std::byte* const chunk = address + placed.bytes;
    const std::size_t size = chunk_at(chunk, bytes - placed.bytes);
    const kernel_order* const by = calls.ordered_policies().find(calls.node_here(), nodes, fill);
    if (by == nullptr) break;
    if (by != bound && calls.bind_ordered(chunk, bytes - placed.bytes, by->mode, true) != 0) break;
    bound = by;
    prepare(chunk, size);
    if (!populate_chunk(chunk, size, calls)) break;
    placed.bytes += size;
    placed.is_told = looks.add(chunk, size);
  }
  // Invariant 1; also covers a chunk that was begun.
  if (bound != nullptr) calls.bind_ordered(address, bytes, bound->mode, false);
  placed.is_told = placed.is_told && looks.look();
  if (!placed.is_told && placed.node_bytes.empty()) placed.bytes = 0;  // never: user space knows what to do then
  return placed;
}

}  // namespace situ::detail
