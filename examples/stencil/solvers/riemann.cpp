#include "riemann.h"

#include <cmath>

namespace stencil_programs {
namespace {

double sound(const gas_state& s, double gamma) { return std::sqrt(gamma * s.pressure / s.density); }

// The velocity that a rarefaction or a shock to pressure p gives to gas at rest.
double rarefaction_velocity(const gas_state& s, double p, double gamma) {
  return 2 * sound(s, gamma) / (gamma - 1) * (1 - std::pow(p / s.pressure, (gamma - 1) / (2 * gamma)));
}
double shock_velocity(const gas_state& s, double p, double gamma) {
  return (p - s.pressure) * std::sqrt(2 / (s.density * ((gamma + 1) * p + (gamma - 1) * s.pressure)));
}

}  // namespace

shock_tube::shock_tube(const gas_state& left, const gas_state& right, double gamma)
    : left_{left}, right_{right}, gamma_{gamma} {
  // Both velocities are monotonous in p: halve the interval.
  double low = right.pressure, high = left.pressure;
  for (int i = 0; i < 200; ++i) {
    pressure_ = 0.5 * (low + high);
    (rarefaction_velocity(left, pressure_, gamma) > shock_velocity(right, pressure_, gamma) ? low : high) = pressure_;
  }
  velocity_ = shock_velocity(right, pressure_, gamma);
}

double shock_tube::density(double x_over_t) const noexcept {
  const double g = gamma_, c = sound(left_, g);
  const double ratio = pressure_ / right_.pressure, k = (g - 1) / (g + 1);
  const double shock_speed = sound(right_, g) * std::sqrt((g + 1) / (2 * g) * ratio + (g - 1) / (2 * g));
  const double left_star = left_.density * std::pow(pressure_ / left_.pressure, 1 / g);
  const double tail = velocity_ - c * std::pow(pressure_ / left_.pressure, (g - 1) / (2 * g));
  if (x_over_t <= -c) return left_.density;
  if (x_over_t < tail) return left_.density * std::pow(2 / (g + 1) - k * x_over_t / c, 2 / (g - 1));
  if (x_over_t < velocity_) return left_star;
  if (x_over_t < shock_speed) return right_.density * (ratio + k) / (k * ratio + 1);
  return right_.density;
}

}  // namespace stencil_programs
