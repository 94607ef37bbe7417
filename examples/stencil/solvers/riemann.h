// The exact solution of the Riemann problem of a perfect gas at rest on both sides (a shock tube), after Toro, "Riemann
// Solvers and Numerical Methods for Fluid Dynamics", chapter 4. Values; thread-safe.
#pragma once

#include "euler_solver.h"

namespace stencil_programs {

class shock_tube {
 public:
  // pre: left.pressure >= right.pressure, so that a rarefaction runs left and a shock right.
  shock_tube(const gas_state& left, const gas_state& right, double gamma);
  // At distance x from the diaphragm, over the time since it broke.
  [[nodiscard]] double density(double x_over_t) const noexcept;

 private:
  gas_state left_, right_;
  double gamma_;
  double pressure_ = 0;  // between the waves
  double velocity_ = 0;
};

}  // namespace stencil_programs
