// The tile that a context chooses by itself, beside the best of a sweep by hand: a step of the Euler equations.
#include "blast.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <vector>

namespace stencil_bench {

using namespace situ::stencil;

namespace {

constexpr int first_steps = 10;  // in which all trials should be done

// Nanoseconds for a step, the mean of so many.
template <int D>
double mean_of(blast<D>& gas, int steps) {
  double sum = 0;
  for (int i = 0; i < steps; ++i) sum += gas.step();
  return sum / steps;
}

// Of tiles that reach over whole lines, and of shorter ones.
template <int D>
std::vector<coordinates> tiles_by_hand() {
  std::vector<coordinates> tiles;
  if constexpr (D == 2) {
    for (const int x : {0, 256, 512})
      for (const int y : {16, 32, 64}) tiles.push_back({x, y});
  } else {
    for (const int y : {16, 32, 64})
      for (const int z : {8, 16}) tiles.push_back({0, y, z});
  }
  return tiles;
}

template <int D>
double best_by_hand(int n, bool is_quick) {
  double best = std::numeric_limits<double>::max();
  for (const coordinates& tile : tiles_by_hand<D>()) {
    auto how = options_for(executor::tiled);
    how.tile = tile;
    blast<D> gas{how, n};
    mean_of(gas, 2);  // the start, and a plan
    best = std::min(best, mean_of(gas, is_quick ? 1 : 4));
  }
  return best;
}

template <int D>
void measure(const session& s, const char* case_name) {
  const int n = s.is_quick ? 48 : D == 2 ? 3840 : 192;
  sampler samples{s, case_name};
  samples.repeat([&] {
    const double best_ns = best_by_hand<D>(n, s.is_quick);
    blast<D> gas{options_for(executor::tiled), n};
    gas.step();  // the start: memory that is touched for the first time
    const double first_ns = mean_of(gas, first_steps), later_ns = mean_of(gas, first_steps);
    samples.print("by_hand", best_ns, best_ns);
    samples.print("first_ten", first_ns, best_ns);
    samples.print("tiled", later_ns, best_ns);
  });
}

}  // namespace

void measure_tile_choice(const session& s, const char* case_name, int dimensions) {
  if (dimensions == 2)
    measure<2>(s, case_name);
  else
    measure<3>(s, case_name);
}

}  // namespace stencil_bench
