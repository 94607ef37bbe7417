// Jacobi's iteration with ghost rows that are told by signals, beside the same with a barrier and gets: a plate of
// 512 x 512, its rows at two places.
#include <situ/situ.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cases.h"

namespace everyday {
namespace {

constexpr std::size_t width = 512, pitch = width + 2;

// Of a place: its rows and a ghost row above and below, twice; signals of what has come from above and from below.
struct part {
  situ::ptr<double> plates[2];
  situ::ptr<situ::signal> from_above, from_below;
};

class plate {
 public:
  plate() : rows_{width / situ::place_count()}, me_{situ::here().index()} {
    part mine;
    for (situ::ptr<double>& each : mine.plates) {
      each = situ::allocate<double>((rows_ + 2) * pitch);
      std::fill_n(each.local(), (rows_ + 2) * pitch, me_ == 0 ? 1.0 : 0.0);
    }
    mine.from_above = situ::allocate_signals();
    mine.from_below = situ::allocate_signals();
    parts_ = situ::all_gather(mine);
  }
  plate(const plate&) = delete;
  plate& operator=(const plate&) = delete;
  ~plate() {
    situ::barrier();
    for (const situ::ptr<double> each : mine().plates) situ::deallocate(each);
    situ::deallocate(mine().from_above);
    situ::deallocate(mine().from_below);
  }

  void step_by_barrier() {
    const std::size_t now = steps_ % 2;
    double* const u = mine().plates[now].local();
    situ::barrier();
    if (has_above()) situ::get(u, parts_[me_ - 1].plates[now] + at_row(rows_), pitch);
    if (has_below()) situ::get(u + at_row(rows_ + 1), parts_[me_ + 1].plates[now] + at_row(1), pitch);
    relax();
  }
  // What a neighbour writes in two steps goes to the same row, which it has been told is read by then.
  void step_by_signals() {
    const std::size_t now = steps_ % 2;
    const double* const u = mine().plates[now].local();
    const std::uint64_t step = ++told_;
    if (has_above()) {
      const part& above = parts_[me_ - 1];
      situ::put_signal(above.plates[now] + at_row(rows_ + 1), u + at_row(1), pitch, above.from_below, step);
    }
    if (has_below()) {
      const part& below = parts_[me_ + 1];
      situ::put_signal(below.plates[now], u + at_row(rows_), pitch, below.from_above, step);
    }
    const auto has_come = [step](std::uint64_t value) { return value >= step; };
    if (has_above()) situ::wait_until(mine().from_above, has_come);
    if (has_below()) situ::wait_until(mine().from_below, has_come);
    relax();
  }

 private:
  [[nodiscard]] const part& mine() const { return parts_[me_]; }
  [[nodiscard]] bool has_above() const { return me_ > 0; }
  [[nodiscard]] bool has_below() const { return me_ + 1 < parts_.size(); }
  [[nodiscard]] static std::ptrdiff_t at_row(std::size_t row) { return static_cast<std::ptrdiff_t>(row * pitch); }
  void relax() {
    const double* u = mine().plates[steps_ % 2].local();
    double* next = mine().plates[++steps_ % 2].local();
    for (std::size_t i = 1; i <= rows_; ++i)
      for (std::size_t j = 1; j <= width; ++j) {
        const std::size_t at = i * pitch + j;
        next[at] = 0.25 * (u[at - pitch] + u[at + pitch] + u[at - 1] + u[at + 1]);
      }
  }

  std::size_t rows_;
  std::uint32_t me_;
  std::vector<part> parts_;
  std::size_t steps_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace

void measure_flags() {
  const int steps = is_quick() ? 10 : 300;
  plate u;
  samples barriers{"barriers"}, signals{"situ"};
  const auto take = [&](samples& to, auto step) {
    to.ns.push_back(time_together([&] {
                      for (int i = 0; i < steps; ++i) step();
                    }) /
                    steps);
  };
  for (int sample = 0; sample < (is_quick() ? 1 : 15); ++sample) {
    take(barriers, [&] { u.step_by_barrier(); });
    take(signals, [&] { u.step_by_signals(); });
  }
  print("jacobi_by_flags", {barriers, signals});
}

}  // namespace everyday
