#include "euler_solver.h"

#include <cmath>
#include <limits>
#include <tuple>

namespace stencil_programs {

using namespace situ::stencil;

namespace {

constexpr double quadratic = 2.0, linear = 0.5;  // of the artificial viscosity: usual values (Benson 1992, section 3.3)

// f of each corner 0 to 2^Bits - 1, summed in their order. The corner is a constant, so offsets are, too.
template <int Bits, class F>
[[gnu::always_inline]] inline double sum_corners(F f) {
  return [&]<std::size_t... C>(std::index_sequence<C...>) __attribute__((always_inline)) {
    return (f(std::integral_constant<std::size_t, C>{}) + ...);
  }(std::make_index_sequence<(std::size_t{1} << Bits)>{});
}

// u at corner C of the cube {shift, shift + 1}^D.
template <std::size_t C, class U>
[[gnu::always_inline]] inline double at_corner(const U& u, int shift) {
  const auto o = [shift](int d) { return shift + static_cast<int>(C >> d & 1); };
  if constexpr (U::dims == 2) {
    return u(o(0), o(1));
  } else {
    return u(o(0), o(1), o(2));
  }
}

// The same in a plane normal to E, at offset k.
template <int E, std::size_t C, class U>
[[gnu::always_inline]] inline double at_plane_corner(const U& u, int shift, int k) {
  const auto o = [=](int d) { return d == E ? k : shift + static_cast<int>(C >> (d < E ? d : d - 1) & 1); };
  if constexpr (U::dims == 2) {
    return u(o(0), o(1));
  } else {
    return u(o(0), o(1), o(2));
  }
}

template <int E, class U>
[[gnu::always_inline]] inline double plane_mean(const U& u, int shift, int k) {
  constexpr int bits = U::dims - 1;
  return sum_corners<bits>([&](auto c) { return at_plane_corner<E, c>(u, shift, k); }) * (1.0 / (1 << bits));
}

template <class U>
[[gnu::always_inline]] inline double corner_mean(const U& u, int shift) {
  return sum_corners<U::dims>([&](auto c) { return at_corner<c>(u, shift); }) * (1.0 / (1 << U::dims));
}

// Sums over the directions E a function of E and the E-th field.
template <class F, class... U>
[[gnu::always_inline]] inline double sum_directions(F f, const U&... u) {
  return [&]<int... E>(std::integer_sequence<int, E...>) __attribute__((always_inline)) {
    return (f(std::integral_constant<int, E>{}, u) + ...);
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(U))>{});
}

// Of a cell, times its width, by the velocities at its nodes.
template <class... U>
[[gnu::always_inline]] inline double divergence(const U&... u) {
  return sum_directions([](auto e, const auto& v) { return plane_mean<e>(v, 0, 1) - plane_mean<e>(v, 0, 0); }, u...);
}

// What flows out of a cell less what flows in, by weights of the directions.
template <std::size_t D, class... U>
[[gnu::always_inline]] inline double outflow(const std::array<double, D>& weight, const U&... flux) {
  return sum_directions([&](auto e, const auto& f) { return weight[e] * (along<e>(f, 1) - along<e>(f, 0)); }, flux...);
}

template <int D>
constexpr std::array<double, D> all_directions = [] {
  std::array<double, D> a{};
  a.fill(1);
  return a;
}();

// The state of a cell whose volume grows by `work` of itself: pressure and viscosity work at the cost of the internal
// energy.
template <class In, class Out>
[[gnu::always_inline]] inline void advance(double work, const In& density, const In& energy, const In& p, const In& q,
                                           const Out& new_density, const Out& new_energy) {
  along<0>(new_density, 0) = along<0>(density, 0) / (1 + work);
  along<0>(new_energy, 0) = along<0>(energy, 0) - (along<0>(p, 0) + along<0>(q, 0)) * work / along<0>(density, 0);
}

// van Leer's limited difference at a point, from those to both sides.
[[gnu::always_inline]] inline double limited(double a, double b) {
  const double product = a * b;
  return product > 0 ? 2 * product / (a + b) : 0.0;
}

// The value that is carried across a face, from the upwind one of u1 and u2 to its sides; u0 and u3 lie beyond.
// `share`: the part of the upwind cell that leaves it.
[[gnu::always_inline]] inline double carried(bool forward, double share, double u0, double u1, double u2, double u3) {
  const double behind = forward ? u0 : u3, here = forward ? u1 : u2, ahead = forward ? u2 : u1;
  return here + 0.5 * (1 - share) * limited(here - behind, ahead - here);
}

// All offsets of a box: in direction `e` from low to high, in the others from `others_low` to `others_high`.
template <int D>
shape box_shape(int e, int low, int high, int others_low, int others_high) {
  box b;
  for (int d = 0; d < D; ++d) {
    b.low[d] = d == e ? low : others_low;
    b.high[d] = (d == e ? high : others_high) + 1;
  }
  std::vector<coordinates> points;
  coordinates o{};
  for (o[2] = b.low[2]; o[2] < b.high[2]; ++o[2])
    for (o[1] = b.low[1]; o[1] < b.high[1]; ++o[1])
      for (o[0] = b.low[0]; o[0] < b.high[0]; ++o[0]) points.push_back(o);
  return {"box", D, points};
}

// Made once: plans are found again by their shapes.
template <int D>
struct shapes {
  shape to_nodes = box_shape<D>(-1, 0, 0, 0, 1);   // of a cell: its nodes
  shape to_cells = box_shape<D>(-1, 0, 0, -1, 0);  // of a node: the cells around it
  std::vector<shape> face_nodes, next, upwind_cells, upwind_nodes, dual_faces, sides;
  shapes() {
    for (int e = 0; e < D; ++e) {
      face_nodes.push_back(box_shape<D>(e, 0, 0, 0, 1));
      next.push_back(box_shape<D>(e, 0, 1, 0, 0));
      sides.push_back(box_shape<D>(e, -1, 0, 0, 0));
      upwind_cells.push_back(box_shape<D>(e, -2, 1, 0, 0));
      upwind_nodes.push_back(box_shape<D>(e, -1, 2, 0, 0));
      dual_faces.push_back(box_shape<D>(e, 0, 1, -1, 0));
    }
  }
  static const shapes& all() {
    static const shapes s;
    return s;
  }
};

// f with one argument a direction: make(std::integral_constant<int, 0>{}), ...
template <int D, class Make, class F>
void with_each(Make make, F f) {
  [&]<int... E>(std::integer_sequence<int, E...>) {
    f(make(std::integral_constant<int, E>{})...);
  }(std::make_integer_sequence<int, D>{});
}

// Named, since a lambda in a loop over directions is a kernel of its own for each of them.
constexpr auto to_nothing = [](auto... u) { ((along<0>(u, 0) = 0), ...); };
constexpr auto copied = [](auto from, auto to) { along<0>(to, 0) = along<0>(from, 0); };

template <int D>
box extended(box b, int e, int low, int high) {
  b.low[e] = low;
  b.high[e] = high;
  return b;
}

}  // namespace

