// The compressible Euler equations of a perfect gas in 2 or 3 dimensions, by a Lagrangian step and a remap on a
// staggered grid: velocities at nodes, all else in cells. The kind of scheme that hydrodynamics codes and their
// mini-applications use; some 25 datasets, 100 loops a step.
//
//   Lagrangian step  the artificial viscosity of von Neumann and Richtmyer with Landshoff's linear term; a predictor to
//                    the middle of the time step, and a corrector with its pressure. Work and acceleration use the same
//                    areas, so the sum of internal and kinetic energy is kept to rounding (von Neumann, Richtmyer, J.
//                    Appl. Phys. 21, 1950; Benson, Comp. Meth. Appl. Mech. Eng. 99, 1992).
//   remap            directions one after the other, in the reverse order every other step; mass, energy and momentum
//                    move by second-order upwind fluxes with van Leer's limiter (J. Comput. Phys. 32, 1979). Keeps mass
//                    and momentum; of the kinetic energy some is lost where velocities jump, as in all schemes of this
//                    kind.
//
// The box is closed by symmetry planes (walls without friction). Indices: cell i lies between nodes i and i+1; face i
// of direction E is the one between cells i-1 and i in E. Fields have two ghost layers: cells -2 to n+1, nodes -2 to
// n+2.
//
// One step is one chain: its length needs the minimum over all cells, which ends the chain.
#pragma once

#include "reflection.h"

#include <functional>
#include <vector>

namespace stencil_programs {

struct gas_state {
  double density;
  double pressure;
};

struct gas_totals {
  double mass;
  double internal_energy;
  double kinetic_energy;
};

template <int D>
class euler_solver {
 public:
  using field = situ::stencil::dataset<double, D>;
  static constexpr double gamma = 1.4;

  // Cubic cells of the given width. The gas is at rest; `start` gives its state in a cell.
  euler_solver(situ::stencil::context& run, const std::array<int, D>& cells, double width,
               const std::function<gas_state(const std::array<int, D>&)>& start);

  // Takes one step, at most so long, and returns its length.
  double step(double at_most);
  [[nodiscard]] gas_totals totals();
  [[nodiscard]] const field& density() const noexcept { return density0_; }
  [[nodiscard]] const field& energy() const noexcept { return energy0_; }
  [[nodiscard]] const std::vector<field>& velocity() const noexcept { return velocity0_; }
  [[nodiscard]] int datasets() const noexcept { return 15 + 4 * D; }
  // What a chain hands to the next one: density, energy, velocity, pressure and viscosity, to be read once and written
  // once.
  [[nodiscard]] double bytes_that_must_move() const;

 private:
  [[nodiscard]] situ::stencil::box cells(int low, int high) const;  // cells low to n-1+high in each direction
  [[nodiscard]] situ::stencil::box nodes(int low, int high) const;  // nodes low to n+high
  [[nodiscard]] field make(const char* name, int more, int direction = -1) const;
  [[nodiscard]] std::vector<field> make_vector(const char* name, bool at_nodes) const;

  void mirror_cells(const field& f);
  void mirror_velocity(const std::vector<field>& velocity, int component, const situ::stencil::box& across,
                       int direction);
  void mirror_state();
  void find_pressure(const field& density, const field& energy, bool also_sound);
  void find_limit();
  void lagrangian_step(double dt);
  void find_volumes(const std::array<double, D>& left, int now);
  template <int E>
  void remap();
  template <int E>
  void remap_momentum();
  void keep();
  void begin_cyclic();

  situ::stencil::block<D> block_;
  std::array<int, D> n_;
  double width_;
  reflection<D> planes_;
  situ::stencil::reduction<double> limit_;
  situ::stencil::reduction<double, 3> totals_;
  field density0_, density1_, energy0_, energy1_, pressure_, viscosity_, sound_;
  field volume_before_, volume_after_, mass_after_, energy_flux_;         // of the remap, in cells and at faces
  field node_flux_, node_mass_before_, node_mass_after_, momentum_flux_;  // and at nodes
  std::vector<field> velocity0_, velocity1_, volume_flux_, mass_flux_;
  long steps_ = 0;
};

extern template class euler_solver<2>;
extern template class euler_solver<3>;

}  // namespace stencil_programs
