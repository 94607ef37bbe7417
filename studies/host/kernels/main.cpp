// host_kernels KERNEL [SIZE]: runs a kernel of the study `host` once untimed and once timed, and prints the time, by
// steady_clock, and the checksum as a line of JSON; and what of the time the thread had the processor: the rest were
// others' turns on it. On a modelled machine the clock is the machine's, and nobody else is on it.
#include "kernels.h"

#include <situ/model/region.h>

#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace {

using situ::studies::host::all_kernels;
using situ::studies::host::kernel;
using situ::studies::host::kernel_kind;

int fail(const char* what, const char* word) {
  std::fprintf(stderr, "host_kernels: %s %s; use: host_kernels KERNEL [SIZE], KERNEL one of\n", what, word);
  for (const kernel_kind& each : all_kernels)
    std::fprintf(stderr, "  %-10s %" PRIu64 " %s\n", each.name.data(), each.usual_size, each.size_is.data());
  return 2;
}

#if defined(SITU_MODEL)
double processor_ns(double took_ns) { return took_ns; }
double processor_now_ns() { return 0; }
#else
double processor_now_ns() {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}
double processor_ns(double) { return processor_now_ns(); }
#endif

int run(const kernel_kind& kind, std::uint64_t size) {
  const kernel work = kind.make(size);
  work.prepare();
  const situ::model::region timed{"kernel"};
  work.run();
  work.prepare();
  const double processor_begin = processor_now_ns();
  const auto begin = std::chrono::steady_clock::now();
  work.run();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  const double processor = processor_ns(took.count()) - processor_begin;
  std::printf("{\"kernel\": \"%s\", \"size\": %" PRIu64
              ", \"ns\": %.1f, \"processor_ns\": %.1f, \"checksum\": \"%016" PRIx64 "\"}\n",
              kind.name.data(), size, took.count(), processor, work.checksum());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) return fail("one or two arguments are needed", "");
  const kernel_kind* found = nullptr;
  for (const kernel_kind& each : all_kernels)
    if (each.name == argv[1]) found = &each;
  if (found == nullptr) return fail("there is no kernel", argv[1]);
  std::uint64_t size = found->usual_size;
  if (argc == 3) {
    const char* const end = argv[2] + std::strlen(argv[2]);
    const auto [stopped, error] = std::from_chars(argv[2], end, size);
    if (error != std::errc{} || stopped != end || size < 16 || size > 1'000'000'000)
      return fail("a size is a number from 16 to 1000000000, not", argv[2]);
  }
  const int code = run(*found, size);
  return code == 0 && std::fflush(stdout) != 0 ? 1 : code;
}
