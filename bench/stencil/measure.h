// How the cases of `situ bench stencil` take samples.
//
// A sample of a case: the raw triad (the calibration: how fast memory is right now), then each subject once; one line
// of JSON for each subject,
//   {"case":"copy","subject":"plain","ns":0.72,"calibration_ns":0.61,"raw_ns":0.7}
// Times are for one point; raw_ns is that of the counterpart.
#pragma once

#include "raw_loops.h"

#include <situ/stencil/dataset.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace stencil_bench {

struct session {
  double seconds;
  bool is_quick;
  std::string directory;  // of backing files
  std::string programs;   // folder of programs built elsewhere; empty: none
};

template <class F>
double seconds_of(F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Chains before the first sample. Of tile sizes one warms up, and five are tried, three times each if all are close
// (chains.cpp).
inline constexpr int tries = 16;

// All threads that a case uses: the aims are for two.
inline constexpr int threads = 2;

[[nodiscard]] inline situ::stencil::options options_for(situ::stencil::executor how, int count = threads) {
  situ::stencil::options o;
  o.run_by = how;
  o.threads = count;
  return o;
}
// With so much fast memory.
[[nodiscard]] inline situ::stencil::options far_options(const session& s, double fast_bytes) {
  auto o = options_for(situ::stencil::executor::out_of_core);
  o.fast_bytes = static_cast<std::uint64_t>(fast_bytes);
  o.directory = s.directory;
  return o;
}

// What was compared differs: no figure is worth anything then.
inline void require_equal(bool equal, const char* case_name) {
  if (!equal) throw std::runtime_error{std::string{case_name} + ": the subjects' results differ"};
}

class sampler {
 public:
  sampler(const session& s, const char* case_name) : session_{s}, case_{case_name} {}

  // Takes samples until the time is over, but three at least (one if quick). `take` calls print() for each subject.
  template <class F>
  void repeat(F take) {
    const int least = session_.is_quick ? 1 : 3;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(session_.seconds);
    for (int n = 0; n < least || std::chrono::steady_clock::now() < end; ++n) {
      calibration_ns_ = triad_.run(threads) / static_cast<double>(triad_.points()) * 1e9;
      take();
    }
  }
  void print(const char* subject, double ns, double counterpart_ns, double bytes = 0) const {
    print_of(case_, subject, ns, counterpart_ns, bytes);
  }
  // Of another case that is measured beside this one.
  void print_of(const char* case_name, const char* subject, double ns, double counterpart_ns, double bytes = 0) const {
    std::printf(
        "{\"case\":\"%s\",\"subject\":\"%s\",\"ns\":%.6g,\"calibration_ns\":%.4g,\"raw_ns\":%.6g,\"bytes\":%.0f}\n",
        case_name, subject, ns, calibration_ns_, counterpart_ns, bytes);
    std::fflush(stdout);
  }

 private:
  const session& session_;
  const char* case_;
  raw_triad triad_{std::size_t{1} << 22};
  double calibration_ns_ = 0;
};

// The cases, by file.
void measure_triad(const session& s, const char* case_name, int thread_count);
void measure_loop(const session& s, const char* case_name);
void measure_jacobi_chain(const session& s);
void measure_jacobi_far(const session& s);
void measure_beyond_memory(const session& s);
void measure_taylor_green(const session& s);
void measure_euler(const session& s);
void measure_planning(const session& s, bool is_new);
void measure_devito(const session& s, const char* case_name);
void measure_tile_choice(const session& s, const char* case_name, int dimensions);
void measure_programs(const session& s, const char* case_name);
void measure_kernels(const session& s);

}  // namespace stencil_bench