template <int D>
box euler_solver<D>::cells(int low, int high) const {
  box b;
  for (int d = 0; d < D; ++d) {
    b.low[d] = low;
    b.high[d] = n_[d] + high;
  }
  return b;
}

template <int D>
box euler_solver<D>::nodes(int low, int high) const {
  return cells(low, high + 1);
}

// `more`: 1 for nodes. With a direction, faces normal to it.
template <int D>
auto euler_solver<D>::make(const char* name, int more, int direction) const -> field {
  std::array<int, D> extents = n_;
  for (int d = 0; d < D; ++d) extents[d] += d == direction ? 1 : more;
  return {block_, name, extents, 2};
}

template <int D>
auto euler_solver<D>::make_vector(const char* name, bool at_nodes) const -> std::vector<field> {
  std::vector<field> all;
  for (int d = 0; d < D; ++d) all.push_back(make((std::string{name} + "_" + "xyz"[d]).c_str(), at_nodes ? 1 : 0, d));
  return all;
}

template <int D>
euler_solver<D>::euler_solver(context& run, const std::array<int, D>& cells_each, double width,
                              const std::function<gas_state(const std::array<int, D>&)>& start)
    : block_{run, "gas"},
      n_{cells_each},
      width_{width},
      limit_{run, "longest step"},
      totals_{run, "totals"},
      density0_{make("density0", 0)},
      density1_{make("density1", 0)},
      energy0_{make("energy0", 0)},
      energy1_{make("energy1", 0)},
      pressure_{make("pressure", 0)},
      viscosity_{make("viscosity", 0)},
      sound_{make("sound", 0)},
      volume_before_{make("volume_before", 0)},
      volume_after_{make("volume_after", 0)},
      mass_after_{make("mass_after", 0)},
      energy_flux_{make("energy_flux", 1)},
      node_flux_{make("node_flux", 1)},
      node_mass_before_{make("node_mass_before", 1)},
      node_mass_after_{make("node_mass_after", 1)},
      momentum_flux_{make("momentum_flux", 1)},
      velocity0_{make_vector("velocity0", true)},
      velocity1_{make_vector("velocity1", true)},
      volume_flux_{make_vector("volume_flux", false)},
      mass_flux_{make_vector("mass_flux", false)} {
  par_loop(
      "start", block_, cells(0, 0),
      [start](auto density, auto energy, const auto& i) {
        const gas_state s = start(i);
        along<0>(density, 0) = s.density;
        along<0>(energy, 0) = s.pressure / ((gamma - 1) * s.density);
      },
      write(density0_), write(energy0_), index());
  for (const field& v : velocity0_) par_loop("start", block_, nodes(-2, 2), to_nothing, write(v));
  mirror_state();
  find_limit();
  begin_cyclic();
}

