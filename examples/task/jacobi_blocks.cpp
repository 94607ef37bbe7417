// Jacobi steps over a grid by blocks of rows, with declared accesses: a unit reads its rows and one more on either
// side, and writes them into the other grid. There is no barrier between steps: a block goes on once its neighbours
// have.
//
//   jacobi_blocks                                        1000 x 1000, 100 steps, in memory
//   jacobi_blocks --size 4000 --steps 20 --budget-mib 64 both grids in files, of which 64 MiB each are in memory
//
// Prints the sum of the grid and the largest change of the last step: the same bits wherever the grids are.
#include <situ/task/staged_array.h>
#include <situ/task/task_graph.h>

#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct options {
  std::size_t size = 1000, rows = 50, steps = 100, budget_mib = 0;
  std::uint32_t threads = 0;
};

// A grid in memory, or in a file that goes with it.
class grid {
 public:
  grid(situ::task_graph& graph, const options& o) : size_{o.size} {
    if (o.budget_mib == 0) {
      memory_.resize(size_ * size_);
      return;
    }
    path_ = std::filesystem::temp_directory_path() / "jacobi_blocks_XXXXXX";
    const int file = ::mkstemp(path_.data());
    if (file < 0) throw std::runtime_error{"no file in " + std::filesystem::temp_directory_path().string()};
    ::close(file);
    staged_.emplace(graph, path_, size_ * size_,
                    situ::staging_options{.tile_bytes = 1 << 16, .budget_bytes = o.budget_mib << 20});
  }
  ~grid() {
    staged_.reset();
    if (!path_.empty()) std::filesystem::remove(path_);
  }
  grid(const grid&) = delete;
  grid& operator=(const grid&) = delete;

  [[nodiscard]] double* row(std::size_t r) { return (staged_ ? staged_->data() : memory_.data()) + r * size_; }
  [[nodiscard]] std::span<double> rows(std::size_t begin, std::size_t end) {
    return {row(begin), (end - begin) * size_};
  }

 private:
  std::size_t size_;
  std::vector<double> memory_;
  std::string path_;
  std::optional<situ::staged_array<double>> staged_;
};

struct larger {
  double operator()(double a, double b) const { return std::max(a, b); }
};

// Rows [begin, end) of `to`, and the largest change. The border stays as it is.
double relax(std::size_t size, std::size_t begin, std::size_t end, const double* from, double* to) {
  double change = 0;
  for (std::size_t r = begin; r < end; ++r)
    for (std::size_t c = 0; c < size; ++c) {
      const std::size_t at = r * size + c;
      const bool is_border = r == 0 || r + 1 == size || c == 0 || c + 1 == size;
      to[at] = is_border ? from[at] : 0.25 * (from[at - 1] + from[at + 1] + from[at - size] + from[at + size]);
      change = std::max(change, std::abs(to[at] - from[at]));
    }
  return change;
}

void add_steps(situ::task_graph& graph, std::array<std::unique_ptr<grid>, 2>& u, const options& o, double& change) {
  for (std::size_t step = 0; step < o.steps; ++step)
    for (std::size_t begin = 0; begin < o.size; begin += o.rows) {
      const std::size_t end = std::min(begin + o.rows, o.size);
      grid &from = *u[step % 2], &to = *u[(step + 1) % 2];
      const auto needed = from.rows(begin == 0 ? 0 : begin - 1, std::min(end + 1, o.size));
      const auto work = [size = o.size, begin, end, in = from.row(0), out = to.row(0)] {
        return relax(size, begin, end, in, out);
      };
      if (step + 1 < o.steps)
        graph.add({situ::reads(needed), situ::writes(to.rows(begin, end))}, [work] { (void)work(); });
      else
        graph.reduce(
            change, {situ::reads(needed), situ::writes(to.rows(begin, end))}, [work](double& part) { part = work(); },
            0.0, larger{});
    }
}

void run(const options& o) {
  situ::task_graph graph{{.threads = o.threads}};
  std::array<std::unique_ptr<grid>, 2> u;
  for (auto& each : u) each = std::make_unique<grid>(graph, o);
  for (std::size_t begin = 0; begin < o.size; begin += o.rows) {
    const std::span<double> mine = u[0]->rows(begin, std::min(begin + o.rows, o.size));
    graph.add({situ::writes(mine)}, [mine, begin, size = o.size] {
      for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = begin == 0 && i < size ? 1.0 : 0.0;  // one hot edge
    });
  }
  double change = 0, sum = 0;
  add_steps(graph, u, o, change);
  for (std::size_t begin = 0; begin < o.size; begin += o.rows) {
    const std::span<const double> mine = u[o.steps % 2]->rows(begin, std::min(begin + o.rows, o.size));
    graph.reduce(sum, {situ::reads(mine)}, [mine](double& part) {
      for (const double each : mine) part += each;
    });
  }
  graph.wait();
  fmt::print("{} steps of {} x {}: sum {:.17g}, largest change {:.17g}\n", o.steps, o.size, o.size, sum, change);
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  CLI::App app{"Jacobi steps by blocks of rows that declare what they read and write"};
  app.add_option("--size", o.size, "rows and columns")->check(CLI::Range(3, 100'000));
  app.add_option("--rows", o.rows, "of a block")->check(CLI::PositiveNumber);
  app.add_option("--steps", o.steps)->check(CLI::PositiveNumber);
  app.add_option("--budget-mib", o.budget_mib, "of each grid in memory, which lies in a file; 0: all, and no file");
  app.add_option("--threads", o.threads, "0: one a processor");
  CLI11_PARSE(app, argc, argv);
  try {
    run(o);
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "jacobi_blocks: {}\n", failure.what());
    return 1;
  }
}
