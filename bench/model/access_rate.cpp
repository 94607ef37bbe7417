// situ_bench_model FILE [ACCESSES [WHICH [warming]]]: accesses of core 0 by where they end, each kind so often, with
// the host's rate and a hash of their modelled times, which stays as long as the model does the same. With `warming`
// they are those of functional warming, which take no time.
#include "model/parts/modelled_machine.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace situ::model;

constexpr std::uint64_t memory_bytes = std::uint64_t{256} << 20;

struct pattern {
  const char* name;
  access_kind kind;
  std::uint64_t bytes;   // that are touched
  std::uint64_t stride;  // 0: random lines
  bool writes_between;   // each fourth access is a write: what leaves is dirty
};
constexpr pattern patterns[] = {
    {"read hits", access_kind::read, 4096, 8, false},
    {"writes, hits or passed on", access_kind::write, 4096, 8, false},
    {"reads of the second cache", access_kind::read, 96 << 10, 0, false},
    {"reads of memory", access_kind::read, memory_bytes, 0, false},
    {"reads and writes of memory", access_kind::read, memory_bytes, 0, true},
    {"mix: seven of eight in the second cache", access_kind::read, 96 << 10, 1, true},
};

template <bool Warms>
void run(modelled_machine& machine, const pattern& of, std::uint64_t accesses) {
  if (Warms) machine.begin_warming();
  std::uint64_t random = 17, hash = 14695981039346656037ULL, at = 0;
  time_ps now = 0;
  const time_ps issue =
      machine.goes_ahead(0) ? machine.period(0) / 4 : 0;  // a core that waits takes the time of its hits
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < accesses; ++i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    std::uint64_t address = (random >> 20) % of.bytes & ~std::uint64_t{7};
    if (of.stride > 1) address = (at += of.stride) % of.bytes;
    if (of.stride == 1 && i % 8 == 0) address = (random >> 20) % memory_bytes & ~std::uint64_t{7};
    const access_kind kind = of.writes_between && i % 4 == 0 ? access_kind::write : of.kind;
    if constexpr (Warms) {
      machine.warm(0, address, 8, kind, now);
      continue;
    }
    now = machine.goes_ahead(0)
              ? machine.access_ahead(0, {.address = address, .bytes = 8, .kind = kind, .instruction = i}, now)
              : machine.access(0, address, 8, kind, now);
    now += issue;
    hash = (hash ^ now) * 1099511628211ULL;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-42s %7.1f million/s   times %016" PRIx64 "\n", of.name,
              static_cast<double>(accesses) / took.count() * 1e-6, hash);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "use: situ_bench_model MACHINE.toml [ACCESSES [WHICH [warming]]]\n");
    return 2;
  }
  const std::uint64_t accesses = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4'000'000;
  for (const pattern& each : patterns) {
    if (argc > 3 && std::strstr(each.name, argv[3]) == nullptr) continue;
    modelled_machine machine{read_machine(argv[1])};
    std::uint32_t shared = 0;
    while (machine.spec().memories[shared].tile != none) ++shared;
    machine.map_range(0, memory_bytes, shared);
    if (argc > 4 && std::strcmp(argv[4], "warming") == 0)
      run<true>(machine, each, accesses);
    else
      run<false>(machine, each, accesses);
  }
}
