// The Taylor-Green vortex: the compressible Navier-Stokes equations of a perfect gas in a box of symmetry planes, in 29
// datasets and 66 loops a step. Nothing is read back during a step, so as many steps as one likes make a chain.
//
//   space      4th-order central differences. The convective terms in the split form of Feiereisen, D(m f) -> (D(m f) +
//              m D f + f D m) / 2, by its fluxes d_k (m_0 + m_k) (f_0 + f_k) / 2: it keeps mass, momentum and energy,
//              and does not make kinetic energy by itself (Pirozzoli, J. Comput. Phys. 229, 2010). Second derivatives
//              are compact where they can be, viscosity is constant.
//   time       the third-order Runge-Kutta scheme of Williamson in two registers (J. Comput. Phys. 35, 1980)
//   start      u = sin x cos y cos z, v = -cos x sin y cos z, w = 0 (Taylor, Green, Proc. R. Soc. A 158, 1937) or the
//              same without z, at one temperature, with the pressure of the incompressible flow
//
// The periodic box of side 2 pi is symmetric to the planes x, y, z = 0 and pi, and stays so: only [0, pi]^3 is
// computed. Lengths are in units of the inverse wave number, velocities in that of the start, density in that of the
// mean; the sound then has the speed 1 / mach.
#pragma once

#include "reflection.h"

#include <vector>

namespace stencil_programs {

enum class vortex { three_dimensional, two_dimensional };

struct flow_totals {
  double mass;            // means over the box, in units of the start's density
  double energy;          // total
  double kinetic_energy;  // of density u^2 / 2
  double enstrophy;       // of vorticity^2: twice what is often called so
};

class taylor_green_solver {
 public:
  using field = situ::stencil::dataset<double, 3>;
  static constexpr double gamma = 1.4, prandtl = 0.71;

  // pi / cells[0] is the spacing in all directions. cells[1] and cells[2]: multiples of cells[0], or of the
  // two-dimensional vortex cells[2] anything from 2.
  taylor_green_solver(situ::stencil::context& run, const std::array<int, 3>& cells, vortex start, double mach,
                      double reynolds);
  taylor_green_solver(const taylor_green_solver&) = delete;
  taylor_green_solver& operator=(const taylor_green_solver&) = delete;

  [[nodiscard]] double longest_step() const noexcept;
  // Queues one step.
  void step(double dt);
  // Executes what is queued.
  [[nodiscard]] flow_totals totals();
  // Density, momentum in x, y, z, total energy.
  [[nodiscard]] const std::vector<field>& state() const noexcept { return state_; }
  [[nodiscard]] static constexpr int datasets() noexcept { return 29; }

 private:
  [[nodiscard]] situ::stencil::box inside() const;
  [[nodiscard]] std::vector<field> make(std::initializer_list<const char*> names, int ghosts) const;
  void set(vortex start, double mach);
  void mirror();
  void find_gradients();  // and velocity, pressure, temperature
  template <int E>
  void convect();
  template <int C>
  void add_viscous_force();
  void add_dissipation();
  void advance(int stage, double dt);

  situ::stencil::block<3> block_;
  std::array<int, 3> n_;
  double width_, sound_, viscosity_;
  reflection<3> planes_;
  std::vector<situ::stencil::shape> five_;  // along each direction
  situ::stencil::shape star_ = situ::stencil::shape::star(3, 2);
  situ::stencil::reduction<double, 4> totals_;
  std::vector<field> state_, change_, residual_, velocity_,
      gradient_;                  // gradient_[3 * e + c]: of component c in direction e
  field pressure_, temperature_;  // temperature: pressure / density
};

}  // namespace stencil_programs