template <int D>
void euler_solver<D>::begin_cyclic() {
  std::vector<dataset_core*> temporaries;
  for (const field* const f : {&density1_, &energy1_, &sound_, &volume_before_, &volume_after_, &mass_after_,
                               &energy_flux_, &node_flux_, &node_mass_before_, &node_mass_after_, &momentum_flux_}) {
    temporaries.push_back(f->core());
  }
  for (const auto* const fields : {&velocity1_, &volume_flux_, &mass_flux_})
    for (const field& f : *fields) temporaries.push_back(f.core());
  block_.owner().begin_cyclic(temporaries);
}

template <int D>
double euler_solver<D>::bytes_that_must_move() const {
  double points = 1;
  for (const int n : n_) points *= n;
  return points * sizeof(double) * (4 + D) * 2;
}

template <int D>
void euler_solver<D>::mirror_cells(const field& f) {
  for_each_direction<D>([&](auto e) {
    box across = cells(-2, 2);  // corners come from what earlier directions have mirrored
    for (int d = e + 1; d < D; ++d) across = extended<D>(across, d, 0, n_[d]);
    planes_.template mirror<e>(block_, across, lies::between, n_[e] - 1, {1.0}, f);
  });
}

// The component along the normal is 0 on the planes.
template <int D>
void euler_solver<D>::mirror_velocity(const std::vector<field>& velocity, int component, const box& across,
                                      int direction) {
  const field& u = velocity[static_cast<std::size_t>(component)];
  for_each_direction<D>([&](auto e) {
    if (e != direction) return;
    if (component == direction) {
      for (const int plane : {0, n_[e]})
        par_loop("wall", block_, extended<D>(across, e, plane, plane + 1), to_nothing, write(u));
    }
    planes_.template mirror<e>(block_, across, lies::on, n_[e], {component == direction ? -1.0 : 1.0}, u);
  });
}

template <int D>
void euler_solver<D>::mirror_state() {
  mirror_cells(density0_);
  mirror_cells(energy0_);
  for (int c = 0; c < D; ++c) {
    for (int e = 0; e < D; ++e) {
      box across = nodes(-2, 2);
      for (int d = e + 1; d < D; ++d) across = extended<D>(across, d, 0, n_[d] + 1);
      mirror_velocity(velocity0_, c, across, e);
    }
  }
}

template <int D>
void euler_solver<D>::find_pressure(const field& density, const field& energy, bool also_sound) {
  if (!also_sound) {
    par_loop(
        "pressure", block_, cells(-2, 2),
        [](auto r, auto e, auto p) { along<0>(p, 0) = (gamma - 1) * along<0>(r, 0) * along<0>(e, 0); }, read(density),
        read(energy), write(pressure_));
    return;
  }
  par_loop(
      "pressure and sound", block_, cells(-2, 2),
      [](auto r, auto e, auto p, auto c) {
        along<0>(p, 0) = (gamma - 1) * along<0>(r, 0) * along<0>(e, 0);
        along<0>(c, 0) = std::sqrt(gamma * (gamma - 1) * along<0>(e, 0));
      },
      read(density), read(energy), write(pressure_), write(sound_));
}

