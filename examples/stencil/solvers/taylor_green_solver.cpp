#include "taylor_green_solver.h"

#include <cmath>
#include <numbers>

namespace stencil_programs {

using namespace situ::stencil;

namespace {

constexpr double gamma_minus_1 = taylor_green_solver::gamma - 1;

// First and second derivatives, times the spacing and its square.
template <int E, class U>
[[gnu::always_inline]] inline double slope(const U& u) {
  return (8 * (along<E>(u, 1) - along<E>(u, -1)) - (along<E>(u, 2) - along<E>(u, -2))) * (1.0 / 12);
}
template <int E, class U>
[[gnu::always_inline]] inline double curvature(const U& u) {
  return (16 * (along<E>(u, 1) + along<E>(u, -1)) - (along<E>(u, 2) + along<E>(u, -2)) - 30 * along<E>(u, 0)) *
         (1.0 / 12);
}
template <class U>
[[gnu::always_inline]] inline double laplacian(const U& u) {
  return curvature<0>(u) + curvature<1>(u) + curvature<2>(u);
}

// Five values in a row, in registers: through references gcc 12 does not vectorize the loop that they are taken in.
struct five {
  double m2, m1, at, p1, p2;
};
template <int E, class U>
[[gnu::always_inline]] inline five row(const U& u) {
  return {along<E>(u, -2), along<E>(u, -1), along<E>(u, 0), along<E>(u, 1), along<E>(u, 2)};
}
// The split derivative of the flux m f, times the spacing.
[[gnu::always_inline]] inline double split_slope(const five m, const five f) {
  const double near = (m.at + m.p1) * (f.at + f.p1) - (m.at + m.m1) * (f.at + f.m1),
               far = (m.at + m.p2) * (f.at + f.p2) - (m.at + m.m2) * (f.at + f.m2);
  return (8 * near - far) * (1.0 / 24);
}
[[gnu::always_inline]] inline double enthalpy(double t, double x, double y, double z) {
  return taylor_green_solver::gamma / gamma_minus_1 * t + 0.5 * (x * x + y * y + z * z);
}

template <bool First, class U>
[[gnu::always_inline]] inline void add(const U& u, double x) {
  if constexpr (First) {
    u(0, 0, 0) = x;
  } else {
    u(0, 0, 0) += x;
  }
}

// Williamson's scheme: change = before * change + dt * residual; state += share * change.
struct rk_stage {
  double before, share;
};
constexpr rk_stage stages[] = {{0, 1.0 / 3}, {-5.0 / 9, 15.0 / 16}, {-153.0 / 128, 8.0 / 15}};

shape line_shape(int e) {
  std::vector<coordinates> points(5);
  for (std::size_t k = 0; k < points.size(); ++k) points[k][static_cast<std::size_t>(e)] = static_cast<int>(k) - 2;
  return {"line", 3, points};
}

}  // namespace

box taylor_green_solver::inside() const { return range(0, n_[0], 0, n_[1], 0, n_[2]); }

auto taylor_green_solver::make(std::initializer_list<const char*> names, int ghosts) const -> std::vector<field> {
  std::vector<field> all;
  for (const char* const name : names) all.emplace_back(block_, name, n_, ghosts);
  return all;
}

taylor_green_solver::taylor_green_solver(context& run, const std::array<int, 3>& cells, vortex start, double mach,
                                         double reynolds)
    : block_{run, "box"},
      n_{cells},
      width_{std::numbers::pi / cells[0]},
      sound_{1 / mach},
      viscosity_{1 / reynolds},
      totals_{run, "totals"},
      state_{make({"density", "momentum_x", "momentum_y", "momentum_z", "energy"}, 2)},
      change_{make({"change_0", "change_1", "change_2", "change_3", "change_4"}, 0)},
      residual_{make({"residual_0", "residual_1", "residual_2", "residual_3", "residual_4"}, 0)},
      velocity_{make({"velocity_x", "velocity_y", "velocity_z"}, 2)},
      gradient_{make({"du_dx", "dv_dx", "dw_dx", "du_dy", "dv_dy", "dw_dy", "du_dz", "dv_dz", "dw_dz"}, 2)},
      pressure_{block_, "pressure", n_, 2},
      temperature_{block_, "temperature", n_, 2} {
  for (int e = 0; e < 3; ++e) five_.push_back(line_shape(e));
  set(start, mach);
  std::vector<dataset_core*> temporaries{pressure_.core(), temperature_.core()};
  for (const auto* const fields : {&change_, &residual_, &velocity_, &gradient_})
    for (const field& f : *fields) temporaries.push_back(f.core());
  run.begin_cyclic(temporaries);
}

void taylor_green_solver::set(vortex start, double mach) {
  par_loop(
      "start", block_, inside(),
      [h = width_, mean = 1 / (gamma * mach * mach), is_flat = start == vortex::two_dimensional](
          auto r, auto mx, auto my, auto mz, auto e, const auto& i) {
        const double x = h * (i[0] + 0.5), y = h * (i[1] + 0.5), z = is_flat ? 0 : h * (i[2] + 0.5);
        const double u = std::sin(x) * std::cos(y) * std::cos(z), v = -std::cos(x) * std::sin(y) * std::cos(z);
        const double p = mean + (std::cos(2 * x) + std::cos(2 * y)) * (is_flat ? 1.0 / 4 : (std::cos(2 * z) + 2) / 16);
        const double density = p / mean;
        r(0, 0, 0) = density;
        mx(0, 0, 0) = density * u;
        my(0, 0, 0) = density * v;
        mz(0, 0, 0) = 0;
        e(0, 0, 0) = p / gamma_minus_1 + 0.5 * density * (u * u + v * v);
      },
      write(state_[0]), write(state_[1]), write(state_[2]), write(state_[3]), write(state_[4]), index());
}

// Sound crosses a part of a cell: below the limit of the scheme for waves along the diagonal of three dimensions,
// sqrt(3) / (1.372 sqrt(3)).
double taylor_green_solver::longest_step() const noexcept { return 0.5 * width_ / (sound_ + 1); }

void taylor_green_solver::mirror() {
  for_each_direction<3>([&](auto e) {
    box across = range(-2, n_[0] + 2, -2, n_[1] + 2, -2, n_[2] + 2);
    for (int d = e + 1; d < 3; ++d) {
      across.low[d] = 0;
      across.high[d] = n_[d];
    }
    std::array<double, 5> signs{1, 1, 1, 1, 1};
    signs[1 + e] = -1;
    planes_.mirror<e>(block_, across, lies::between, n_[e] - 1, signs, state_[0], state_[1], state_[2], state_[3],
                      state_[4]);
  });
}

void taylor_green_solver::find_gradients() {
  mirror();
  par_loop(
      "primitives", block_, range(-2, n_[0] + 2, -2, n_[1] + 2, -2, n_[2] + 2),
      [](auto r, auto mx, auto my, auto mz, auto e, auto u, auto v, auto w, auto p, auto t) {
        const double volume = 1 / r(0, 0, 0);
        const double x = mx(0, 0, 0) * volume, y = my(0, 0, 0) * volume, z = mz(0, 0, 0) * volume;
        const double pressure = gamma_minus_1 * (e(0, 0, 0) - 0.5 * r(0, 0, 0) * (x * x + y * y + z * z));
        u(0, 0, 0) = x;
        v(0, 0, 0) = y;
        w(0, 0, 0) = z;
        p(0, 0, 0) = pressure;
        t(0, 0, 0) = pressure * volume;
      },
      read(state_[0]), read(state_[1]), read(state_[2]), read(state_[3]), read(state_[4]), write(velocity_[0]),
      write(velocity_[1]), write(velocity_[2]), write(pressure_), write(temperature_));
  for_each_direction<3>([&](auto e) {
    box all = range(-2, n_[0] + 2, -2, n_[1] + 2, -2,
                    n_[2] + 2);  // beside the box, too: the derivatives of these are wanted across it
    all.low[e] = 0;
    all.high[e] = n_[e];
    par_loop(
        "gradients", block_, all,
        [by = 1 / width_](auto u, auto v, auto w, auto du, auto dv, auto dw) {
          constexpr int E = decltype(e)::value;
          du(0, 0, 0) = by * slope<E>(u);
          dv(0, 0, 0) = by * slope<E>(v);
          dw(0, 0, 0) = by * slope<E>(w);
        },
        read(velocity_[0], five_[e]), read(velocity_[1], five_[e]), read(velocity_[2], five_[e]),
        write(gradient_[3 * e]), write(gradient_[3 * e + 1]), write(gradient_[3 * e + 2]));
  });
}

// All that is carried in direction E, and the pressure.
template <int E>
void taylor_green_solver::convect() {
  const auto into = [](const field& f) {
    if constexpr (E == 0) {
      return write(f);
    } else {
      return read_write(f);
    }
  };
  par_loop(
      "convection", block_, inside(),
      [by = -1 / width_](auto m, auto u, auto v, auto w, auto t, auto p, auto r0, auto r1, auto r2, auto r3, auto r4) {
        constexpr bool first = E == 0;
        const five flux = row<E>(m), x = row<E>(u), y = row<E>(v), z = row<E>(w), heat = row<E>(t);
        const five h{enthalpy(heat.m2, x.m2, y.m2, z.m2), enthalpy(heat.m1, x.m1, y.m1, z.m1),
                     enthalpy(heat.at, x.at, y.at, z.at), enthalpy(heat.p1, x.p1, y.p1, z.p1),
                     enthalpy(heat.p2, x.p2, y.p2, z.p2)};
        const double push = slope<E>(p);
        add<first>(r0, by * slope<E>(m));
        add<first>(r1, by * (split_slope(flux, x) + (E == 0 ? push : 0.0)));
        add<first>(r2, by * (split_slope(flux, y) + (E == 1 ? push : 0.0)));
        add<first>(r3, by * (split_slope(flux, z) + (E == 2 ? push : 0.0)));
        add<first>(r4, by * split_slope(flux, h));
      },
      read(state_[1 + E], five_[E]), read(velocity_[0], five_[E]), read(velocity_[1], five_[E]),
      read(velocity_[2], five_[E]), read(temperature_, five_[E]), read(pressure_, five_[E]), into(residual_[0]),
      into(residual_[1]), into(residual_[2]), into(residual_[3]), into(residual_[4]));
}

// viscosity (laplacian u + grad div u / 3) in direction C, and its work. The other two directions' share of the
// divergence is differentiated twice.
template <int C>
void taylor_green_solver::add_viscous_force() {
  constexpr int A = (C + 1) % 3, B = (C + 2) % 3;
  par_loop(
      "viscous force", block_, inside(),
      [second = viscosity_ / (width_ * width_), mixed = viscosity_ / (3 * width_)](auto u, auto a, auto b,
                                                                                   auto momentum, auto energy) {
        const double force =
            second * (laplacian(u) + curvature<C>(u) * (1.0 / 3)) + mixed * (slope<C>(a) + slope<C>(b));
        momentum(0, 0, 0) += force;
        energy(0, 0, 0) += u(0, 0, 0) * force;
      },
      read(velocity_[C], star_), read(gradient_[3 * A + A], five_[C]), read(gradient_[3 * B + B], five_[C]),
      read_write(residual_[1 + C]), read_write(residual_[4]));
}

// What viscosity makes of motion, and the conduction of heat.
void taylor_green_solver::add_dissipation() {
  par_loop(
      "dissipation", block_, inside(),
      [mu = viscosity_, conductivity = viscosity_ * gamma / (gamma_minus_1 * prandtl * width_ * width_)](
          auto ux, auto vx, auto wx, auto uy, auto vy, auto wy, auto uz, auto vz, auto wz, auto t, auto energy) {
        const double xx = ux(0, 0, 0), yy = vy(0, 0, 0), zz = wz(0, 0, 0), div = xx + yy + zz;
        const double xy = uy(0, 0, 0) + vx(0, 0, 0), xz = uz(0, 0, 0) + wx(0, 0, 0), yz = vz(0, 0, 0) + wy(0, 0, 0);
        const double heat = 2 * (xx * xx + yy * yy + zz * zz) + xy * xy + xz * xz + yz * yz - 2.0 / 3 * div * div;
        energy(0, 0, 0) += mu * heat + conductivity * laplacian(t);
      },
      read(gradient_[0]), read(gradient_[1]), read(gradient_[2]), read(gradient_[3]), read(gradient_[4]),
      read(gradient_[5]), read(gradient_[6]), read(gradient_[7]), read(gradient_[8]), read(temperature_, star_),
      read_write(residual_[4]));
}

void taylor_green_solver::advance(int stage, double dt) {
  const rk_stage s = stages[stage];
  for (std::size_t i = 0; i < state_.size(); ++i) {
    if (stage == 0) {
      par_loop(
          "first stage", block_, inside(),
          [=](auto r, auto c, auto q) {
            c(0, 0, 0) = dt * r(0, 0, 0);
            q(0, 0, 0) += s.share * c(0, 0, 0);
          },
          read(residual_[i]), write(change_[i]), read_write(state_[i]));
    } else {
      par_loop(
          "stage", block_, inside(),
          [=](auto r, auto c, auto q) {
            c(0, 0, 0) = s.before * c(0, 0, 0) + dt * r(0, 0, 0);
            q(0, 0, 0) += s.share * c(0, 0, 0);
          },
          read(residual_[i]), read_write(change_[i]), read_write(state_[i]));
    }
  }
}

void taylor_green_solver::step(double dt) {
  for (int stage = 0; stage < 3; ++stage) {
    find_gradients();
    convect<0>();
    convect<1>();
    convect<2>();
    add_viscous_force<0>();
    add_viscous_force<1>();
    add_viscous_force<2>();
    add_dissipation();
    advance(stage, dt);
  }
}

flow_totals taylor_green_solver::totals() {
  find_gradients();
  par_loop(
      "totals", block_, inside(),
      [](auto r, auto e, auto u, auto v, auto w, auto vx, auto wx, auto uy, auto wy, auto uz, auto vz,
         std::span<double, 4> to) {
        const double x = wy(0, 0, 0) - vz(0, 0, 0), y = uz(0, 0, 0) - wx(0, 0, 0), z = vx(0, 0, 0) - uy(0, 0, 0);
        to[0] += r(0, 0, 0);
        to[1] += e(0, 0, 0);
        to[2] += 0.5 * r(0, 0, 0) * (u(0, 0, 0) * u(0, 0, 0) + v(0, 0, 0) * v(0, 0, 0) + w(0, 0, 0) * w(0, 0, 0));
        to[3] += x * x + y * y + z * z;
      },
      read(state_[0]), read(state_[4]), read(velocity_[0]), read(velocity_[1]), read(velocity_[2]), read(gradient_[1]),
      read(gradient_[2]), read(gradient_[3]), read(gradient_[5]), read(gradient_[6]), read(gradient_[7]), sum(totals_));
  const auto t = totals_.value();
  const double by = 1 / (static_cast<double>(n_[0]) * n_[1] * n_[2]);
  return {t[0] * by, t[1] * by, t[2] * by, t[3] * by};
}

}  // namespace stencil_programs
