// Memory for three intents at once, step by step, and where each byte of it lies: the lines that tools/plot_spill.py
// draws. Run two of them at the same time, and they compete for the fast memory and spill on from each that is full.
//
//   spill_over_time NAME [MIB [STEP_MIB [HOLD_S]]]       NAME: what the lines call this program
//
//   {"program": "a", "ms": 1234, "intent": "bandwidth", "by_kernel": 0, "nodes": {"2": 4194304, "0": 0}}
//   {"program": "a", "ms": 1234, "fill": {"0": 45.1, "2": 90.0}}           percent of each NUMA node in use
//
// Each intent gets MIB (160) in steps of STEP_MIB (8), in turn. It ends HOLD_S seconds (0) after its last step, so
// that another can go on beside it, or when no memory has room.

#include <situ/memory/placement.h>
#include <situ/situ.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

long long now_ms() {  // the same clock in all programs of a machine
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_boot).count();
}

// Percent, by NUMA node, up to the first that is not there.
std::map<unsigned, double> fills() {
  std::map<unsigned, double> used;
  for (unsigned node = 0;; ++node) {
    std::ifstream file{"/sys/devices/system/node/node" + std::to_string(node) + "/meminfo"};
    if (!file) return used;
    unsigned long long total = 0;
    unsigned long long unused = 0;
    for (std::string line; std::getline(file, line);) {
      (void)std::sscanf(line.c_str(), "Node %*u MemTotal: %llu", &total);
      (void)std::sscanf(line.c_str(), "Node %*u MemFree: %llu", &unused);
    }
    if (total != 0) used[node] = 100.0 * (1.0 - static_cast<double>(unused) / static_cast<double>(total));
  }
}

template <class Value>
std::string json_of(const std::map<unsigned, Value>& by_node) {
  std::string text;
  for (const auto& [node, value] : by_node)
    text += (text.empty() ? "\"" : ", \"") + std::to_string(node) + "\": " + std::to_string(value);
  return "{" + text + "}";
}

struct share {
  situ::intent what;
  std::map<unsigned, std::uint64_t> bytes = {};
  std::uint64_t by_kernel = 0;

  void add(std::uint64_t more) {
    const situ::memory_placement where = situ::placement(situ::allocate<std::byte>(more, what));
    for (const situ::memory_part& part : where.parts) bytes[part.node] += part.bytes;
    by_kernel += where.by_kernel_bytes;
  }
};

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const std::string name = argc > 1 ? argv[1] : "a";
  const std::uint64_t bytes = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 160) * mib;
  const std::uint64_t step = (argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 8) * mib;
  if (step == 0) {
    std::fprintf(stderr, "spill_over_time: a step of 0 MiB leads nowhere\n");
    return 2;
  }
  share shares[] = {{situ::intent::latency}, {situ::intent::bandwidth}, {situ::intent::capacity}};
  int result = 0;
  try {
    for (std::uint64_t done = 0; done < bytes; done += step) {
      for (share& each : shares) {
        each.add(step);
        std::printf("{\"program\": \"%s\", \"ms\": %lld, \"intent\": \"%s\", \"by_kernel\": %llu, \"nodes\": %s}\n",
                    name.c_str(), now_ms(), std::string{each.what.name()}.c_str(),
                    static_cast<unsigned long long>(each.by_kernel), json_of(each.bytes).c_str());
      }
      std::printf("{\"program\": \"%s\", \"ms\": %lld, \"fill\": %s}\n", name.c_str(), now_ms(),
                  json_of(fills()).c_str());
      std::fflush(stdout);
    }
  } catch (const situ::error& no_room) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), no_room.what());
    result = 1;
  }
  std::this_thread::sleep_for(std::chrono::seconds(argc > 4 ? std::atoi(argv[4]) : 0));
  return result;
}
