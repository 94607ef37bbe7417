// Loops as one would write them by hand, with OpenMP, and what a file takes by itself: the limits that Situ is measured
// against.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace stencil_bench {

// Doubles in huge pages, as datasets are: otherwise the comparison would be one of page sizes. Zeros, first touched by
// the threads that use them.
class huge_array {
 public:
  huge_array(std::size_t count, int threads);
  ~huge_array();
  huge_array(const huge_array&) = delete;
  huge_array& operator=(const huge_array&) = delete;
  [[nodiscard]] double* data() const noexcept { return at_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  std::size_t count_;
  double* at_;
};

// STREAM's triad: a = b + s c.
class raw_triad {
 public:
  explicit raw_triad(std::size_t points);
  // Seconds.
  double run(int threads);
  [[nodiscard]] std::size_t points() const noexcept { return a_.size(); }

 private:
  huge_array a_, b_, c_;
};

// A loop over as many arrays as somebody's loop has, which computes next to nothing: what memory gives to such a mix.
class raw_mix {
 public:
  raw_mix(std::size_t points, int threads);
  // Seconds, the best of some: so many arrays are only read, only written, and both.
  double run(int read, int written, int updated);
  [[nodiscard]] std::size_t points() const noexcept { return points_; }

 private:
  std::size_t points_;
  int threads_;
  std::vector<std::unique_ptr<huge_array>> arrays_;
};

// One sweep of the 5-point Jacobi iteration over the inside of a square of n + 2 points a side, its rows side by side.
void raw_jacobi(const double* from, double* to, int n, int threads);

// Seconds to read and to write so many bytes each, at the same time, past the page cache, in a file without a name that
// is removed again. Throws std::runtime_error.
double move_through_file(const std::string& directory, std::size_t bytes);

}  // namespace stencil_bench
