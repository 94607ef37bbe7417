// The cost of touching data again, by the number of other bytes touched since: one measured curve for a machine's
// caches and its memory. Programs that order their work use it to choose how much to touch before they come back.
//
// For each point of the curve all threads run at once, and each goes repeatedly through memory of its own; so the curve
// includes what threads take from each other, and what a host gives to others. Costs are relative to the same loop in
// the first-level cache.
//
// reuse_curve is a value. measure_reuse() is not thread-safe with itself: two measurements at once disturb each other.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace situ::machine {

// One point of the curve, for one thread.
struct reuse_cost {
  double bytes = 0;     // working set: bytes touched in turns
  double read_ns = 0;   // for each byte read
  double write_ns = 0;  // for each byte overwritten: fetching its line, and writing it back later
  // for each piece of memory that a loop begins with, whose first access no prefetcher can foresee
  double start_ns = 0;

  friend bool operator==(const reuse_cost&, const reuse_cost&) = default;
};

class reuse_curve {
 public:
  reuse_curve() = default;
  // pre: `points` are ascending in bytes, which are above 0. A cost does not fall as bytes grow, and a disturbance of
  // the measurement only adds to it: a cost above that of a larger point is lowered to it. handed_ns: the cost for each
  // byte that another thread has written just before.
  explicit reuse_curve(std::vector<reuse_cost> points, double handed_ns = 0);

  [[nodiscard]] const std::vector<reuse_cost>& points() const noexcept { return points_; }
  [[nodiscard]] double handed_ns() const noexcept { return handed_ns_; }
  // Returns the costs at `bytes`: interpolated between points, linearly over the logarithm of bytes; zero below the
  // first point, those of the last point above it. cost: a search in some 16 points.
  [[nodiscard]] reuse_cost at(double bytes) const noexcept;

 private:
  std::vector<reuse_cost> points_;
  double handed_ns_ = 0;
};

// Runs a function on all threads that are to be measured, with their numbers from 0, and returns when all are done.
using run_on_all = std::function<void(const std::function<void(int thread)>&)>;

// Measures the curve. most_bytes: the bytes of one thread at the last point; choose several times its share of the last
// cache, so that the point measures memory. The curve is empty if memory cannot be allocated. cost: some 100 ms, and
// most_bytes for each thread.
[[nodiscard]] reuse_curve measure_reuse(const run_on_all& run, int threads, std::uint64_t most_bytes);

// Returns the curve as text, a point a line, after a line that names the machine.
[[nodiscard]] std::string to_text(const reuse_curve& curve, std::string_view machine);
// Reads a curve from any bytes. Returns nullopt if the text is damaged or names another machine.
[[nodiscard]] std::optional<reuse_curve> parse_reuse(std::string_view text, std::string_view machine);

// Returns the folder that stores measurements: SITU_CACHE_DIRECTORY, else XDG_CACHE_HOME/situ, else HOME/.cache/situ.
// Returns "" (measurements are not stored) if none of them is set, or the first one is "off".
[[nodiscard]] std::string kept_directory();
// Returns the curve stored in the folder for this machine, or else measures a curve and stores it atomically. If the
// file cannot be read or written, the next call measures again. machine: one line that identifies the machine.
[[nodiscard]] reuse_curve kept_reuse(const std::string& directory, std::string_view machine,
                                     const std::function<reuse_curve()>& measure);

}  // namespace situ::machine
