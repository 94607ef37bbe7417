#include "raw_loops.h"

#include "os/descriptor.h"

#include <fcntl.h>
#include <omp.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace stencil_bench {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t request_bytes = std::size_t{4} << 20;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

situ::os::descriptor make_file(const std::string& directory) {
  situ::os::descriptor file{open(directory.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600)};
  if (!file) throw std::runtime_error{"no file past the page cache can be made in " + directory};
  return file;
}

// All requests of [0, bytes) from `offset` on, taken in turns by two threads for each of both directions. Of huge
// pages, as the executor's slots are: many small ones make many small reads and writes.
bool move_all(int file, bool is_write, std::size_t offset, std::size_t bytes, std::atomic<std::size_t>& next) {
  const std::unique_ptr<void, decltype(&std::free)> buffer{std::aligned_alloc(huge_page, request_bytes), &std::free};
  madvise(buffer.get(), request_bytes, MADV_HUGEPAGE);
  for (std::size_t at; (at = next.fetch_add(request_bytes)) < bytes;) {
    const auto where = static_cast<off_t>(offset + at);
    const ssize_t moved =
        is_write ? pwrite(file, buffer.get(), request_bytes, where) : pread(file, buffer.get(), request_bytes, where);
    if (moved != static_cast<ssize_t>(request_bytes)) return false;
  }
  return true;
}

// Situ binds each thread but the first to a processor: so do these, where there are enough.
void bind_threads(int threads) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < threads) return;
#pragma omp parallel num_threads(threads)
  {
    int left = omp_get_thread_num(), processor = 0;
    while (!CPU_ISSET(processor, &allowed) || left-- > 0) ++processor;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(processor, &own);
    if (omp_get_thread_num() > 0) sched_setaffinity(0, sizeof own, &own);
  }
}

}  // namespace

huge_array::huge_array(std::size_t count, int threads)
    : count_{count},
      at_{static_cast<double*>(
          std::aligned_alloc(huge_page, (count * sizeof(double) + huge_page - 1) / huge_page * huge_page))} {
  if (at_ == nullptr) throw std::bad_alloc{};
  madvise(at_, count * sizeof(double), MADV_HUGEPAGE);
  bind_threads(threads);
  double* const at = at_;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t i = 0; i < count; ++i) at[i] = 0;
}

huge_array::~huge_array() { std::free(at_); }

raw_triad::raw_triad(std::size_t points) : a_{points, 2}, b_{points, 2}, c_{points, 2} {}

double raw_triad::run(int threads) {
  double* __restrict const a = a_.data();
  const double* __restrict const b = b_.data(), * __restrict const c = c_.data();
  const std::size_t n = a_.size();
  const auto start = std::chrono::steady_clock::now();
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + 3.0 * c[i];
  return seconds_since(start);
}

raw_mix::raw_mix(std::size_t points, int threads) : points_{points}, threads_{threads} {}

double raw_mix::run(int read, int written, int updated) {
  constexpr std::size_t row = 512;  // points: what is summed up lies in the first-level cache
  const std::size_t count =
      static_cast<std::size_t>(read) + static_cast<std::size_t>(written) + static_cast<std::size_t>(updated);
  // One more cache line each: arrays whose starts share cache sets would disturb each other.
  while (arrays_.size() < count)
    arrays_.push_back(std::make_unique<huge_array>(points_ + 8 * arrays_.size(), threads_));
  std::vector<double*> at;
  for (std::size_t i = 0; i < count; ++i) at.push_back(arrays_[i]->data() + 8 * i);
  double best = 1e300;
  for (int turn = 0; turn < 3; ++turn) {
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::size_t first = 0; first < points_; first += row) {
      alignas(64) double sum[row] = {};
      // From those that are read and those that are updated to those that are updated and those that are written.
      for (int a = 0; a < read + updated; ++a) {
        const double* __restrict const from = at[static_cast<std::size_t>(a)] + first;
        for (std::size_t i = 0; i < row; ++i) sum[i] += from[i];
      }
      for (int a = read; a < read + updated + written; ++a) {
        double* __restrict const to = at[static_cast<std::size_t>(a)] + first;
        for (std::size_t i = 0; i < row; ++i) to[i] = sum[i];
      }
    }
    best = std::min(best, seconds_since(start));
  }
  return best;
}

void raw_jacobi(const double* from, double* to, int n, int threads) {
  const auto row = static_cast<std::ptrdiff_t>(n) + 2;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int y = 1; y <= n; ++y) {
    const double* __restrict const x = from + y * row;
    double* __restrict const z = to + y * row;
#pragma GCC ivdep
    for (int i = 1; i <= n; ++i) z[i] = 0.25 * (x[i + 1] + x[i - 1] + x[i + row] + x[i - row]);
  }
}

double move_through_file(const std::string& directory, std::size_t bytes) {
  bytes = (bytes + request_bytes - 1) / request_bytes * request_bytes;
  const situ::os::descriptor file = make_file(directory);
  std::atomic<std::size_t> filled{0}, to_read{0}, to_write{0};
  std::atomic<bool> good = move_all(file.number(), true, 0, bytes, filled);  // there must be something to read
  if (good)
    good = move_all(file.number(), true, bytes, bytes,
                    (filled = 0, filled));  // and room to write: blocks that are there already, as in a later chain
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> movers;
  for (int i = 0; i < 4 && good; ++i) {
    movers.emplace_back([&, is_write = i % 2 == 0] {
      if (!move_all(file.number(), is_write, is_write ? bytes : 0, bytes, is_write ? to_write : to_read)) good = false;
    });
  }
  for (auto& m : movers) m.join();
  if (!good) throw std::runtime_error{"a file in " + directory + " cannot be read and written past the page cache"};
  return seconds_since(start);
}

}  // namespace stencil_bench
