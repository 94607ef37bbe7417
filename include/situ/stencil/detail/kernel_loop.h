// A loop with its types: runs a kernel over a part of the range such that the compiler inlines and vectorizes it.
//
// Invariants
//   1. A line (the points that differ in dimension 0 only) is one inner loop. In its fast form all datasets advance by
//      one element a point. The compiler sees this as a constant, so gcc vectorizes the loop.
//   2. Iterations of a parallel loop are independent by contract, so the fast form says so (ivdep). It is not used
//      if a written dataset is touched away from the point, or at one address by many points. Points that reduce share
//      only an accumulator of their lane (reduction_core.h): there the inner loop is over the lanes.
//   3. An argument that stands still along the line (a column of y coordinates, say) is spread out into a short row
//      first, so that it advances too. The row is as long as a strip of the line; all strips of the line use the same
//      one.
//   4. The row of an argument is computed once for a plane (the lines that differ in dimension 1 only); from line to
//      line it moves by a constant distance. An argument without one (spread out, or advancing by fractions) begins
//      again with each line.
#pragma once

#include <situ/stencil/accessor.h>
#include <situ/stencil/detail/load.h>
#include <situ/stencil/detail/loop.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

// The iterations of the next loop do not depend on each other: a loop chain's kernels read and write different points.
#ifdef __clang__
#define SITU_STENCIL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SITU_STENCIL_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace situ::stencil::detail {

// 2 KiB of doubles: a few spread-out rows fit into the first-level cache along with the data
inline constexpr int strip_points = 256;