// Viscosity, and the longest step that is stable: a signal may cross some part of a cell only.
template <int D>
void euler_solver<D>::find_limit() {
  const auto& s = shapes<D>::all();
  find_pressure(density0_, energy0_, true);
  with_each<D>(
      [&](auto e) { return read(velocity0_[e], s.to_nodes); },
      [&](auto... u) {
        par_loop(
            "viscosity", block_, cells(-2, 2),
            [](auto density, auto sound, auto q, auto... v) {
              const double closing = std::min(divergence(v...), 0.0);
              along<0>(q, 0) = along<0>(density, 0) * closing * (quadratic * closing - linear * along<0>(sound, 0));
            },
            read(density0_), read(sound_), write(viscosity_), u...);
        // Into a dataset first, since gcc leaves loops with a minimum scalar.
        par_loop(
            "limits", block_, cells(0, 0),
            [part = 0.6 * width_ / std::sqrt(D)](auto density, auto sound, auto q, auto limit, auto... v) {
              const double c = along<0>(sound, 0);
              const double flow = (std::max(std::abs(plane_mean<0>(v, 0, 0)), std::abs(plane_mean<0>(v, 0, 1))) + ...);
              along<0>(limit, 0) = part / (std::sqrt(c * c + 4 * along<0>(q, 0) / along<0>(density, 0)) + flow);
            },
            read(density0_), read(sound_), read(viscosity_), write(mass_after_), u...);
      });
  par_loop(
      "longest step", block_, cells(0, 0),
      [](auto limit, double& least) { least = std::min<double>(least, along<0>(limit, 0)); }, read(mass_after_),
      min(limit_));
}

template <int D>
void euler_solver<D>::lagrangian_step(double dt) {
  const auto& s = shapes<D>::all();
  with_each<D>([&](auto e) { return read(velocity0_[e], s.to_nodes); },
               [&](auto... u) {
                 par_loop(
                     "predict", block_, cells(-2, 2),
                     [half = 0.5 * dt / width_](auto density, auto energy, auto p, auto q, auto new_density,
                                                auto new_energy, auto... v) {
                       advance(half * divergence(v...), density, energy, p, q, new_density, new_energy);
                     },
                     read(density0_), read(energy0_), read(pressure_), read(viscosity_), write(density1_),
                     write(energy1_), u...);
               });
  find_pressure(density1_, energy1_, false);
  for_each_direction<D>([&](auto e) {
    par_loop(
        "accelerate", block_, nodes(-1, 1),
        [by = dt / width_](auto density, auto p, auto q, auto u, auto v) {
          constexpr int E = decltype(e)::value;
          const double force =
              plane_mean<E>(p, -1, -1) - plane_mean<E>(p, -1, 0) + plane_mean<E>(q, -1, -1) - plane_mean<E>(q, -1, 0);
          along<0>(v, 0) = along<0>(u, 0) + by * force / corner_mean(density, -1);
        },
        read(density0_, s.to_cells), read(pressure_, s.to_cells), read(viscosity_, s.to_cells), read(velocity0_[e]),
        write(velocity1_[e]));
  });
  for (int c = 0; c < D; ++c) {
    for (int e = 0; e < D; ++e) {
      box across = nodes(-2, 2);
      for (int d = e + 1; d < D; ++d) across = extended<D>(across, d, -1, n_[d] + 2);
      mirror_velocity(velocity1_, c, across, e);
    }
  }
  // The mean velocity of the step moves the faces, and the cells with them.
  for_each_direction<D>([&](auto e) {
    par_loop(
        "faces", block_, extended<D>(cells(-2, 2), e, -2, n_[e] + 3),
        [by = 0.5 * dt * std::pow(width_, D - 1)](auto before, auto after, auto flux) {
          constexpr int E = decltype(e)::value;
          along<0>(flux, 0) = by * (plane_mean<E>(before, 0, 0) + plane_mean<E>(after, 0, 0));
        },
        read(velocity0_[e], s.face_nodes[e]), read(velocity1_[e], s.face_nodes[e]), write(volume_flux_[e]));
  });
  with_each<D>([&](auto e) { return read(volume_flux_[e], s.next[e]); },
               [&](auto... fluxes) {
                 par_loop(
                     "correct", block_, cells(-2, 2),
                     [by = 1 / std::pow(width_, D)](auto density, auto energy, auto p, auto q, auto new_density,
                                                    auto new_energy, auto... flux) {
                       advance(by * outflow(all_directions<D>, flux...), density, energy, p, q, new_density,
                               new_energy);
                     },
                     read(density0_), read(energy0_), read(pressure_), read(viscosity_), write(density1_),
                     write(energy1_), fluxes...);
               });
}

