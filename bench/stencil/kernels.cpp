// Each kernel of OPS's CloverLeaf 2D by itself: its time a point, with data in the second-level cache and one thread,
// against what this processor needs for its operations, and for its bytes out of that cache.
//
// The program is the user's, as in programs.cpp: FOLDER/cloverleaf_kernels/plain, CloverLeaf with situ::ops. It runs in
// a folder of its own with an input that makes its mesh small, and writes Situ's report of its loops. Kernels that the
// table below does not have are named as unknown, and count for nothing.
#include "measure.h"
#include "processor.h"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

namespace stencil_bench {
namespace {

namespace fs = std::filesystem;

// What a kernel computes at a point, counted in its source: the same expression once, what does not change along a line
// not at all, both branches where it has two (a vector takes both), a multiplication that only goes into an addition
// with it. MIN, MAX, fabs and a second choice by the same condition count as arithmetic. A neighbour that is chosen by
// a condition is a choice among the neighbours. Divisions and roots are those that are in the machine code, too.
struct kernel_operations {
  const char* name;
  double divisions, roots, arithmetic, selects;
};
constexpr kernel_operations known[] = {
    {"PdV_kernel_nopredict", 4, 0, 29, 0},
    {"PdV_kernel_predict", 4, 0, 33, 0},
    {"accelerate_kernel", 1, 0, 25, 0},
    {"advec_cell_kernel1_xdir", 0, 0, 5, 0},
    {"advec_cell_kernel1_ydir", 0, 0, 5, 0},
    {"advec_cell_kernel2_xdir", 0, 0, 2, 0},
    {"advec_cell_kernel2_ydir", 0, 0, 2, 0},
    {"advec_cell_kernel3_xdir", 3, 0, 45, 6},
    {"advec_cell_kernel3_ydir", 3, 0, 45, 6},
    {"advec_cell_kernel4_xdir", 2, 0, 7, 0},
    {"advec_cell_kernel4_ydir", 2, 0, 7, 0},
    {"advec_mom_kernel1_x", 4, 0, 22, 3},
    {"advec_mom_kernel1_y", 4, 0, 22, 3},
    {"advec_mom_kernel2_x", 1, 0, 2, 0},
    {"advec_mom_kernel2_y", 1, 0, 2, 0},
    {"advec_mom_kernel_mass_flux_x", 0, 0, 4, 0},
    {"advec_mom_kernel_mass_flux_y", 0, 0, 4, 0},
    {"advec_mom_kernel_post_pre_advec_x", 0, 0, 7, 0},
    {"advec_mom_kernel_post_pre_advec_y", 0, 0, 7, 0},
    {"advec_mom_kernel_x1", 0, 0, 4, 0},
    {"advec_mom_kernel_x2", 0, 0, 2, 0},
    {"advec_mom_kernel_y1", 0, 0, 4, 0},
    {"advec_mom_kernel_y2", 0, 0, 2, 0},
    {"calc_dt_kernel", 6, 1, 34, 1},
    {"calc_dt_kernel_min", 0, 0, 1, 0},
    {"flux_calc_kernelx", 0, 0, 5, 0},
    {"flux_calc_kernely", 0, 0, 5, 0},
    {"ideal_gas_kernel", 1, 1, 6, 0},
    {"reset_field_kernel1", 0, 0, 0, 0},
    {"reset_field_kernel2", 0, 0, 0, 0},
    {"revert_kernel", 0, 0, 0, 0},
    {"viscosity_kernel", 9, 1, 49, 4},
};

// The unit that divides also takes roots; the others add, multiply and choose meanwhile.
double operations_ns(const kernel_operations& k, const processor_limits& p) {
  return std::max(k.divisions * p.divide + k.roots * p.root, k.arithmetic * p.arithmetic + k.selects * p.select);
}

struct loop_total {
  std::string name;
  double calls, points, ns, bytes_read, bytes_written;
};

std::vector<loop_total> read_report(const fs::path& file) {
  std::ifstream in{file};
  if (!in)
    throw std::runtime_error{file.string() + ": the program has written no report; is it linked with situ::ops?"};
  std::vector<loop_total> loops;
  const auto report = nlohmann::json::parse(in);
  for (const auto& each : report.at("loops"))
    loops.push_back({each.at("name"), each.at("calls"), each.at("points"), each.at("seconds").get<double>() * 1e9,
                     each.at("bytes_read"), each.at("bytes_written")});
  return loops;
}

// A folder that is removed again.
class own_folder {
 public:
  explicit own_folder(const std::string& in) : path_{fs::path{in} / "situ_kernels_XXXXXX"} {
    std::string name = path_.string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{name + ": cannot be made"};
    path_ = name;
  }
  ~own_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;
  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

constexpr int row_cells = 256;  // as in a tile
constexpr int edge_cells = 5;   // the program's own ghost points, and one more vertex than cells

// CloverLeaf has 25 fields of doubles: so many rows that they fill three quarters of the second-level cache.
int rows_for_cache() {
  const std::size_t row_bytes = (row_cells + 8) * sizeof(double) * 25;
  return std::max(4, static_cast<int>(second_level_bytes() * 3 / 4 / row_bytes) - edge_cells);
}

void write_input(const fs::path& file, int rows, int steps) {
  std::ofstream out{file};
  out << "*clover\n state 1 density=0.2 energy=1.0\n"
         " state 2 density=1.0 energy=2.5 geometry=rectangle xmin=0.0 xmax=5.0 ymin=0.0 ymax=2.0\n"
      << " x_cells=" << row_cells << "\n y_cells=" << rows
      << "\n xmin=0.0\n ymin=0.0\n xmax=10.0\n ymax=10.0\n"
         " initial_timestep=0.0004\n timestep_rise=1.5\n max_timestep=0.04\n end_time=1000000.0\n end_step="
      << steps << "\n summary_frequency=0\n profiler_on=0\n test_problem 0\n*endclover\n";
  if (!out.flush()) throw std::runtime_error{file.string() + ": cannot be written"};
}

std::vector<loop_total> run_clover(const fs::path& program, const std::string& directory, int steps) {
  const own_folder folder{directory};
  write_input(folder.path() / "clover.in", rows_for_cache(), steps);
  const std::string command = "cd '" + folder.path().string() +
                              "' && SITU_STENCIL_EXECUTOR=plain SITU_STENCIL_THREADS=1 "
                              "SITU_STENCIL_REPORT=report.json '" +
                              fs::absolute(program).string() + "' > output 2>&1";
  if (std::system(command.c_str()) != 0) throw std::runtime_error{program.string() + ": failed"};
  return read_report(folder.path() / "report.json");
}

struct figure {
  const kernel_operations* kernel;
  double ns, operations, bytes;  // of a point
  [[nodiscard]] double limit() const { return std::max(operations, bytes); }
  [[nodiscard]] double ratio() const { return ns / limit(); }
};

// What is run in each step, but the edges. Others are the start of the program.
std::vector<figure> figures_of(const std::vector<loop_total>& loops, const processor_limits& p, int steps) {
  std::vector<figure> figures;
  for (const auto& l : loops) {
    const double points = l.points / l.calls;
    if (l.calls < steps / 2.0 || points < row_cells * 4) continue;  // not of a step; an edge or a single point
    const auto* const found =
        std::find_if(std::begin(known), std::end(known), [&](const auto& k) { return k.name == l.name; });
    if (found == std::end(known)) {
      std::fprintf(stderr, "cloverleaf_kernels: nothing is known of the operations of '%s'\n", l.name.c_str());
      continue;
    }
    figures.push_back({found, l.ns / l.points, operations_ns(*found, p),
                       (l.bytes_read * p.read + l.bytes_written * p.write) / l.points});
  }
  return figures;
}

void print_processor(const sampler& samples, const processor_limits& p) {
  const std::pair<const char*, double> all[] = {{"divide", p.divide},         {"root", p.root},
                                                {"arithmetic", p.arithmetic}, {"select", p.select},
                                                {"read_l2", p.read * 8},      {"write_l2", p.write * 8}};
  for (const auto& [subject, ns] : all) samples.print_of("processor", subject, ns, p.arithmetic);
}

}  // namespace

void measure_kernels(const session& s) {
  const fs::path program = fs::path{s.programs} / "cloverleaf_kernels" / "plain";
  if (s.programs.empty() || !fs::exists(program)) return;
  const int steps = s.is_quick ? 20 : 1000;
  sampler samples{s, "cloverleaf_kernels"};
  samples.repeat([&] {
    const auto limits = measure_processor();
    const auto loops = run_clover(program, s.directory, steps);
    auto figures = figures_of(loops, limits, steps);
    if (figures.empty()) throw std::runtime_error{program.string() + ": its report has no kernel that is known"};
    print_processor(samples, limits);
    for (const auto& f : figures) {
      samples.print(f.kernel->name, f.ns, f.limit());
      samples.print_of("cloverleaf_limits", f.kernel->name, f.operations, f.bytes);
    }
    std::sort(figures.begin(), figures.end(), [](const auto& a, const auto& b) { return a.ratio() < b.ratio(); });
    samples.print("half", figures[figures.size() / 2].ns, figures[figures.size() / 2].limit());
    samples.print("worst", figures.back().ns, figures.back().limit());
  });
}

}  // namespace stencil_bench