// Zeroes the vector registers. A value that a kernel reads in one branch only is a masked load, and gcc leaves in its
// other lanes the register's contents at the function's entry. Often these are addresses: as numbers they are denormal,
// and each operation on one takes many times as long, until a point of each lane takes the branch. Zeros cost nothing.
// This is called before the function with the loop: inside it, gcc keeps such a register on the stack, with the stack's
// old contents.
[[gnu::always_inline]] inline void clear_vector_registers() noexcept {
#if defined(__AVX512F__)
  asm volatile(
      "vzeroall\n\t"
      "vpxord %%zmm16, %%zmm16, %%zmm16\n\tvpxord %%zmm17, %%zmm17, %%zmm17\n\tvpxord %%zmm18, %%zmm18, "
      "%%zmm18\n\tvpxord %%zmm19, %%zmm19, %%zmm19\n\t"
      "vpxord %%zmm20, %%zmm20, %%zmm20\n\tvpxord %%zmm21, %%zmm21, %%zmm21\n\tvpxord %%zmm22, %%zmm22, "
      "%%zmm22\n\tvpxord %%zmm23, %%zmm23, %%zmm23\n\t"
      "vpxord %%zmm24, %%zmm24, %%zmm24\n\tvpxord %%zmm25, %%zmm25, %%zmm25\n\tvpxord %%zmm26, %%zmm26, "
      "%%zmm26\n\tvpxord %%zmm27, %%zmm27, %%zmm27\n\t"
      "vpxord %%zmm28, %%zmm28, %%zmm28\n\tvpxord %%zmm29, %%zmm29, %%zmm29\n\tvpxord %%zmm30, %%zmm30, "
      "%%zmm30\n\tvpxord %%zmm31, %%zmm31, %%zmm31"
      :
      :
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",
        "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
#endif
}

// A parameter of the kernel is a class with
//   row<Fast>          the part that the inner loop needs, cheap to copy
//   begin<Fast>(...)   makes the row for the line that starts at a point
//   steps<Fast>()      whether row.next_line() makes it the row of the next line
//   is_reduction, is_fast(), is_mapped(), replica_bytes(): see below

template <class T, int D, class View = accessor<T, D>>
class dataset_parameter {
 public:
  using value_type = std::remove_const_t<T>;
  static constexpr bool is_reduction = false;
  static constexpr bool is_checked = std::is_constructible_v<View, T*, const distances<D>&, check_site*>;

  dataset_parameter(dataset_core* data, shape where, access_mode mode) noexcept
      : data_{data}, where_{std::move(where)}, mode_{mode} {}
  [[nodiscard]] argument describe() const noexcept { return {data_, &where_, mode_, nullptr}; }
  void name_site(const std::string* loop_name, int index) noexcept { loop_name_ = loop_name, index_ = index; }

  // Returns whether the address is recomputed for each point of the line, because the dataset advances by fractions.
  [[nodiscard]] bool is_mapped() const noexcept { return data_ != nullptr && where_.divisor(0) != 1; }
  [[nodiscard]] bool stands_still() const noexcept {
    return data_ != nullptr && where_.multiplier(0) == 0 && mode_ == access_mode::read && where_.lowest(0) == 0 &&
           where_.highest(0) == 0;
  }
  [[nodiscard]] bool is_fast() const noexcept {
    if (data_ == nullptr || stands_still()) return !is_checked;
    if (is_checked || data_->stride[0] != 1 || where_.multiplier(0) != 1 || where_.divisor(0) != 1) return false;
    return !writes(mode_) || (where_.lowest(0) == 0 && where_.highest(0) == 0);
  }
  template <bool Fast>
  [[nodiscard]] bool steps() const noexcept {
    if (is_checked) return false;
    return data_ == nullptr || (where_.divisor(1) == 1 && !(Fast && stands_still()));
  }
  [[nodiscard]] std::size_t replica_bytes(int points) const noexcept {
    if (!stands_still()) return 0;
    std::size_t rows = static_cast<std::size_t>(data_->components);
    for (int d = 1; d < D; ++d) rows *= static_cast<std::size_t>(where_.highest(d) - where_.lowest(d) + 1);
    return (rows * static_cast<std::size_t>(points) * sizeof(T) + 63) / 64 * 64;
  }

  template <bool Fast>
  struct row {
    T* at;
    std::ptrdiff_t step;
    distances<D> of;
    std::ptrdiff_t line_step;
    check_site* site;
    int from;  // the line's first index
    void enter() noexcept {}
    void leave() noexcept(!is_checked) {
      if constexpr (is_checked) {
        if (site != nullptr) site->leave_point();
      }
    }
    [[gnu::always_inline]] void advance(std::ptrdiff_t points) noexcept { at += points * step; }
    [[gnu::always_inline]] void next_line() noexcept { at += line_step; }
    [[gnu::always_inline]] View view(std::ptrdiff_t i) const noexcept {
      if constexpr (is_checked) {  // never fast
        auto point = site->point;
        point[0] = from + static_cast<int>(i);
        site->move_to(point);
        return View{at + i * step, of, site};
      } else if constexpr (Fast) {
        distances<D> unit = of;
        unit.step[0] = 1;
        return View{at + i, unit};
      } else {
        return View{at + i * step, of};
      }
    }
  };

  template <bool Fast>
  [[nodiscard]] row<Fast> begin(const coordinates& from, const box&, int strip, std::byte*& replica,
                                check_site& site) const {
    row<Fast> r{};
    if (data_ == nullptr) return r;  // an optional argument that is absent: the kernel does not touch it
    coordinates at{};
    for (int d = 0; d < max_dims; ++d) at[d] = where_.map(d, from[d]);
    r.at = reinterpret_cast<T*>(data_->origin) + data_->offset(at);
    r.of.component = data_->component_stride;
    r.step = data_->stride[0] * where_.multiplier(0);
    r.line_step = data_->stride[1] * where_.multiplier(1);
    for (int d = 0; d < D; ++d) r.of.step[d] = data_->stride[d];
    if constexpr (is_checked) {
      site.loop = loop_name_, site.data = data_, site.where = &where_, site.mode = mode_, site.argument = index_;
      site.point = from;
      r.site = &site;
      r.from = from[0];
    }
    if constexpr (Fast) {
      if (stands_still()) spread(r, strip, replica);
    }
    for (int d = 0; d < D; ++d) r.of.nearest[d] = std::clamp(0, where_.lowest(d), where_.highest(d)) * r.of.step[d];
    return r;
  }

 private:
  template <class Row>
  void spread(Row& r, int strip, std::byte*& replica) const {
    auto* const rows = reinterpret_cast<value_type*>(replica);
    replica += replica_bytes(strip);
    std::ptrdiff_t stride[D];
    std::ptrdiff_t total = strip;
    stride[0] = 1;
    std::ptrdiff_t centre = 0;
    for (int d = 1; d < D; ++d) {
      stride[d] = total;
      centre -= where_.lowest(d) * stride[d];
      total *= where_.highest(d) - where_.lowest(d) + 1;
    }
    coordinates o{};
    for (int c = 0; c < data_->components; ++c) {
      for (std::ptrdiff_t n = 0; n < total / strip; ++n) {
        std::ptrdiff_t rest = n, from = c * r.of.component, to = c * total + centre;
        for (int d = 1; d < D; ++d) {
          const int extent = where_.highest(d) - where_.lowest(d) + 1;
          o[d] = where_.lowest(d) + static_cast<int>(rest % extent);
          rest /= extent;
          from += o[d] * r.of.step[d];
          to += o[d] * stride[d];
        }
        std::fill_n(rows + to, strip, r.at[from]);
      }
    }
    r.at = rows + centre;
    r.step = 0;  // strips share the row
    r.of.component = total;
    for (int d = 0; d < D; ++d) r.of.step[d] = stride[d];
  }

  dataset_core* data_;
  shape where_;
  access_mode mode_;
  const std::string* loop_name_ = nullptr;
  int index_ = 0;
};

// The common base of parameters without data.
struct plain_parameter {
  static constexpr bool is_reduction = false;
  [[nodiscard]] static argument describe() noexcept { return {}; }
  static void name_site(const std::string*, int) noexcept {}
  [[nodiscard]] static bool is_mapped() noexcept { return false; }
  [[nodiscard]] static bool is_fast() noexcept { return true; }
  template <bool Fast>
  [[nodiscard]] static bool steps() noexcept {
    return true;
  }
  [[nodiscard]] static std::size_t replica_bytes(int) noexcept { return 0; }
  static void begin_loop(const box&) noexcept {}
  static void end_loop() noexcept {}
};

// The index of the point. View is constructed from coordinates.
template <class View>
class index_parameter : public plain_parameter {
 public:
  template <bool Fast>
  struct row {
    coordinates at;
    void enter() noexcept {}
    void leave() noexcept {}
    void advance(std::ptrdiff_t points) noexcept { at[0] += static_cast<int>(points); }
    void next_line() noexcept { ++at[1]; }
    [[gnu::always_inline]] View view(std::ptrdiff_t i) const noexcept {
      auto here = at;
      here[0] += static_cast<int>(i);
      return View{here};
    }
  };
  template <bool Fast>
  [[nodiscard]] row<Fast> begin(const coordinates& from, const box&, int, std::byte*&, check_site&) const noexcept {
    return {from};
  }
};

// A value that is the same at all points, copied when the loop is queued. View is constructed from const T&.
template <class T, class View>
class global_parameter : public plain_parameter {
 public:
  explicit global_parameter(T value) : value_{std::move(value)} {}
  template <bool Fast>
  struct row {
    const T* value;
    void enter() noexcept {}
    void leave() noexcept {}
    void advance(std::ptrdiff_t) noexcept {}
    void next_line() noexcept {}
    [[gnu::always_inline]] View view(std::ptrdiff_t) const noexcept { return View{*value}; }
  };
  template <bool Fast>
  [[nodiscard]] row<Fast> begin(const coordinates&, const box&, int, std::byte*&, check_site&) const noexcept {
    return {&value_};
  }

 private:
  T value_;
};

// The accumulators of a point's lane. View is constructed from T*, which points to them.
template <class T, class View>
class reduction_parameter : public plain_parameter {
 public:
  static constexpr bool is_reduction = true;
  reduction_parameter(reduction_core* into, reduction_kind kind) noexcept : into_{into}, kind_{kind} {}
  [[nodiscard]] argument describe() const noexcept { return {nullptr, nullptr, access_mode::increment, into_}; }

  void begin_loop(const box& range) {
    std::size_t lines = 1;
    for (int d = 1; d < max_dims; ++d) lines *= static_cast<std::size_t>(range.extent(d));
    accumulators_.assign(lines * of_a_line(), identity<T>(kind_));
  }
  // Combines the lines of each lane first, so that lanes are combined side by side.
  void end_loop() {
    std::vector<T> lanes(of_a_line(), identity<T>(kind_));
    for (std::size_t line = 0; line < accumulators_.size(); line += lanes.size())
      for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = combine(kind_, lanes[i], accumulators_[line + i]);
    auto* const result = reinterpret_cast<T*>(into_->value.data());
    const auto count = static_cast<std::size_t>(into_->count);
    for (std::size_t i = 0; i < lanes.size(); ++i) result[i % count] = combine(kind_, result[i % count], lanes[i]);
    accumulators_ = {};
  }

  template <bool Fast>
  struct row {
    T* line;  // for each lane `count` accumulators
    std::ptrdiff_t count;
    int first_lane;  // lane of the first point
    // if Fast: those of the lanes in the order of the points, in registers for the line
    T values[Fast ? reduction_lanes : 1];
    void enter() noexcept {
      if constexpr (Fast)
        for (int i = 0; i < reduction_lanes; ++i) values[i] = line[(first_lane + i) % reduction_lanes];
    }
    void leave() noexcept {
      if constexpr (Fast)
        for (int i = 0; i < reduction_lanes; ++i) line[(first_lane + i) % reduction_lanes] = values[i];
    }
    void advance(std::ptrdiff_t points) noexcept {
      first_lane = static_cast<int>((first_lane + points) % reduction_lanes);
    }
    void next_line() noexcept { line += reduction_lanes * count; }
    // lane: relative to the lane of the first point, below reduction_lanes if Fast
    [[gnu::always_inline]] View view(std::ptrdiff_t, int lane) noexcept {
      return View{Fast ? values + lane : line + (first_lane + lane) % reduction_lanes * count};
    }
  };
  // With Fast, the row has one accumulator for each lane.
  template <bool Fast>
  [[nodiscard]] row<Fast> begin(const coordinates& from, const box& range, int, std::byte*&,
                                check_site&) const noexcept {
    std::size_t n = 0;
    for (int d = max_dims - 1; d >= 1; --d)
      n = n * static_cast<std::size_t>(range.extent(d)) + static_cast<std::size_t>(from[d] - range.low[d]);
    return {const_cast<T*>(accumulators_.data()) + n * of_a_line(),
            into_->count,
            (from[0] - range.low[0]) % reduction_lanes,
            {}};
  }
  [[nodiscard]] bool is_fast() const noexcept { return into_->count == 1; }

 private:
  [[nodiscard]] std::size_t of_a_line() const noexcept {
    return static_cast<std::size_t>(reduction_lanes) * static_cast<std::size_t>(into_->count);
  }

  reduction_core* into_;
  reduction_kind kind_;
  std::vector<T> accumulators_;
};

template <class Parameter>
concept has_loop_hooks = requires(Parameter p, const box& b) { p.begin_loop(b); };

template <class Kernel, class... Parameters>
class kernel_loop final : public loop {
 public:
  kernel_loop(std::string name, int dims, const box& range, Kernel kernel, Parameters... parameters)
      : loop{std::move(name), dims, range}, kernel_{std::move(kernel)}, parameters_{std::move(parameters)...} {
    std::apply(
        [&](auto&... p) {
          int index = 0;
          ((p.name_site(&this->name(), index++), arguments_.push_back(p.describe())), ...);
          fast_ = (p.is_fast() && ...);
          mapped_ = (p.is_mapped() || ...);
        },
        parameters_);
    std::erase_if(arguments_, [](const argument& a) { return a.data == nullptr && a.into == nullptr; });
  }

  void begin() override {
    std::apply([&](auto&... p) { (begin_one(p), ...); }, parameters_);
  }
  void end() override {
    std::apply([&](auto&... p) { (end_one(p), ...); }, parameters_);
  }
  [[nodiscard]] const void* kernel_id() const noexcept override {
    static const char id = 0;
    return &id;
  }

  void run(const box& part, scratch& memory) override {
    if (part.empty()) return;
    if (fast_) {
      run_planes<true>(part, memory, std::index_sequence_for<Parameters...>{});
    } else {
      run_planes<false>(part, memory, std::index_sequence_for<Parameters...>{});
    }
  }

 private:
  static constexpr bool any_reduction = (Parameters::is_reduction || ... || false);

  template <class P>
  void begin_one(P& p) {
    if constexpr (has_loop_hooks<P>) p.begin_loop(range());
  }
  template <class P>
  static void end_one(P& p) {
    if constexpr (has_loop_hooks<P>) p.end_loop();
  }

  template <bool Fast, std::size_t... Index>
  void run_planes(const box& part, scratch& memory, std::index_sequence<Index...> all) {
    const int points = mapped_ ? 1 : part.extent(0);
    int strip = points;
    std::byte* replicas = nullptr;
    if constexpr (Fast) {
      const std::size_t bytes = (std::get<Index>(parameters_).replica_bytes(std::min(points, strip_points)) + ... + 0);
      if (bytes > 0) {
        strip = std::min(points, strip_points);
        replicas = memory.reserve(bytes);
      }
    }
    const std::array<bool, sizeof...(Parameters) + 1> steps{std::get<Index>(parameters_).template steps<Fast>()...,
                                                            true};
    const bool all_step = (steps[Index] && ... && true);
    const int lines = part.extent(1);
    std::array<check_site, sizeof...(Parameters) + 1> sites;
    coordinates at = part.low;
    while (true) {
      std::byte* replica = replicas;
      std::tuple<typename Parameters::template row<Fast>...> rows{
          std::get<Index>(parameters_).template begin<Fast>(at, range(), strip, replica, sites[Index])...};
      if (all_step) {  // no argument is spread out: no strips
        run_lines<Fast>(kernel_, rows, 0, points, lines, all);
      } else {
        while (true) {
          for (int from = 0; from < points; from += strip)
            run_lines<Fast>(kernel_, rows, from, std::min(strip, points - from), 1, all);
          if (++at[1] == part.high[1]) break;
          replica = replicas;
          (next_line<Fast, Index>(rows, steps[Index], at, strip, replica, sites[Index]), ...);
        }
        at[1] = part.low[1];
      }
      if (mapped_ && ++at[0] < part.high[0]) continue;
      at[0] = part.low[0];
      int d = 2;
      while (d < max_dims && ++at[d] >= part.high[d]) {
        at[d] = part.low[d];
        ++d;
      }
      if (d == max_dims) return;
    }
  }

  template <bool Fast, std::size_t Index, class Rows>
  void next_line(Rows& rows, bool steps, const coordinates& at, int strip, std::byte*& replica, check_site& site) {
    if (steps) {
      std::get<Index>(rows).next_line();
    } else {
      std::get<Index>(rows) = std::get<Index>(parameters_).template begin<Fast>(at, range(), strip, replica, site);
    }
  }

  template <bool Fast, class Rows, std::size_t... Index>
  static void run_lines(Kernel& kernel, const Rows& first, int from, int points, int lines,
                        std::index_sequence<Index...> all) {
    if constexpr (Fast) clear_vector_registers();
    run_kernel<Fast>(kernel, first, from, points, lines, all);
  }

  template <class Row>
  [[gnu::always_inline]] static decltype(auto) view(Row& row, std::ptrdiff_t point, int lane) noexcept {
    if constexpr (requires { row.view(point, lane); }) {
      return row.view(point, lane);
    } else {
      return row.view(point);
    }
  }

  // Runs the inner loop. Out of line and flat, so that each kernel has a loop that contains only the kernel. With a
  // reduction the loop is over as many points as there are lanes; gcc seldom vectorizes it if unrolled.
  template <bool Fast, class Rows, std::size_t... Index>
  [[gnu::noinline, gnu::flatten]] static void run_kernel(Kernel& kernel, const Rows& first, int from, int points,
                                                         int lines, std::index_sequence<Index...>) {
    Rows rows = first;
    (std::get<Index>(rows).advance(from), ...);
    for (int line = 0; line < lines; ++line) {
      (std::get<Index>(rows).enter(), ...);
      if constexpr (Fast && !any_reduction) {
        SITU_STENCIL_INDEPENDENT
        for (int i = 0; i < points; ++i) kernel(view(std::get<Index>(rows), i, 0)...);
      } else {
        int i = 0;
        if constexpr (Fast) {
          for (; i + reduction_lanes <= points; i += reduction_lanes) {
            SITU_STENCIL_INDEPENDENT
#pragma GCC unroll 1
            for (int lane = 0; lane < reduction_lanes; ++lane) kernel(view(std::get<Index>(rows), i + lane, lane)...);
          }
        }
        for (int lane = 0; i < points; ++i, ++lane) kernel(view(std::get<Index>(rows), i, lane)...);
      }
      (std::get<Index>(rows).leave(), ...);
      (std::get<Index>(rows).next_line(), ...);
    }
  }

  Kernel kernel_;
  std::tuple<Parameters...> parameters_;
  bool fast_ = false;
  bool mapped_ = false;
};

}  // namespace situ::stencil::detail
