// monte_carlo: pi, by points thrown at a square. Place 0 hands out batches, to each place the next one when its answer
// has come, until the error is small enough: who is faster gets more, and nobody waits for the slowest.
//
//   situ run -n 4 monte_carlo [error, 0.001]
#include <situ/situ.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <random>
#include <vector>

namespace {

struct batch {
  std::uint32_t seed;
  std::uint64_t points;
};
struct estimate {
  std::uint64_t points = 0;
  std::uint64_t within = 0;  // the quarter of a circle
  [[nodiscard]] double pi() const { return 4.0 * static_cast<double>(within) / static_cast<double>(points); }
  [[nodiscard]] double error() const {
    return std::sqrt(pi() * (4 - pi()) / static_cast<double>(points));  // a binomial's standard deviation
  }
};

estimate throw_points(batch b) {
  std::mt19937_64 draw{b.seed};
  std::uniform_real_distribution<double> side;
  estimate made{b.points, 0};
  for (std::uint64_t i = 0; i < b.points; ++i) {
    const double x = side(draw), y = side(draw);
    made.within += x * x + y * y < 1;
  }
  return made;
}

estimate estimate_pi(double error) {
  std::uint32_t seed = 0;
  const auto ask = [&](situ::place p) { return situ::async_at(p, throw_points, batch{seed++, 50'000}); };
  std::vector<situ::future<estimate>> answers;
  for (const situ::place p : situ::places()) answers.push_back(ask(p));
  estimate all;
  while (all.points == 0 || all.error() > error) {
    const std::size_t first = situ::wait_any(answers);
    const estimate part = answers[first].get();
    all = {all.points + part.points, all.within + part.within};
    answers[first] = ask(situ::place{static_cast<std::uint32_t>(first)});
  }
  return all;  // what is still under way nobody needs: the runtime's end waits for it
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (situ::here().index() != 0) return 0;  // serves calls until all places leave
  const estimate all = estimate_pi(argc > 1 ? std::atof(argv[1]) : 0.001);
  const bool is_right = std::abs(all.pi() - std::numbers::pi) < 5 * all.error();
  std::printf("%lu points: %.4f, %s\n", static_cast<unsigned long>(all.points), all.pi(),
              is_right ? "which is pi" : "which is not pi");
}
