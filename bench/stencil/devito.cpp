// Heat and an acoustic wave in single precision, beside Devito's generated code: 7 points, and 25 of order 8.
//
// Devito runs in a python of its own (bench/rivals/devito_stencil.py), which stays between the samples and waits for a
// line on its standard input while Situ computes. All subjects take turns, chain by chain, from the second chain on:
// what Situ's tiled executor spends on trials of tiles is in its samples.
#include "measure.h"

#include <situ/stencil/stencil.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "os/child.h"
#include "os/descriptor.h"
#include "os/signals.h"

namespace stencil_bench {

using namespace situ::stencil;

namespace {

namespace os = situ::os;

constexpr int steps = 20;  // a chain

float start_value(const std::array<int, 3>& i) {
  return static_cast<float>((i[0] * 7 + i[1] * 13 + i[2] * 3) % 101) * 0.01f;
}

// What Devito's flags are to be as well: bench/stencil/CMakeLists.txt passes ours.
constexpr const char* kernel_flags = SITU_BENCH_KERNEL_FLAGS;

class devito_process {
 public:
  devito_process(const std::string& python, const std::string& script, const char* kind, int n) {
    os::ignore_signal(SIGPIPE);  // a Devito that has ended is told of by what it has said
    os::pipe_ends to = os::pipe_ends::make(), from = os::pipe_ends::make();
    if (!to || !from) throw std::runtime_error{"devito: no pipe"};
    child_ = start(python, script, kind, n, to.read.number(), from.write.number());
    to.read.close();
    from.write.close();
    out_ = fdopen(to.write.release(), "w");
    in_ = fdopen(from.read.release(), "r");
    flags_ = line_after("flags ");
    std::istringstream values{line_after("line ")};
    for (float value; values >> value;) line_.push_back(value);
  }
  ~devito_process() {
    std::fclose(out_);  // it ends where its input does
    std::fclose(in_);
    if (child_) (void)child_.wait();
  }
  devito_process(const devito_process&) = delete;
  devito_process& operator=(const devito_process&) = delete;

  [[nodiscard]] const std::vector<float>& line() const noexcept { return line_; }
  [[nodiscard]] const std::string& flags() const noexcept { return flags_; }
  // Seconds of a chain.
  double chain() {
    std::fputs("chain\n", out_);
    std::fflush(out_);
    return std::stod(line_after(""));
  }

 private:
  // Empty where it cannot be started: then it says nothing.
  static os::child start(const std::string& python, const std::string& script, const char* kind, int n, int input,
                         int output) {
    constexpr std::pair<std::string_view, std::string_view> fixed[] = {
        {"DEVITO_LANGUAGE", "openmp"}, {"DEVITO_ARCH", "gcc"},      {"OMP_PROC_BIND", "true"},
        {"OMP_PLACES", "threads"},     {"DEVITO_LOGGING", "ERROR"}, {"GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"}};
    std::vector<std::string_view> names{"OMP_NUM_THREADS"};
    for (const auto& [name, value] : fixed) names.push_back(name);
    std::vector<std::string> settings = os::own_environment(names);
    settings.push_back("OMP_NUM_THREADS=" + std::to_string(threads));
    for (const auto& [name, value] : fixed) settings.push_back(std::string{name} + "=" + std::string{value});
    std::vector<std::string> words{python, script, kind, std::to_string(n), std::to_string(steps)};
    std::istringstream flags{kernel_flags};
    for (std::string flag; flags >> flag;) words.push_back(flag);
    const os::exec_texts arguments{std::move(words)}, variables{std::move(settings)};
    return os::child::start(
        {.file = python.c_str(), .arguments = arguments, .environment = &variables, .input = input, .output = output});
  }
  // The next line, without the beginning that it must have.
  std::string line_after(std::string_view begin) {
    std::string line;
    for (int c; (c = std::fgetc(in_)) != EOF && c != '\n';) line += static_cast<char>(c);
    if (line.empty() || !line.starts_with(begin))
      throw std::runtime_error{"devito: it says '" + line + "' where '" + std::string{begin} + "...' is expected"};
    return line.substr(begin.size());
  }

  os::child child_;
  FILE* out_ = nullptr;
  FILE* in_ = nullptr;
  std::string flags_;
  std::vector<float> line_;
};

using field = dataset<float, 3>;

// The start values in x, and so many times them in y; zeros around them.
void start(context& run, const block<3>& cube, const field& x, const field& y, int n, int depth, float times) {
  const int low = -depth, high = n + depth;
  par_loop(
      "start", cube, range(low, high, low, high, low, high),
      [n, times](auto u, auto v, const auto& i) {
        const bool inside = i[0] >= 0 && i[1] >= 0 && i[2] >= 0 && i[0] < n && i[1] < n && i[2] < n;
        const float value = inside ? start_value({i[0], i[1], i[2]}) : 0.f;
        u(0, 0, 0) = value;
        v(0, 0, 0) = times * value;
      },
      write(x), write(y), index());
  run.execute();
}

struct heat {
  context run;
  block<3> cube{run, "cube"};
  int n;
  field u{cube, "u", {n, n, n}, 1}, v{cube, "v", {n, n, n}, 1};
  shape seven = shape::star(3, 1);

