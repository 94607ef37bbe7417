// What a page costs, in the guest of guest.py. With --count-instructions there a nanosecond is a quarter of an
// instruction, and all is said in instructions. Each way places 128 MiB in pages of 4 KiB, three times; the least
// counts.

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#include "ordered_policy.h"
#include "pages/placer.h"

namespace {

using namespace situ;
using namespace situ::guest_support;

constexpr std::uint64_t bytes = 128 * mib;

double of_a_page(bool is_counted, const std::function<void(std::byte*)>& make) {
  double least = 1e18;
  for (int round = 0; round < 3; ++round) {
    std::byte* const at = map_memory(bytes);
    const auto begin = std::chrono::steady_clock::now();
    make(at);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    least = std::min(least, time.count() / static_cast<double>(bytes / page));
    ::munmap(at, bytes);
  }
  return is_counted ? least / 4 : least;
}

void populate(std::byte* at) {
  if (::madvise(at, bytes, MADV_POPULATE_WRITE) != 0) std::perror("populate");
}

detail::spill_ordering in_order(double fill) {
  detail::spill_ordering made;
  for (const std::uint32_t node : {2u, 0u, 1u, 3u}) made.steps.push_back({{.node = node, .fill = fill}});
  return made;
}

// A placer is made once for an intent, not for a block. piece: what it is given at a time.
void place_along(const detail::placer& by, std::byte* at, double fill, std::uint64_t piece = bytes) {
  for (std::byte* const end = at + bytes; at != end; at += piece) {
    const detail::placement_report report = by.place(at, piece);
    if (report.outcome != detail::placement_outcome::placed || (report.by_kernel_bytes != 0) != (fill == 0.9))
      std::printf("not placed as meant: %s\n", format_fills(report).c_str());
  }
}

void write_for_both(const char* list, const char* fill) {
  for (const unsigned node : {0u, 1u}) {
    write_line(list_file(node, "bandwidth_order"), list);
    write_line(list_file(node, "bandwidth_order_fill"), fill);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_counted = argc > 1 && std::strcmp(argv[1], "--instructions") == 0;
  const char* const unit = is_counted ? "instructions" : "ns";
  const auto say = [&](const char* how, double cost, double than) {
    std::printf("  %-52s %6.0f  %.3f x\n", how, cost, cost / than);
  };
  const auto touch = [](std::byte* at) { touch_all(at, bytes); };
  const double touched = of_a_page(is_counted, touch);
  const double populated = of_a_page(is_counted, populate);
  std::printf("a page of 4 KiB, %s; times those of the default policy on the local node\n", unit);
  say("default policy, touched", touched, touched);
  say("default policy, populated", populated, populated);
  const auto on_node_2 = [](std::byte* at) {
    unsigned long mask = 1ul << 2;
    ::syscall(SYS_mbind, at, bytes, MPOL_PREFERRED, &mask, 8ul, 0);
  };
  say("node 2 preferred, touched", of_a_page(is_counted, [&](std::byte* at) { on_node_2(at), touch(at); }), touched);
  say("node 2 preferred, populated", of_a_page(is_counted, [&](std::byte* at) { on_node_2(at), populate(at); }),
      populated);
  if (std::filesystem::exists(list_file(0, "bandwidth_order"))) {
    write_for_both("0 2 1 3", "90");
    const auto ordered = [&](int mode) {
      return of_a_page(is_counted, [&](std::byte* at) { bind_policy(at, bytes, mode), touch(at); });
    };
    say("ordered policy, local node first, touched", ordered(order_bandwidth), touched);
    say("ordered policy, local node first, strict, touched", ordered(order_bandwidth | order_strict), touched);
    write_for_both("2 0 1 3", "90");
    say("ordered policy, node 2 first, touched", ordered(order_bandwidth), touched);
    say("ordered policy, node 2 first, populated",
        of_a_page(is_counted, [&](std::byte* at) { bind_policy(at, bytes, order_bandwidth), populate(at); }),
        populated);
    write_for_both("2 0 1 3", "1");
    say("ordered policy, all four nodes full, touched", ordered(order_bandwidth), touched);
    write_for_both("2 0 1 3", "90");
    const detail::placer by_kernel{in_order(0.9)};
    say("Situ, by the kernel's policy, node 2 first",
        of_a_page(is_counted, [&](std::byte* at) { place_along(by_kernel, at, 0.9); }), populated);
    say("the same, 2 MiB at a time, as segments get it",
        of_a_page(is_counted, [&](std::byte* at) { place_along(by_kernel, at, 0.9, 2 * mib); }), populated);
  }
  const detail::placer in_user_space{in_order(0.89)};
  say("Situ, in user space, node 2 first",
      of_a_page(is_counted, [&](std::byte* at) { place_along(in_user_space, at, 0.89); }), populated);
}
