// The subject program of `situ bench stencil`: measures the cases that SITU_BENCH_CASES names. measure.h says how.
#include "measure.h"

#include <situ/base/error.h>

#include <cstring>
#include <functional>
#include <utility>

namespace {

using namespace stencil_bench;

std::string variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

const std::pair<const char*, std::function<void(const session&)>> cases[] = {
    {"triad_1", [](const session& s) { measure_triad(s, "triad_1", 1); }},
    {"triad_2", [](const session& s) { measure_triad(s, "triad_2", 2); }},
    {"copy", [](const session& s) { measure_loop(s, "copy"); }},
    {"seven_point", [](const session& s) { measure_loop(s, "seven_point"); }},
    {"twenty_seven_point", [](const session& s) { measure_loop(s, "twenty_seven_point"); }},
    {"jacobi_chain", measure_jacobi_chain},
    {"jacobi_far", measure_jacobi_far},
    {"taylor_green", measure_taylor_green},
    {"euler", measure_euler},
    {"plan_new", [](const session& s) { measure_planning(s, true); }},
    {"plan_cached", [](const session& s) { measure_planning(s, false); }},
    {"tile_choice_2d", [](const session& s) { measure_tile_choice(s, "tile_choice_2d", 2); }},
    {"tile_choice_3d", [](const session& s) { measure_tile_choice(s, "tile_choice_3d", 3); }},
    {"beyond_memory", measure_beyond_memory},
    {"cloverleaf_3840", [](const session& s) { measure_programs(s, "cloverleaf_3840"); }},
    {"devito_heat", [](const session& s) { measure_devito(s, "devito_heat"); }},
    {"devito_wave", [](const session& s) { measure_devito(s, "devito_wave"); }},
    {"cloverleaf_192", [](const session& s) { measure_programs(s, "cloverleaf_192"); }},
    {"mb_shsgc", [](const session& s) { measure_programs(s, "mb_shsgc"); }},
    {"cloverleaf_kernels", measure_kernels},
    {"cloverleaf_960", [](const session& s) { measure_programs(s, "cloverleaf_960"); }},
};

}  // namespace

int main() {
  const session s{std::atof(variable("SITU_BENCH_SECONDS", "1").c_str()), variable("SITU_BENCH_QUICK", "0") == "1",
                  variable("SITU_STENCIL_DIRECTORY", variable("TMPDIR", "/tmp").c_str()),
                  variable("SITU_BENCH_PROGRAMS", "")};
  const std::string wanted = variable("SITU_BENCH_CASES", ",");
  try {
    for (const auto& [name, measure] : cases)
      if (wanted.find("," + std::string{name} + ",") != wanted.npos) measure(s);
  } catch (const situ::error& e) {
    return std::fprintf(stderr, "%s\n", std::string{e.message()}.c_str()), 1;
  } catch (const std::exception& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
  std::puts("{\"end\":\"situ\"}");
}
