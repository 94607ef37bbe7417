// How near par_loop comes to the loop one would write by hand, and what tiles give to a chain that memory bounds.
//
//     stencil_bench [points a side, 256] [GB of the chain, 0.5] [threads of the chain, all]
//
// Raw loop and ours alternate, so that both see the same machine; the least of several rounds and its ratio are printed as JSON.
#include "kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

double seconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct pair_of_times {
  double first = 1e30, second = 1e30;
};

// The least of each: what disturbs adds time, never takes any away.
pair_of_times alternate(const std::function<void()>& first, const std::function<void()>& second, int rounds) {
  pair_of_times best;
  for (int r = 0; r < rounds; ++r) {
    best.first = std::min(best.first, seconds(first));
    best.second = std::min(best.second, seconds(second));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 256;
  const double chain_gb = argc > 2 ? std::atof(argv[2]) : 0.5;
  const int threads = argc > 3 ? std::atoi(argv[3]) : 0;
  bool good = true;
  std::string rows;
  for (const auto& k : make_kernel_cases(n)) {
    const auto t = alternate(k.raw, k.situ, 12);
    const bool agrees = k.agrees();
    good = good && agrees;
    rows += fmt::format("    {{\"case\": \"{}\", \"raw_GBps\": {:.2f}, \"situ_GBps\": {:.2f}, \"situ_of_raw\": {:.3f}, \"agrees\": {}}},\n", k.name,
                        k.bytes / t.first * 1e-9, k.bytes / t.second * 1e-9, t.first / t.second, agrees);
  }
  const auto chain = make_jacobi_chain(chain_gb * 1e9, threads);
  const auto t = alternate(chain.plain, chain.tiled, 8);
  const bool agrees = chain.agrees();
  good = good && agrees;
  rows += fmt::format("    {{\"case\": \"jacobi_chain\", \"GB\": {}, \"plain_s\": {:.4f}, \"tiled_s\": {:.4f}, \"plain_over_tiled\": {:.3f}, \"tiles\": \"{}\", "
                      "\"agrees\": {}}}\n", chain_gb, t.first, t.second, t.first / t.second, chain.tiles(), agrees);
  fmt::print("{{\n  \"stencil\": [\n{}  ]\n}}\n", rows);
  return good ? 0 : 1;
}
