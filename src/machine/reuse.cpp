#include <situ/machine/detail/reuse.h>

#include "machine/measure_kernels.h"
#include "os/output_file.h"
#include "os/user_directory.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>

namespace situ::machine {
namespace {

reuse_cost between(const reuse_cost& a, const reuse_cost& b, double share) {
  const auto mix = [share](double x, double y) { return x + (y - x) * share; };
  return {mix(a.bytes, b.bytes), mix(a.read_ns, b.read_ns), mix(a.write_ns, b.write_ns), mix(a.start_ns, b.start_ns)};
}

}  // namespace

reuse_curve::reuse_curve(std::vector<reuse_cost> points, double handed_ns)
    : points_{std::move(points)}, handed_ns_{handed_ns} {
  for (std::size_t i = points_.size(); i-- > 1;) {
    auto &p = points_[i - 1], &after = points_[i];
    p.read_ns = std::min(p.read_ns, after.read_ns);
    p.write_ns = std::min(p.write_ns, after.write_ns);
    p.start_ns = std::min(p.start_ns, after.start_ns);
  }
}

reuse_cost reuse_curve::at(double bytes) const noexcept {
  if (points_.empty() || bytes < points_.front().bytes) return {bytes, 0, 0, 0};
  const auto above = std::upper_bound(points_.begin(), points_.end(), bytes,
                                      [](double wanted, const reuse_cost& p) { return wanted < p.bytes; });
  if (above == points_.end()) return points_.back();
  const auto& below = *(above - 1);
  return between(below, *above, std::log2(bytes / below.bytes) / std::log2(above->bytes / below.bytes));
}

namespace {

constexpr std::size_t streams = 4;         // arrays that a loop goes through at once
constexpr std::size_t piece_doubles = 64;  // 512 bytes: runs that begin at scattered positions, in the third loop

enum class pattern { read, update, pieces };

// There are eight sums: one sum would wait for its own additions.
[[gnu::always_inline]] inline double read_piece(const double* const* from, std::size_t first,
                                                std::size_t count) noexcept {
  double sums[8] = {};
  for (std::size_t i = first; i + 8 <= first + count; i += 8) {
    for (std::size_t j = 0; j < 8; ++j)
      sums[j] += (from[0][i + j] + from[1][i + j]) + (from[2][i + j] + from[3][i + j]);
  }
  return std::accumulate(sums, sums + 8, 0.0);
}

[[gnu::always_inline]] inline void update_piece(double* __restrict to, const double* __restrict a,
                                                const double* __restrict b, const double* __restrict c,
                                                std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = (to[i] + a[i]) + (b[i] + c[i]);
}

// One pass over `bytes` of memory.
[[gnu::always_inline]] inline double pass_body(pattern which, double* memory, std::size_t bytes) noexcept {
  const std::size_t count = bytes / sizeof(double) / streams / piece_doubles * piece_doubles;
  double* const at[streams] = {memory, memory + count, memory + 2 * count, memory + 3 * count};
  switch (which) {
    case pattern::read: return read_piece(at, 0, count);
    case pattern::update: update_piece(at[0], at[1], at[2], at[3], count); return at[0][count / 2];
    case pattern::pieces: break;
  }
  // The steps are some pages long, in an order that reaches each piece once: no prefetcher follows.
  const std::size_t pieces = count / piece_doubles;
  std::size_t step = pieces > 64 ? 37 : 1;
  while (std::gcd(step, pieces) != 1) ++step;
  double sum = 0;
  for (std::size_t n = 0, piece = 0; n < pieces; ++n, piece = (piece + step) % pieces)
    sum += read_piece(at, piece * piece_doubles, piece_doubles);
  return sum;
}

// Compiled for the processor's widest vectors: narrow loads would hide the cost of the second-level cache.
#if defined(__x86_64__)
#if defined(__clang__)
#define SITU_WIDEST "avx512f"
#else
#define SITU_WIDEST "avx512f,prefer-vector-width=512"
#endif
[[gnu::noinline, gnu::target(SITU_WIDEST)]] double pass_512(pattern which, double* memory, std::size_t bytes) noexcept {
  return pass_body(which, memory, bytes);
}
[[gnu::noinline, gnu::target("avx2")]] double pass_256(pattern which, double* memory, std::size_t bytes) noexcept {
  return pass_body(which, memory, bytes);
}
#endif
[[gnu::noinline]] double pass_any(pattern which, double* memory, std::size_t bytes) noexcept {
  return pass_body(which, memory, bytes);
}

using pass_function = double (*)(pattern, double*, std::size_t) noexcept;
pass_function widest_pass() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return pass_512;
  if (__builtin_cpu_supports("avx2")) return pass_256;
#endif
  return pass_any;
}

// Returns the nanoseconds per byte of one thread's pass: the best of some, or of one if a pass takes milliseconds.
double best_pass(pass_function pass, pattern which, double* memory, std::size_t bytes, double& kept) noexcept {
  const int passes = bytes > std::size_t{4} << 20 ? 1 : 3;
  const auto rounds = std::max<std::size_t>(1, (std::size_t{1} << 19) / bytes);
  double best = std::numeric_limits<double>::max();
  for (int n = 0; n < passes; ++n) {
    const double from = detail::now_ns();
    for (std::size_t i = 0; i < rounds; ++i) kept += pass(which, memory, bytes);
    best = std::min(best, (detail::now_ns() - from) / static_cast<double>(rounds * bytes));
  }
  return best;
}

std::vector<std::size_t> sizes_up_to(std::uint64_t most_bytes) {
  std::vector<std::size_t> sizes{std::size_t{16} << 10};  // in the first-level cache: the baseline for the others
  for (std::size_t bytes = std::size_t{64} << 10; bytes <= most_bytes; bytes *= 2) {
    sizes.push_back(bytes);
    // Near the sizes of caches there are points in between.
    if (bytes >= std::size_t{256} << 10 && bytes < std::size_t{64} << 20 && bytes * 3 / 2 <= most_bytes)
      sizes.push_back(bytes * 3 / 2);
  }
  return sizes;
}

struct pass_times {
  double read = 0, update = 0, pieces = 0;
};

reuse_cost cost_of(std::size_t bytes, const pass_times& t, const pass_times& near) {
  const double read = std::max(0.0, t.read - near.read);
  // A quarter of the bytes is updated. The baseline is a read of near memory, so the cost of storing itself is
  // included.
  const double write = std::max(read, (t.update - near.read) * streams - (streams - 1) * read);
  const double start = std::max(0.0, (t.pieces - near.pieces) - (t.read - near.read)) *
                       static_cast<double>(piece_doubles * sizeof(double));
  return {static_cast<double>(bytes), read, write, start};
}

// Runs the passes on all threads; each has memory of its own.
class reuse_measurer {
 public:
  reuse_measurer(const run_on_all& run, int threads, std::uint64_t most_bytes)
      : run_{run},
        sizes_{sizes_up_to(most_bytes)},
        memories_(static_cast<std::size_t>(threads)),
        times_(static_cast<std::size_t>(threads), std::vector<pass_times>(sizes_.size())) {}

