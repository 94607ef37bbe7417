// Random programs over the stencil model, for comparing executors. A program is drawn from a seed; played on a context
// it yields everything one can observe of it: reductions in between and all datasets at the end, ghosts included.
//
// Kernels mix what they read with integer arithmetic that is exact and depends on the order of any two dependent
// accesses; reductions sum doubles, whose last bits show the order of the additions.
#pragma once

#include <situ/stencil/stencil.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace situ::stencil::testing {

struct random_dataset {
  int block;
  dataset_layout layout;
  int scale;  // 0: one point thick in `thin`; 1; 2: coarse, half the points
  int thin;
};

struct random_argument {
  int data;
  int stencil;  // of random_program::stencils
  access_mode mode;
};

struct random_loop {
  int block;
  box over;
  std::vector<random_argument> arguments;  // at most 4
  bool takes_index;
  int reduction;       // -1: none; else sum, min, max
  bool result_wanted;  // takes the reduction's value afterwards
};

template <int D>
class random_program {
 public:
  explicit random_program(std::uint64_t seed) : draw_{seed} { make(); }

  [[nodiscard]] std::size_t loops() const { return loops_.size(); }
  [[nodiscard]] int extent(int d) const { return extent_[static_cast<std::size_t>(d)]; }

  // Everything observable, in order.
  [[nodiscard]] std::vector<std::uint64_t> play(options how) const {
    context c{std::move(how)};
    std::vector<block<D>> blocks;
    for (int b = 0; b < block_count_; ++b) blocks.emplace_back(c, "block" + std::to_string(b));
    std::vector<dataset<std::uint32_t, D>> data;
    for (std::size_t i = 0; i < datasets_.size(); ++i) {
      const auto& d = datasets_[i];
      data.emplace_back(blocks[static_cast<std::size_t>(d.block)], "d" + std::to_string(i), d.layout);
      const auto all = data.back().valid();
      std::vector<std::uint32_t> values(static_cast<std::size_t>(all.points()) *
                                        static_cast<std::size_t>(d.layout.components));
      for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<std::uint32_t>(n * 2654435761u + i * 97);
      data.back().store(all, values);
    }
    const reduction<double> sums{c, "sum"}, least{c, "min"}, most{c, "max"};
    std::vector<std::uint64_t> seen;
    const auto note = [&seen](double v) { seen.push_back(std::bit_cast<std::uint64_t>(v)); };
    for (int n = 0; n < static_cast<int>(loops_.size()); ++n) {
      const auto& l = loops_[static_cast<std::size_t>(n)];
      play_loop(l, n, blocks[static_cast<std::size_t>(l.block)], data, sums, least, most);
      if (!l.result_wanted) continue;
      if (l.reduction == 0) note(sums.value());
      if (l.reduction == 1) note(least.value());
      if (l.reduction == 2) note(most.value());
    }
    for (const auto& d : data) {
      for (const auto v : d.fetch(d.valid())) seen.push_back(v);
    }
    return seen;
  }

 private:
  using word = std::uint32_t;
  static constexpr std::size_t max_arguments = 4;

