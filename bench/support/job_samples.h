// How the programs of `situ bench everyday` and `situ bench memory` take samples. Place 0 prints.
//
// A sample of a case is each of its subjects once, one after the other, so that all meet the same machine; the first is
// what the others are compared with. One line of JSON for each subject and sample:
//   {"case":"gups","subject":"one_by_one","ns":7.2,"calibration_ns":61.8,"raw_ns":5.9}
// Times are for one operation of the whole work. The calibration is 50 dependent multiplications.
#pragma once

#include <situ/situ.h>

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace job_bench {

// Small sizes, one sample of each.
inline bool is_quick() {
  const char* const quick = std::getenv("SITU_BENCH_QUICK");
  return quick != nullptr && std::strcmp(quick, "1") == 0;
}
// By hand all cases are wanted.
inline bool is_wanted(const char* name) {
  const char* const wanted = std::getenv("SITU_BENCH_CASES");
  return wanted == nullptr || std::strstr(wanted, ("," + std::string{name} + ",").c_str()) != nullptr;
}
inline bool is_first() { return situ::here().index() == 0; }
inline double now_ns() { return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count()); }

// The time that all places take together, from a barrier to a barrier.
template <class Body>
double time_together(Body body) {
  situ::barrier();
  const double begin = now_ns();
  body();
  situ::barrier();
  return now_ns() - begin;
}
// The time that place 0 takes alone.
template <class Body>
double time_alone(Body body) {
  return time_together([&] {
    if (is_first()) body();
  });
}

inline double calibration() {
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const double begin = now_ns();
    double product = 1.0000001;
    for (int k = 0; k < 2000; ++k) {
      product *= 1.0000001;
      asm volatile("" : "+x"(product));
    }
    best = std::min(best, (now_ns() - begin) / 40);
  }
  return best;
}

// Lets the calling thread, and what it starts, run on all processors: the launcher binds a place to a core.
inline void unbind() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &all);  // the kernel leaves out what this process may not use
  if (::sched_setaffinity(0, sizeof all, &all) != 0) {
    std::perror("the processors of a benchmark");
    std::exit(1);
  }
}

// One subject's samples of a case, in ns for one operation.
struct samples {
  const char* name;
  std::vector<double> ns = {};
};

inline void print_subject(const char* case_name, const samples& each, const std::vector<double>& counterpart,
                          double calibrated) {
  for (std::size_t i = 0; i < each.ns.size(); ++i)
    std::printf("{\"case\":\"%s\",\"subject\":\"%s\",\"ns\":%.6g,\"calibration_ns\":%.4g,\"raw_ns\":%.6g}\n", case_name,
                each.name, each.ns[i], calibrated, counterpart[i]);
  std::fflush(stdout);
}
// The counterpart of all is the first; `counterpart` instead, where it has samples.
inline void print(const char* case_name, const std::vector<samples>& all, const std::vector<double>& counterpart = {}) {
  if (!is_first()) return;
  const double calibrated = calibration();
  for (const samples& each : all)
    print_subject(case_name, each, counterpart.empty() || &each == &all.front() ? all.front().ns : counterpart,
                  calibrated);
}
// After the last case.
inline void print_end() {
  if (is_first()) std::puts("{\"end\":\"situ\"}");
}

}  // namespace job_bench