  // Allocates the threads' memory. Returns false if there is not enough.
  [[nodiscard]] bool allocate() {
    std::atomic<bool> failed{false};
    run_([&](int thread) {
      auto& memory = memories_[static_cast<std::size_t>(thread)];
      memory = detail::touched_pages(sizes_.back(), detail::any_node);  // this thread touches it first
      if (memory.empty()) failed = true;
    });
    return !failed;
  }
  // Measures each size twice: by then a disturbance has ended, and the processor's clock has risen. Then it repeats
  // the sizes that were disturbed both times.
  void measure() {
    for (int round = 0; round < 6; ++round) {
      for (std::size_t s = 0; s < sizes_.size(); ++s) {
        if (round < 2 || is_disturbed(s))
          run_([&](int thread) { measure_size(static_cast<std::size_t>(thread), s, round == 0); });
      }
    }
  }
  // Returns the cost of a byte that another thread has written just before: the slowest of some. On a virtual machine
  // the path between two processors changes in seconds, and a choice for the short path loses more on the long one.
  [[nodiscard]] double handed_ns() {
    if (memories_.size() < 2) return 0;
    const std::size_t bytes = std::min<std::size_t>(sizes_.back(), std::size_t{256} << 10);
    std::vector<double> rounds;
    for (int round = 0; round < 9; ++round) {
      std::atomic<double> total{0};
      run_([&](int thread) {
        std::fill_n(memories_[static_cast<std::size_t>(thread)].data(), bytes, static_cast<std::byte>(0));
      });
      run_([&](int thread) {
        auto& other = memories_[(static_cast<std::size_t>(thread) + 1) % memories_.size()];
        const double from = detail::now_ns();
        kept_.fetch_add(pass_(pattern::read, reinterpret_cast<double*>(other.data()), bytes));
        total.fetch_add(detail::now_ns() - from);
      });
      rounds.push_back(total / static_cast<double>(memories_.size() * bytes));
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[rounds.size() - 2];  // in the slowest a thread may have been preempted
  }
  [[nodiscard]] std::vector<reuse_cost> points() const {
    std::vector<reuse_cost> points;
    const auto threads = static_cast<double>(times_.size());
    for (std::size_t s = 1; s < sizes_.size(); ++s) {
      reuse_cost sum;
      for (const auto& t : times_) {
        const auto c = cost_of(sizes_[s], t[s], t[0]);
        sum.read_ns += c.read_ns / threads, sum.write_ns += c.write_ns / threads, sum.start_ns += c.start_ns / threads;
      }
      sum.bytes = static_cast<double>(sizes_[s]);
      points.push_back(sum);
    }
    return points;
  }

 private:
  // Tells whether a byte takes longer than in a pass over more bytes.
  [[nodiscard]] bool is_disturbed(std::size_t s) const {
    constexpr double much = 1.1;
    return std::any_of(times_.begin(), times_.end(), [&](const std::vector<pass_times>& of_thread) {
      return std::any_of(of_thread.begin() + static_cast<std::ptrdiff_t>(s) + 1, of_thread.end(),
                         [&, &t = of_thread[s]](const pass_times& more) {
                           return t.read > much * more.read || t.update > much * more.update ||
                                  t.pieces > much * more.pieces;
                         });
    });
  }
  void measure_size(std::size_t thread, std::size_t s, bool is_first) {
    auto* const memory = reinterpret_cast<double*>(memories_[thread].data());
    auto& t = times_[thread][s];
    double sum = pass_(pattern::read, memory, sizes_[s]);
    const auto measure = [&](pattern which, double& time) {
      const double now = best_pass(pass_, which, memory, sizes_[s], sum);
      time = is_first ? now : std::min(time, now);
    };
    measure(pattern::read, t.read);
    measure(pattern::update, t.update);
    measure(pattern::pieces, t.pieces);
    kept_.fetch_add(sum);  // so that no pass can be optimised away
  }

  const run_on_all& run_;
  pass_function pass_ = widest_pass();
  std::vector<std::size_t> sizes_;
  std::vector<situ::detail::pages> memories_;
  std::vector<std::vector<pass_times>> times_;  // of each thread and size
  std::atomic<double> kept_{0};
};

}  // namespace

reuse_curve measure_reuse(const run_on_all& run, int threads, std::uint64_t most_bytes) {
  reuse_measurer measurer{run, threads, most_bytes};
  if (!measurer.allocate()) return {};
  measurer.measure();
  return reuse_curve{measurer.points(), measurer.handed_ns()};
}

namespace {

constexpr std::string_view heading = "situ reuse 3 ";
constexpr std::string_view last_line = "handed ";
constexpr std::size_t most_points = 256;
constexpr std::uintmax_t most_file_bytes = 1 << 16;

// Parses `Count` non-negative numbers, with a space between. Returns nullopt for anything else.
template <std::size_t Count>
std::optional<std::array<double, Count>> parse_numbers(std::string_view line) {
  std::array<double, Count> values;
  const char *at = line.data(), *const end = line.data() + line.size();
  for (std::size_t i = 0; i < Count; ++i) {
    if (i > 0 && (at == end || *at++ != ' ')) return std::nullopt;
    const auto [next, code] = std::from_chars(at, end, values[i]);
    if (code != std::errc{} || !std::isfinite(values[i]) || values[i] < 0) return std::nullopt;
    at = next;
  }
  return at == end ? std::optional{values} : std::nullopt;
}

}  // namespace

std::string to_text(const reuse_curve& curve, std::string_view machine) {
  std::string text = fmt::format("{}{}\n", heading, machine);
  for (const auto& p : curve.points()) text += fmt::format("{} {} {} {}\n", p.bytes, p.read_ns, p.write_ns, p.start_ns);
  return text + fmt::format("handed {}\n", curve.handed_ns());
}

std::optional<reuse_curve> parse_reuse(std::string_view text, std::string_view machine) {
  const auto next_line = [&text]() -> std::optional<std::string_view> {
    const auto end = text.find('\n');
    if (end == text.npos) return std::nullopt;
    const auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
  };
  const auto first = next_line();
  if (!first || !first->starts_with(heading) || first->substr(heading.size()) != machine) return std::nullopt;
  std::vector<reuse_cost> points;
  for (auto line = next_line(); line; line = next_line()) {
    if (line->starts_with(last_line)) {
      const auto handed = parse_numbers<1>(line->substr(last_line.size()));
      if (!handed || points.empty() || !text.empty()) return std::nullopt;
      return reuse_curve{std::move(points), handed->front()};
    }
    const auto p = parse_numbers<4>(*line);
    if (!p || points.size() == most_points || p->front() <= (points.empty() ? 0 : points.back().bytes))
      return std::nullopt;
    points.push_back({(*p)[0], (*p)[1], (*p)[2], (*p)[3]});
  }
  return std::nullopt;
}

std::string kept_directory() {
  if (const auto d = situ::detail::variable("SITU_CACHE_DIRECTORY"); !d.empty()) return d == "off" ? "" : d;
  return situ::detail::user_directory("XDG_CACHE_HOME", ".cache");
}

reuse_curve kept_reuse(const std::string& directory, std::string_view machine,
                       const std::function<reuse_curve()>& measure) {
  if (directory.empty()) return measure();
  namespace fs = std::filesystem;
  const fs::path path = fs::path{directory} / fmt::format("reuse-{:016x}", std::hash<std::string_view>{}(machine));
  std::error_code ignored;
  if (const auto bytes = fs::file_size(path, ignored); !ignored && bytes <= most_file_bytes) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    if (auto found = parse_reuse(text.view(), machine)) return std::move(*found);
  }
  auto measured = measure();
  if (measured.points().empty()) return measured;
  fs::create_directories(directory, ignored);
  try {
    situ::detail::replace_file(path.string(), to_text(measured, machine));
  } catch (const error&) {
    // The next call measures it again.
  }
  return measured;
}

}  // namespace situ::machine