// Of the cells before and after direction `now` is moved. left[d]: 1 where direction d has not been moved before:
// volumes still hold what it will move.
template <int D>
void euler_solver<D>::find_volumes(const std::array<double, D>& left, int now) {
  const auto& s = shapes<D>::all();
  auto after = left;
  after[static_cast<std::size_t>(now)] = 0;
  with_each<D>([&](auto e) { return read(volume_flux_[e], s.next[e]); },
               [&](auto... fluxes) {
                 par_loop(
                     "volumes", block_, cells(-2, 2),
                     [left, after, volume = std::pow(width_, D)](auto v0, auto v1, auto... flux) {
                       along<0>(v0, 0) = volume + outflow(left, flux...);
                       along<0>(v1, 0) = volume + outflow(after, flux...);
                     },
                     write(volume_before_), write(volume_after_), fluxes...);
               });
}

// Moves what crosses the faces of direction E.
template <int D>
template <int E>
void euler_solver<D>::remap() {
  const auto& s = shapes<D>::all();
  const box all = cells(-2, 2);
  par_loop(
      "fluxes", block_, extended<D>(all, E, 0, n_[E] + 1),
      [](auto moved, auto density, auto energy, auto volume, auto mass_flux, auto energy_flux) {
        const double v = along<0>(moved, 0);
        const bool forward = v > 0;
        const double from = forward ? along<E>(volume, -1) : along<E>(volume, 0);
        const double m = v * carried(forward, std::abs(v) / from, along<E>(density, -2), along<E>(density, -1),
                                     along<E>(density, 0), along<E>(density, 1));
        const double mass = from * (forward ? along<E>(density, -1) : along<E>(density, 0));
        along<0>(mass_flux, 0) = m;
        along<0>(energy_flux, 0) = m * carried(forward, std::abs(m) / mass, along<E>(energy, -2), along<E>(energy, -1),
                                               along<E>(energy, 0), along<E>(energy, 1));
      },
      read(volume_flux_[E]), read(density1_, s.upwind_cells[E]), read(energy1_, s.upwind_cells[E]),
      read(volume_before_, s.sides[E]), write(mass_flux_[E]), write(energy_flux_));
  planes_.template mirror<E>(block_, all, lies::on, n_[E], {-1.0}, mass_flux_[E]);
  par_loop(
      "remap cells", block_, extended<D>(all, E, 0, n_[E]),
      [](auto v0, auto v1, auto mass_flux, auto energy_flux, auto density, auto energy, auto mass) {
        const double before = along<0>(density, 0) * along<0>(v0, 0);
        const double m = before + along<E>(mass_flux, 0) - along<E>(mass_flux, 1);
        along<0>(energy, 0) = (along<0>(energy, 0) * before + along<E>(energy_flux, 0) - along<E>(energy_flux, 1)) / m;
        along<0>(density, 0) = m / along<0>(v1, 0);
        along<0>(mass, 0) = m;
      },
      read(volume_before_), read(volume_after_), read(mass_flux_[E], s.next[E]), read(energy_flux_, s.next[E]),
      read_write(density1_), read_write(energy1_), write(mass_after_));
  for (const field* const f : {&density1_, &energy1_, &mass_after_})
    planes_.template mirror<E>(block_, all, lies::between, n_[E] - 1, {1.0}, *f);
  remap_momentum<E>();
}

