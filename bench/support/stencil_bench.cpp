#include "stencil_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "conditions.h"
#include "devito.h"
#include "recorded_flags.h"
#include "report.h"

namespace situ::bench {
namespace {

constexpr const char* program_name = "situ_bench_stencil";
constexpr double at_95_percent = 1 / 0.95;  // a rate of 0.95 is a time of 1 / 0.95

// Every subject, in the order in which they are printed.
const std::vector<std::string> subject_order{
    "raw",           "file",         "devito",        "by_hand",         "ops",          "plain",
    "plain_by_hand", "ops_tiled",    "ops_mended",    "tiled",           "tiled_mended", "plain_bytes",
    "tiled_by_hand", "tiled_chosen", "ops_developer", "plain_developer", "out_of_core",  "first_ten"};

bool wants(const stencil_options& options, const comparison_case& info) {
  if (info.is_programs &&
      (options.programs.empty() || !std::filesystem::is_directory(std::filesystem::path{options.programs} / info.name)))
    return false;
  return options.cases.empty() ? options.large || !info.is_large : is_named(info, options.cases);
}

bool wants_devito(const stencil_options& options) {
  return std::any_of(all_stencil_cases().begin(), all_stencil_cases().end(),
                     [&](const comparison_case& each) { return each.is_devito && wants(options, each); });
}

// The file below the case's folder whose time a row is (bench/stencil/programs.cpp compares some with several others).
std::string program_of(const comparison_case& info, const std::string& subject) {
  if (subject.starts_with("plain") || !info.counterpart_of_others.empty()) return "plain";
  return subject.starts_with("tiled") ? "tiled" : subject;
}

// Of a program that the user gave: what it records of its flags, and which of ours it lacks.
std::optional<subject_terms> terms_of_row(const stencil_options& options, const row& r) {
  const comparison_case* const info = find_stencil_case(r.case_name);
  if (info == nullptr || !info->is_programs) return std::nullopt;
  if (!info->counterpart_of_others.empty() && r.subject != "worst") return std::nullopt;  // one program for all kernels
  std::filesystem::path program = std::filesystem::path{options.programs} / r.case_name / program_of(*info, r.subject);
  if (!std::filesystem::exists(program))  // the fastest of several counts
    for (const auto& each : std::filesystem::directory_iterator{program.parent_path()})
      if (each.path().filename().string().starts_with(program_of(*info, r.subject) + "@") &&
          each.path().extension() != ".txt" && each.path().extension() != ".args")
        program = each.path();
  subject_terms terms = terms_of_program(program);
  if (terms.flags == "unknown") return terms;
  std::istringstream words{"-O3 " SITU_BENCH_KERNEL_FLAGS};
  const std::vector<std::string> ours{std::istream_iterator<std::string>{words}, {}};
  const auto missing = missing_flags(recorded_flags(program), ours);
  if (!missing.empty()) terms.built += fmt::format(". **Not equal**: without {}", fmt::join(missing, " "));
  return terms;
}

void check_names(const stencil_options& options) {
  if (!options.programs.empty() &&
      std::none_of(all_stencil_cases().begin(), all_stencil_cases().end(),
                   [&](const comparison_case& each) { return each.is_programs && wants(options, each); }))
    throw std::runtime_error{fmt::format(
        "situ bench: {} holds no folder of a case that is asked for, as cloverleaf_3840; see docs/benchmarks.md",
        options.programs)};
  check_comparison_names(all_stencil_cases(), options.cases, "stencil");
}

// A process for each case: it has the memory for itself.
std::vector<requested_run> plan_stencil(const stencil_options& options, bool with_devito,
                                        const std::filesystem::path& directory) {
  std::vector<requested_run> runs;
  double shares = 0;
  const auto is_run = [&](const comparison_case& info) {
    return wants(options, info) && (with_devito || !info.is_devito);
  };
  for (const comparison_case& info : all_stencil_cases())
    if (is_run(info)) shares += info.share;
  for (const comparison_case& info : all_stencil_cases()) {
    if (!is_run(info)) continue;
    subject_request request;
    request.command = {find_subject_program(program_name).value().string()};
    request.environment = {{"SITU_BENCH_QUICK", options.quick ? "1" : "0"},
                           {"OMP_DYNAMIC", "false"},
                           {"SITU_BENCH_PROGRAMS", options.programs}};
    // Raw loops and Situ's take turns: no thread may go on polling when it has nothing to do. Programs have the machine
    // for themselves.
    if (!info.is_programs) request.environment.emplace_back("OMP_WAIT_POLICY", "passive");
    if (info.is_devito)
      for (auto& variable : devito_environment(directory)) request.environment.push_back(std::move(variable));
    request.cases = {std::string{info.name}};
    request.seconds = options.seconds * info.share / shares;
    request.timeout =
        std::chrono::seconds{(info.is_large || info.is_programs ? 3000 : 600) + static_cast<int>(request.seconds)};
    runs.push_back({"situ", std::string{info.name}, std::move(request)});
  }
  return runs;
}

// CloverLeaf, by hand, by OPS, and by OPS's sources with situ::ops.
std::vector<comparison_subject> beside_ops(double tiled_at_most) {
  return {{"by_hand", "itself"},
          {"ops", "itself"},
          {"plain", "ops", comparison_aim{1}},
          {"plain_by_hand", "by_hand", comparison_aim{1}},
          {"ops_tiled", "itself"},
          {"ops_mended", "ops_tiled"},
          {"tiled", "ops_tiled"},
          {"tiled_mended", "ops_mended", comparison_aim{tiled_at_most}},
          {"plain_bytes", "its bytes over the bandwidth of each loop's mix", comparison_aim{1.1}},
          {"tiled_by_hand", "itself: from the tenth step on, the best tile"},
          {"tiled_chosen", "tiled_by_hand", comparison_aim{1.05}}};
}

}  // namespace

std::span<const comparison_case> all_stencil_cases() {
  const std::vector<comparison_subject> loop{{"raw", "itself"}, {"plain", "raw", comparison_aim{at_95_percent}}};
  // Of its first ten steps after the start, and of the ten that follow, each with the trials in them.
  const std::vector<comparison_subject> chosen_tiles{
      {"by_hand", "itself: the best tile"}, {"first_ten", "by_hand"}, {"tiled", "by_hand"}};
  const std::vector<comparison_subject> beside_devito{{"devito", "itself"}, {"plain", "devito"}, {"tiled", "devito"}};
  static const std::vector<comparison_case> cases{
      {"triad_1", "STREAM's triad, one thread", "point", 24, loop},
      {"triad_2", "the same, two threads", "point", 24, loop},
      {"copy", "one loop, one thread", "point", 16, loop},
      {"seven_point", "likewise, 7 points of 3 dimensions", "point", 16, loop},
      {"twenty_seven_point", "likewise, 27 points", "point", 16, loop},
      {"jacobi_chain",
       "10 sweeps of a 5-point Jacobi iteration on 2 GB, two threads",
       "point and sweep",
       16,
       {{"raw", "itself"}, {"plain", "raw"}, {"tiled", "plain", comparison_aim{0.5}}},
       3},
      {"jacobi_far",
       "the same, with data of 3 times the fast memory",
       "point and sweep",
       16,
       {{"tiled", "itself"}, {"out_of_core", "tiled"}},
       3},
      {"taylor_green",
       "a step of three in a chain, with data of 3 times the fast memory",
       "step",
       0,
       {{"plain", "itself"}, {"tiled", "plain"}, {"out_of_core", "the faster of these", comparison_aim{1.15}}},
       6},
      {"euler",
       "a step of one in a chain, 2 dimensions, with data of 3 times the fast memory",
       "step",
       0,
       {{"file", "itself: bytes that must move"},
        {"plain", "itself: computing"},
        {"tiled", "plain"},
        {"out_of_core", "the larger of file and computing", comparison_aim{1.2}}},
       4},
      {"plan_new", "planning a chain of 198 loops", "chain", 0, {{"tiled", "a step of it", comparison_aim{0.01}}}},
      {"plan_cached", "finding its plan again", "chain", 0, {{"tiled", "a step of it", comparison_aim{50'000, false}}}},
      {"tile_choice_2d", "Euler, 3840 x 3840, two threads: tiles chosen and swept", "step", 0, chosen_tiles, 3},
      {"tile_choice_3d", "likewise, 192 x 192 x 192", "step", 0, chosen_tiles, 3},
      {"beyond_memory",
       "jacobi_far with more data than this machine has memory",
       "point and sweep",
       16,
       {{"out_of_core", "jacobi_far of 2 GB"}},
       4,
       true},
      {"devito_heat", "heat of 7 points, 384 x 384 x 384, single precision, 20 steps a chain, two threads",
       "point and step", 8, beside_devito, 2, false, false, true},
      {"devito_wave", "acoustic wave of order 8, likewise", "point and step", 16, beside_devito, 2, false, false, true},
      {"cloverleaf_3840", "OPS's CloverLeaf 2D, 20 steps of 3840 x 3840, two threads", "run", 0, beside_ops(0.75), 6,
       false, true},
      {"cloverleaf_192", "OPS's CloverLeaf 3D, 20 steps of 192 x 192 x 192, two threads", "run", 0, beside_ops(0.80), 6,
       false, true},
      {"cloverleaf_960",
       "OPS's CloverLeaf 2D, 87 steps of 960 x 960, one thread",
       "run",
       0,
       {{"ops_developer", "itself"}, {"plain_developer", "ops_developer", comparison_aim{0.3}}},
       6,
       false,
       true},
      {"cloverleaf_kernels",
       "each kernel of OPS's CloverLeaf 2D, one thread, data in the second-level cache",
       "point",
       0,
       {},
       1,
       false,
       true,
       false,
       "the larger limit"},
      // These two are measured beside it.
      {"cloverleaf_limits",
       "what the operations of these kernels take",
       "point",
       0,
       {},
       1,
       false,
       true,
       false,
       "what their bytes take"},
      {"processor", "this processor's limits, one thread", "double", 0, {}, 1, false, true, false, "an addition"},
      {"mb_shsgc",
       "OPS's mb_shsgc, two threads",
       "run",
       0,
       {{"ops", "itself"}, {"plain", "ops", comparison_aim{1}}},
       1,
       false,
       true},
  };
  return cases;
}

const comparison_case* find_stencil_case(std::string_view name) { return find_comparison(all_stencil_cases(), name); }

std::string to_stencil_table(std::span<const row> rows, const provenance& from) {
  return to_comparison_table(
      all_stencil_cases(), rows, from,
      "GB/s: of memory by the paper's count, each field once for each loop that\nreads or writes it; where bytes are "
      "given, of the file.");
}

int run_stencil_bench(const stencil_options& options) {
  check_names(options);
  bench stencil{.subjects = subject_order,
                .own_program = [](const std::string&) { return program_name; },
                .may_install = options.may_install,
                .is_quick = options.quick,
                .json_file = options.json_file};
  if (!wants_devito(options)) std::erase(stencil.subjects, "devito");
  stencil.plan = [&](const std::vector<std::string>& ready, const std::filesystem::path& directory) {
    const auto has = [&](const char* subject) { return std::find(ready.begin(), ready.end(), subject) != ready.end(); };
    return has("plain") ? plan_stencil(options, has("devito"), directory) : std::vector<requested_run>{};
  };
  stencil.other_terms = [&](const row& r) { return terms_of_row(options, r); };
  stencil.position = [](std::string_view name) -> std::optional<std::size_t> {
    const comparison_case* const found = find_stencil_case(name);
    return found == nullptr ? std::nullopt : std::optional<std::size_t>{found - all_stencil_cases().data()};
  };
  stencil.table = to_stencil_table;
  return run_bench(stencil);
}

}  // namespace situ::bench