  heat(const options& how, int points) : run{how}, n{points} { start(run, cube, u, v, n, 1, 0.f); }
  void step(int s) {
    par_loop(
        "heat", cube, range(0, n, 0, n, 0, n),
        [](auto x, auto y) {
          y(0, 0, 0) = x(0, 0, 0) + 0.1f * (x(-1, 0, 0) + x(1, 0, 0) + x(0, -1, 0) + x(0, 1, 0) + x(0, 0, -1) +
                                            x(0, 0, 1) - 6.f * x(0, 0, 0));
        },
        read(s % 2 ? v : u, seven), write(s % 2 ? u : v));
  }
  // Of a chain's end: the number of steps is even.
  [[nodiscard]] const field& newest() const { return u; }
};

// Of order 8: u'' = c lap u, with the coefficients of the second derivative.
struct wave {
  context run;
  block<3> cube{run, "cube"};
  int n;
  field u{cube, "u", {n, n, n}, 4}, v{cube, "v", {n, n, n}, 4}, c{cube, "c", {n, n, n}};
  shape star = shape::star(3, 4);

  wave(const options& how, int points) : run{how}, n{points} {
    start(run, cube, u, v, n, 4, 1.f);
    par_loop("speed", cube, range(0, n, 0, n, 0, n), [](auto s) { s(0, 0, 0) = 0.05f; }, write(c));
    run.execute();
  }
  void step(int s) {
    par_loop(
        "wave", cube, range(0, n, 0, n, 0, n),
        [](auto x, auto y, auto s) {
          constexpr float middle = 3.f * -205.f / 72.f;
          constexpr float w[] = {8.f / 5.f, -1.f / 5.f, 8.f / 315.f, -1.f / 560.f};
          const auto at = [&](int d) __attribute__((always_inline)) {
            return x(-d, 0, 0) + x(d, 0, 0) + x(0, -d, 0) + x(0, d, 0) + x(0, 0, -d) + x(0, 0, d);
          };
          const float around = middle * x(0, 0, 0) + w[0] * at(1) + w[1] * at(2) + w[2] * at(3) + w[3] * at(4);
          y(0, 0, 0) = 2.f * x(0, 0, 0) - y(0, 0, 0) + s(0, 0, 0) * around;
        },
        read(s % 2 ? v : u, star), read_write(s % 2 ? u : v), read(c));
  }
  [[nodiscard]] const field& newest() const { return u; }
};

template <class Problem>
struct subject {
  Problem problem;
  explicit subject(executor how, int n) : problem{options_for(how), n} {}
  // Nanoseconds for a point and step.
  double chain() {
    const double seconds = seconds_of([&] {
      for (int s = 0; s < steps; ++s) problem.step(s);
      problem.run.execute();
    });
    return seconds / (std::pow(problem.n, 3) * steps) * 1e9;
  }
  [[nodiscard]] std::vector<float> middle() const {
    const int n = problem.n, m = n / 2;
    return problem.newest().fetch(range(0, n, m, m + 1, m, m + 1));
  }
};

// Devito's lines run along the first dimension of the array, ours too; its compiler reorders sums.
bool are_close(const std::vector<float>& ours, const std::vector<float>& theirs) {
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                    [](float a, float b) { return std::abs(a - b) <= 1e-3f * std::max(1.f, std::abs(a)); });
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error{std::string{name} + " is not set: `situ bench stencil` does so"};
  return value;
}

template <class Problem>
void measure_beside_devito(const session& s, const char* case_name, const char* kind) {
  const int n = s.is_quick ? 48 : 384;
  subject<Problem> plain{executor::plain, n}, tiled{executor::tiled, n};
  devito_process devito{environment("SITU_BENCH_DEVITO"), environment("SITU_BENCH_DEVITO_SCRIPT"), kind, n};
  plain.chain();
  tiled.chain();
  require_equal(plain.middle() == tiled.middle() && are_close(plain.middle(), devito.line()), case_name);
  std::printf("{\"terms\":\"devito\",\"flags\":\"%s\"}\n", devito.flags().c_str());
  sampler samples{s, case_name};
  samples.repeat([&] {
    const double devito_ns = devito.chain() / (std::pow(n, 3) * steps) * 1e9;
    const double plain_ns = plain.chain(), tiled_ns = tiled.chain();
    samples.print("devito", devito_ns, devito_ns);
    samples.print("plain", plain_ns, devito_ns);
    samples.print("tiled", tiled_ns, devito_ns);
  });
}

}  // namespace

void measure_devito(const session& s, const char* case_name) {
  if (std::string_view{case_name} == "devito_heat")
    measure_beside_devito<heat>(s, case_name, "heat");
  else
    measure_beside_devito<wave>(s, case_name, "wave");
}

}  // namespace stencil_bench
