#include "pim/allocation.h"

#include "os/find_program.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/child_program.h"

namespace situ::studies::pim {
namespace {

constexpr std::string_view program = "situ_bench_pim_allocators";

// Medians of the program's figures, by experiment, subject and figure.
class figures {
 public:
  explicit figures(const nlohmann::json& from) {
    for (const auto& each : from.at("figures"))
      medians_[key(each.at("experiment"), each.at("subject"), each.at("figure"))] = each.at("median");
  }
  [[nodiscard]] std::optional<double> of(const std::string& experiment, const std::string& subject,
                                         const std::string& figure) const {
    const auto found = medians_.find(key(experiment, subject, figure));
    return found == medians_.end() ? std::nullopt : std::optional{found->second};
  }
  [[nodiscard]] std::optional<double> ratio(const std::string& experiment, const std::string& over,
                                            const std::string& under, const std::string& figure) const {
    const auto a = of(experiment, over, figure), b = of(experiment, under, figure);
    return a && b && *b > 0 ? std::optional{*a / *b} : std::nullopt;
  }

 private:
  static std::string key(const std::string& a, const std::string& b, const std::string& c) {
    return a + " " + b + " " + c;
  }
  std::map<std::string, double> medians_;
};

std::string cell(const std::optional<double>& value, const char* unit = "") {
  return value ? fmt::format("{:.3g}{}", *value, unit) : "-";
}

// Figure 5.
void add_full_array(study_part& part, const figures& found) {
  const std::pair<const char*, double> directions[] = {{"horizontal", 1.48}, {"vertical", 5.86}};
  for (const auto& [direction, paper] : directions)
    part.rows.push_back({.what = fmt::format("figure 5: the whole device, {}, beside glibc's malloc", direction),
                         .unit = "x its time",
                         .paper = paper,
                         .ours = found.ratio(fmt::format("full_{}", direction), "bmem", "malloc", "fresh_ns"),
                         .from = origin::measured,
                         .remark = "a fresh process"});
  for (const auto& [direction, paper] : directions)
    part.rows.push_back({.what = fmt::format("the same on a heap that had the blocks before, {}", direction),
                         .unit = "x its time",
                         .ours = found.ratio(fmt::format("full_{}", direction), "bmem", "malloc", "reused_ns"),
                         .from = origin::measured,
                         .remark = "the paper has no such figure"});
  const auto horizontal = found.of("full_horizontal", "bmem", "fresh_ns");
  const auto vertical = found.of("full_vertical", "bmem", "fresh_ns");
  if (horizontal && vertical) {
    part.rows.push_back({.what = "figure 5a: horizontal beside vertical, in all",
                         .unit = "x",
                         .paper = 18.43,
                         .ours = *horizontal * 8 / *vertical,
                         .from = origin::measured,
                         .remark = "1,024 allocations beside 128"});
    part.rows.push_back({.what = "figure 5b: the same for one allocation",
                         .unit = "x",
                         .paper = 2.66,
                         .ours = *horizontal / *vertical,
                         .from = origin::measured,
                         .remark = "18.43 / 8 is 2.30: the paper's two figures do not agree"});
  }
}

// Figures 6 to 9: what a pair takes, by threads.
grid malloc_test(const figures& found) {
  grid table{"malloc-test: nanoseconds of a pair, all threads together (wall clock)",
             {"direction", "bytes", "glibc", "jemalloc", "mimalloc", "tcmalloc", "paper's", "1 thread", "2", "4", "8",
              "1 over 8"},
             {}};
  const std::pair<const char*, std::vector<int>> sizes[] = {{"horizontal", {8, 64, 128, 512, 1024, 4096}},
                                                            {"vertical", {8, 16, 32, 64, 128}}};
  for (const auto& [direction, bytes] : sizes)
    for (const int each : bytes) {
      const auto name = [&, along = direction](int threads) {
        return fmt::format("malloc_test_{}_{}_{}", along, each, threads);
      };
      const auto one = found.of(name(1), "bmem", "wall_ns"), eight = found.of(name(8), "bmem", "wall_ns");
      std::vector<std::string> line{direction, fmt::format("{}", each)};
      for (const char* const subject : {"malloc", "jemalloc", "mimalloc", "tcmalloc", "paper"})
        line.push_back(cell(found.of(name(1), subject, "wall_ns")));
      for (const int threads : {1, 2, 4, 8}) line.push_back(cell(found.of(name(threads), "bmem", "wall_ns")));
      line.push_back(one && eight ? fmt::format("{:.2f} x", *one / *eight) : "-");
      table.lines.push_back(std::move(line));
    }
  return table;
}

// Blocks of many shapes, on a device that is nearly full.
grid mixed_shapes(const figures& found) {
  grid table{"blocks of mixed shapes: nanoseconds of an allocation and of a free, and how many are refused",
             {"blocks", "live", "allocator", "allocation", "free", "refused"},
             {}};
  for (const auto& [experiment, words, live] :
       {std::array{"mixed", "rectangles", "80 %"}, std::array{"vectors", "in pieces if need be", "90 %"}})
    for (const char* const subject : {"bmem", "paper"})
      table.lines.push_back({words, live, subject, cell(found.of(experiment, subject, "allocate_ns")),
                             cell(found.of(experiment, subject, "free_ns")),
                             cell(found.of(experiment, subject, "refused_percent_of_the_second_half"), " %")});
  return table;
}

void add_words(study_part& part) {
  part.notes = {
      "Figures 6 and 7 in the paper's words: 39.83, 81.11 and 92.73 % above linear scaling with 2, 4 and 8 threads, "
      "71.2 % "
      "over all sizes; about 200 us a byte and thread, horizontal. A horizontal request of up to 8 KiB is one row of "
      "one "
      "subarray here, as there, so time cannot depend on the bytes.",
      "Figures 8 and 9: about 5 us a byte, vertical, whatever the threads; the cost a thread falls with their number.",
      "Theirs were measured on two Opteron 2419 of 6 cores each, ours on this machine; its processors limit what 4 and "
      "8 "
      "threads can gain.",
      "`paper's` is the algorithm of section 4.2 as we read it, with exact vectors and one lock "
      "(tests/pim/exact_bmem.h)."};
}

}  // namespace

study_part allocation(const study_context& context) {
  study_part part{.name = "allocation", .title = "Bit-contiguous allocation beside malloc"};
  context.tell("allocation");
  if (const std::string lacking = missing_programs({program}); !lacking.empty()) {
    part.missing.push_back(lacking);
    return part;
  }
  const program_result result = run_program({os::find_program(std::string{program}), context.is_quick ? "1" : "5",
                                             "full_horizontal", "full_vertical", "malloc_test", "mixed", "vectors"},
                                            context.is_stopped);
  if (result.was_stopped) return part;
  if (result.exit_code != 0) {
    part.missing.push_back(fmt::format("{} has failed: {}", program, result.errors));
    return part;
  }
  const figures found{nlohmann::json::parse(result.output)};
  add_full_array(part, found);
  part.grids.push_back(malloc_test(found));
  part.grids.push_back(mixed_shapes(found));
  add_words(part);
  return part;
}

}  // namespace situ::studies::pim
