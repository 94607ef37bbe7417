// What it costs to touch data again, by how many other bytes one has touched since: a machine's caches and its memory
// as one measured curve. Programs that order their work choose by it how much to touch before they come back.
//
// A point of the curve is taken with all threads at once, each of which goes through memory of its own in turns; what
// threads take from each other, and what a host gives to others, is in it. Costs are those above the same loop's in the
// first-level cache.
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

// Of one thread.
struct reuse_cost {
  double bytes = 0;     // touched in turns
  double read_ns = 0;   // for each byte that is read
  double write_ns = 0;  // for each byte that is overwritten: to fetch its line, and to put it back later
  double start_ns = 0;  // for each piece of memory that a loop begins with, where no prefetcher could see it coming

  friend bool operator==(const reuse_cost&, const reuse_cost&) = default;
};

class reuse_curve {
 public:
  reuse_curve() = default;
  // pre: ascending in bytes, which are above 0. No cost falls where bytes grow, and what disturbs a measurement only
  // adds to it: a cost above that of more bytes is lowered to it. handed_ns: for each byte that another thread has
  // written just before.
  explicit reuse_curve(std::vector<reuse_cost> points, double handed_ns = 0);

  [[nodiscard]] const std::vector<reuse_cost>& points() const noexcept { return points_; }
  [[nodiscard]] double handed_ns() const noexcept { return handed_ns_; }
  // Between points linear over the logarithm of bytes; below the first nothing, above the last what the last says.
  // cost: a search in some 16 points.
  [[nodiscard]] reuse_cost at(double bytes) const noexcept;

 private:
  std::vector<reuse_cost> points_;
  double handed_ns_ = 0;
};

// Runs a function on all threads that are to be measured, with their numbers from 0, and returns when all are done.
using run_on_all = std::function<void(const std::function<void(int thread)>&)>;

// most_bytes: of one thread, the last point's; several times its share of the last cache, so that it is memory's.
// Empty if the memory cannot be had. cost: some 100 ms, and most_bytes for each thread.
[[nodiscard]] reuse_curve measure_reuse(const run_on_all& run, int threads, std::uint64_t most_bytes);

// As text, a point a line, after a line that names the machine.
[[nodiscard]] std::string to_text(const reuse_curve& curve, std::string_view machine);
// Nothing where the text is damaged or of another machine. Reads any bytes.
[[nodiscard]] std::optional<reuse_curve> parse_reuse(std::string_view text, std::string_view machine);

// The folder where measurements are kept: SITU_CACHE_DIRECTORY, else XDG_CACHE_HOME/situ, else HOME/.cache/situ. Empty
// where none of them is set, or the first one is "off": nothing is kept then.
[[nodiscard]] std::string kept_directory();
// The curve kept there for this machine, else a new one, which is kept: whole or not at all. What cannot be read or
// written is measured again another time. machine: what distinguishes it, on one line.
[[nodiscard]] reuse_curve kept_reuse(const std::string& directory, std::string_view machine,
                                     const std::function<reuse_curve()>& measure);

}  // namespace situ::machine
