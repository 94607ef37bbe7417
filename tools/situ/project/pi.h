// What the program computes; main.cpp runs it, and test.cpp checks it. Replace it by your own.
#pragma once

#include <situ/situ.h>

#include <cstdint>
#include <functional>

// Pi, as the area below 4 / (1 + x * x) from 0 to 1, in `steps` rectangles. All places call it, and each adds up every
// place_count-th rectangle.
inline double pi(std::uint64_t steps) {
  double sum = 0;
  for (std::uint64_t i = situ::here().index(); i < steps; i += situ::place_count()) {
    const double x = (static_cast<double>(i) + 0.5) / static_cast<double>(steps);
    sum += 4 / (1 + x * x);
  }
  return situ::all_reduce(sum, std::plus<>{}) / static_cast<double>(steps);
}