// The same for the volumes around nodes: their masses and what crosses between them are the means of those of the
// cells.
template <int D>
template <int E>
void euler_solver<D>::remap_momentum() {
  const auto& s = shapes<D>::all();
  const box all = nodes(0, 0);
  par_loop(
      "node fluxes", block_, extended<D>(all, E, -1, n_[E] + 1),
      [](auto flux, auto between) {
        along<0>(between, 0) = 0.5 * (plane_mean<E>(flux, -1, 0) + plane_mean<E>(flux, -1, 1));
      },
      read(mass_flux_[E], s.dual_faces[E]), write(node_flux_));
  par_loop(
      "node masses", block_, all,
      [](auto mass, auto flux, auto before, auto after) {
        const double m = corner_mean(mass, -1);
        along<0>(after, 0) = m;
        along<0>(before, 0) = m - along<E>(flux, -1) + along<E>(flux, 0);
      },
      read(mass_after_, s.to_cells), read(node_flux_, s.sides[E]), write(node_mass_before_), write(node_mass_after_));
  for (int c = 0; c < D; ++c) {
    const field& velocity = velocity1_[static_cast<std::size_t>(c)];
    mirror_velocity(velocity1_, c, all, E);
    par_loop(
        "momentum fluxes", block_, extended<D>(all, E, 0, n_[E]),
        [](auto flux, auto mass, auto u, auto moved) {
          const double m = along<0>(flux, 0);
          const bool forward = m > 0;
          const double share = std::abs(m) / (forward ? along<E>(mass, 0) : along<E>(mass, 1));
          along<0>(moved, 0) =
              m * carried(forward, share, along<E>(u, -1), along<E>(u, 0), along<E>(u, 1), along<E>(u, 2));
        },
        read(node_flux_), read(node_mass_before_, s.next[E]), read(velocity, s.upwind_nodes[E]), write(momentum_flux_));
    planes_.template mirror<E>(block_, all, lies::between, n_[E] - 1, {c == E ? 1.0 : -1.0}, momentum_flux_);
    par_loop(
        "remap nodes", block_, all,
        [](auto before, auto after, auto moved, auto u) {
          along<0>(u, 0) =
              (along<0>(u, 0) * along<0>(before, 0) + along<E>(moved, -1) - along<E>(moved, 0)) / along<0>(after, 0);
        },
        read(node_mass_before_), read(node_mass_after_), read(momentum_flux_, s.sides[E]), read_write(velocity));
  }
}

template <int D>
void euler_solver<D>::keep() {
  par_loop("keep", block_, cells(0, 0), copied, read(density1_), write(density0_));
  par_loop("keep", block_, cells(0, 0), copied, read(energy1_), write(energy0_));
  for (std::size_t d = 0; d < D; ++d)
    par_loop("keep", block_, nodes(0, 0), copied, read(velocity1_[d]), write(velocity0_[d]));
  mirror_state();
}

template <int D>
double euler_solver<D>::step(double at_most) {
  const double dt = std::min(at_most, limit_.value());
  lagrangian_step(dt);
  std::array<double, D> left;
  left.fill(1);
  for (int k = 0; k < D; ++k) {
    const int now = steps_ % 2 == 0 ? k : D - 1 - k;
    find_volumes(left, now);
    for_each_direction<D>([&](auto e) {
      if (e == now) remap<e>();
    });
    left[static_cast<std::size_t>(now)] = 0;
  }
  keep();
  find_limit();
  ++steps_;
  return dt;
}

template <int D>
gas_totals euler_solver<D>::totals() {
  const auto& s = shapes<D>::all();
  with_each<D>(
      [&](auto e) { return read(velocity0_[e], s.to_nodes); },
      [&](auto... u) {
        par_loop(
            "totals", block_, cells(0, 0),
            [volume = std::pow(width_, D)](auto density, auto energy, std::span<double, 3> to, auto... v) {
              const double mass = volume * along<0>(density, 0);
              to[0] += mass;
              to[1] += mass * along<0>(energy, 0);
              to[2] += 0.5 * mass *
                       sum_directions(
                           [](auto, const auto& w) {
                             return sum_corners<D>([&](auto c) { return at_corner<c>(w, 0) * at_corner<c>(w, 0); }) *
                                    (1.0 / (1 << D));
                           },
                           v...);
            },
            read(density0_), read(energy0_), sum(totals_), u...);
      });
  const auto t = totals_.value();
  return {t[0], t[1], t[2]};
}

template class euler_solver<2>;
template class euler_solver<3>;

}  // namespace stencil_programs