  int pick(int low, int high) { return std::uniform_int_distribution<int>{low, high}(draw_); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  void make() {
    block_count_ = pick(1, 2);
    for (int d = 0; d < D; ++d) extent_[d] = pick(1, D == 1 ? 40 : D == 2 ? 14 : D == 3 ? 7 : D == 4 ? 4 : 3);
    if (D == 1 && chance(10)) extent_[0] = pick(1000, 8000);  // several pages of a store
    if (D > 1 && D < 4 && chance(10)) extent_[D - 1] = pick(50, D == 2 ? 300 : 80);
    make_stencils();
    const int count = pick(2, 6);
    for (int i = 0; i < count; ++i) make_dataset();
    const int loops = chance(10) ? pick(15, 40) : pick(1, 14);
    for (int i = 0; i < loops; ++i) make_loop();
  }

  void make_stencils() {
    for (int n = 0; n < 6; ++n) {
      std::vector<coordinates> points;
      const int size = n == 0 ? 1 : pick(1, 5);
      for (int p = 0; p < size; ++p) {
        coordinates o{};
        for (int d = 0; d < D && n > 0; ++d) o[d] = pick(-ghosts_, ghosts_);
        points.push_back(o);
      }
      offsets_.push_back(points);
    }
  }

  void make_dataset() {
    random_dataset r{pick(0, block_count_ - 1), {}, 1, pick(0, D - 1)};
    if (chance(15))
      r.scale = 0;
    else if (chance(15))
      r.scale = 2;
    for (int d = 0; d < D; ++d) {
      r.layout.inner.high[d] = r.scale == 2 ? (extent_[d] + 1) / 2 : r.scale == 0 && d == r.thin ? 1 : extent_[d];
      // Room for offsets at the edges of a coarse grid, too.
      r.layout.below[d] = r.layout.above[d] = ghosts_ + 1;
    }
    r.layout.components = chance(20) ? pick(2, 3) : 1;
    r.layout.order = chance(30) ? component_order::interleaved : component_order::separate;
    r.layout.rows_apart = chance(50);
    datasets_.push_back(r);
  }

  void make_loop() {
    random_loop l{pick(0, block_count_ - 1), {}, {}, chance(40), chance(25) ? pick(0, 2) : -1, chance(40)};
    const int face = chance(25) ? pick(0, D - 1) : -1;  // a boundary loop
    for (int d = 0; d < D; ++d) {
      int low = chance(60) ? 0 : pick(-1, extent_[d]);
      int high = chance(60) ? extent_[d] : pick(-1, extent_[d] + 1);
      if (low > high) std::swap(low, high);
      if (d == face) high = low + 1;
      if (d == face && chance(50)) low = extent_[d] - 1, high = extent_[d];
      l.over.low[d] = std::max(-1, low);
      l.over.high[d] = std::min(extent_[d] + 1, high);
    }
    const int wanted = pick(1, static_cast<int>(max_arguments));
    for (int n = 0; n < wanted; ++n) {
      const int data = pick(0, static_cast<int>(datasets_.size()) - 1);
      const auto& d = datasets_[static_cast<std::size_t>(data)];
      if (d.block != l.block) continue;
      random_argument a{data, pick(0, 5), static_cast<access_mode>(pick(0, 3))};
      // Points of the loop are independent: what is written is touched by one argument only, at one point, which no
      // other touches.
      bool is_used = false;
      for (const auto& o : l.arguments) is_used = is_used || o.data == data;
      if (a.mode != access_mode::read) a.stencil = 0;
      // A thin or coarse dataset is reached by many points: reading is fine, and so is adding.
      if (d.scale != 1 && a.mode != access_mode::read) a.mode = access_mode::increment;
      if (!is_used) l.arguments.push_back(a);
    }
    loops_.push_back(std::move(l));
  }

  [[nodiscard]] shape shape_of(const random_argument& a) const {
    const auto& d = datasets_[static_cast<std::size_t>(a.data)];
    auto points = offsets_[static_cast<std::size_t>(a.stencil)];
    coordinates multiplier{1, 1, 1, 1, 1}, divisor{1, 1, 1, 1, 1};
    if (d.scale == 2) std::fill_n(divisor.begin(), D, 2);
    if (d.scale == 0) {
      multiplier[d.thin] = 0;
      for (auto& p : points) p[d.thin] = 0;
    }
    return shape{"s", D, points, multiplier, divisor};
  }

  // Reads at every point of the stencil, in all components, or writes, by the access mode.
  template <class View>
  static word mix(const View& v, const std::vector<coordinates>& points, int components, word sum) {
    for (const auto& o : points) {
      for (int c = 0; c < components; ++c) sum = sum * 31 + (sum >> 15) + at(v, c, o);
    }
    return sum;
  }
  template <class View>
  static decltype(auto) at(const View& v, int c, const coordinates& o) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
      return v.at(c, o[I]...);
    }(std::make_index_sequence<D>{});
  }

  struct kernel_argument {
    std::vector<coordinates> points;
    int components = 1;
    access_mode mode = access_mode::read;
  };

  template <class View>
  static void take(const View& v, const kernel_argument& a, word& sum) {
    if (a.mode == access_mode::read || a.mode == access_mode::read_write) sum = mix(v, a.points, a.components, sum);
  }
  template <class View>
  static void give(const View& v, const kernel_argument& a, word sum) {
    if (a.mode == access_mode::read) return;
    for (int c = 0; c < a.components; ++c) {
      auto&& to = at(v, c, {});
      if (a.mode == access_mode::increment) {
        to += sum + static_cast<word>(c);
      } else {
        to = sum ^ static_cast<word>(c);
      }
    }
  }

  // Loops have 0 to 4 arguments, an index always, and a reduction or none. Arguments that are missing are absent
  // optional ones: kernels for each number of arguments would take five times as long to compile.
  void play_loop(const random_loop& l, int n, const block<D>& on, const std::vector<dataset<word, D>>& data,
                 const reduction<double>& sums, const reduction<double>& least, const reduction<double>& most) const {
    std::vector<kernel_argument> facts;
    std::vector<detail::dataset_argument<word, D>> arguments;
    for (const auto& a : l.arguments) {
      const auto where = shape_of(a);
      facts.push_back({{where.points().begin(), where.points().end()},
                       datasets_[static_cast<std::size_t>(a.data)].layout.components,
                       a.mode});
      arguments.push_back({data[static_cast<std::size_t>(a.data)].core(), where, a.mode});
    }
    for (std::size_t i = l.arguments.size(); i < max_arguments; ++i) {
      facts.push_back({{}, 0, access_mode::read});
      arguments.push_back({nullptr, shape::point(D), access_mode::read});
    }
    const bool indexed = l.takes_index;
    const auto play_with = [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto body = [facts, n, indexed](const std::array<int, D>& here, const auto&... views) {
        word sum = static_cast<word>(n);
        for (int d = 0; d < D && indexed; ++d) sum = sum * 7 + static_cast<word>(here[static_cast<std::size_t>(d)]);
        (take(views, facts[I], sum), ...);
        (give(views, facts[I], sum), ...);
        return sum;
      };
      const std::string name = "loop" + std::to_string(n);
      if (l.reduction < 0) {
        par_loop(
            name, on, l.over, [body](const std::array<int, D>& here, const auto&... views) { body(here, views...); },
            index(), arguments[I]...);
        return;
      }
      // Different magnitudes, so that each order of adding has its own last bits.
      const auto reduce = [body, kind = l.reduction](double& r, const std::array<int, D>& here, const auto&... views) {
        const double v = static_cast<double>(body(here, views...)) * 1e-3;
        if (kind == 0) r += v;
        if (kind == 1) r = std::min(r, v);
        if (kind == 2) r = std::max(r, v);
      };
      if (l.reduction == 0) par_loop(name, on, l.over, reduce, sum(sums), index(), arguments[I]...);
      if (l.reduction == 1) par_loop(name, on, l.over, reduce, min(least), index(), arguments[I]...);
      if (l.reduction == 2) par_loop(name, on, l.over, reduce, max(most), index(), arguments[I]...);
    };
    play_with(std::make_index_sequence<max_arguments>{});
  }

  static constexpr int ghosts_ = D < 4 ? 2 : 1;  // 5-D programs would be mostly ghosts
  std::mt19937_64 draw_;
  int block_count_ = 1;
  std::array<int, D> extent_{};
  std::vector<std::vector<coordinates>> offsets_;
  std::vector<random_dataset> datasets_;
  std::vector<random_loop> loops_;
};

}  // namespace situ::stencil::testing
