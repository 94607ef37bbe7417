// Samples of `situ bench pim`: bit-contiguous allocation beside malloc, each measurement in a process of its own
// (allocators.cpp), and the simulation of programs beside the host's own loops.
#include "support/job_samples.h"

#include <situ/base/error.h>
#include <situ/pim/vector.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "os/child.h"
#include "os/find_program.h"

namespace {

namespace pim = situ::pim;
using job_bench::is_quick;
using job_bench::is_wanted;
using job_bench::now_ns;
using job_bench::samples;

int rounds() { return is_quick() ? 1 : 9; }

// --- allocators ---

using figures = std::map<std::string, double>;

// The figures of one measurement; nothing if the library that the subject preloads is not installed.
std::optional<figures> measure(const std::string& what, const std::string& subject, const char* library,
                               const std::vector<std::string>& more = {}) {
  static const std::string program = situ::os::find_program("situ_bench_pim_allocators");
  std::vector<std::string> words{program, "--measure", what, subject};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<std::string> variables = situ::os::own_environment(std::vector<std::string_view>{"LD_PRELOAD"});
  if (library != nullptr) variables.push_back(std::string{"LD_PRELOAD="} + library);
  const situ::os::exec_texts arguments{words}, environment{variables};
  const auto ended = situ::os::run_and_capture({.file = program.c_str(),
                                                .arguments = arguments,
                                                .environment = &environment,
                                                .errors = situ::os::program::nothing});
  if (!ended || !ended->end.is_success())
    situ::throw_error(situ::errc::bad_launch, fmt::format("{} {} {} has failed", program, what, subject));
  std::istringstream lines{ended->output};
  std::string name, loaded;
  lines >> name >> loaded;
  if (library != nullptr && loaded.find(library) == std::string::npos) return std::nullopt;
  figures found;
  for (double value = 0; lines >> name >> value;) found[name] = value;
  return found;
}

struct allocator {
  const char* name;
  const char* subject;  // of the program
  const char* library;
  bool is_slow = false;  // a thousand times
};
constexpr allocator allocators[] = {{"malloc", "malloc", nullptr},
                                    {"bmem", "bmem", nullptr},
                                    {"jemalloc", "malloc", "libjemalloc.so.2"},
                                    {"mimalloc", "malloc", "libmimalloc.so.2"},
                                    {"tcmalloc", "malloc", "libtcmalloc_minimal.so.4"},
                                    {"paper", "paper", nullptr, true}};

// One case for each figure of an experiment that has all allocators; the counterpart is malloc, or its `against`.
struct measured_case {
  std::string name, figure, against;
};

void compare(const std::string& what, const std::vector<std::string>& more, const std::vector<measured_case>& cases) {
  if (std::ranges::none_of(cases, [](const measured_case& each) { return is_wanted(each.name.c_str()); })) return;
  std::vector<std::vector<samples>> found(cases.size());
  std::vector<std::vector<double>> counterparts(cases.size());
  for (auto& each : found)
    for (const allocator& subject : allocators) each.push_back({subject.name});
  for (int round = 0; round < rounds(); ++round)
    for (std::size_t subject = 0; subject < std::size(allocators); ++subject) {
      const allocator& which = allocators[subject];
      if (which.is_slow && round > 2) continue;
      const auto of = measure(what, which.subject, which.library, more);
      if (!of) continue;
      for (std::size_t i = 0; i < cases.size(); ++i) {
        if (const auto at = of->find(cases[i].figure); at != of->end()) found[i][subject].ns.push_back(at->second);
        if (subject == 0) counterparts[i].push_back(of->at(cases[i].against));
      }
    }
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (is_wanted(cases[i].name.c_str())) job_bench::print(cases[i].name.c_str(), found[i], counterparts[i]);
}

void compare_threads(const std::string& name, const std::string& direction, const std::string& bytes) {
  if (!is_wanted(name.c_str())) return;
  std::vector<samples> all{{"one"}, {"two"}, {"eight"}};
  constexpr const char* threads[] = {"1", "2", "8"};
  for (int round = 0; round < rounds(); ++round)
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].ns.push_back(measure("malloc_test", "bmem", nullptr, {direction, bytes, threads[i]})->at("wall_ns"));
  job_bench::print(name.c_str(), all);
}

// --- simulation ---

situ::machine::pim_figures shape_of(situ::machine::pim_design design) {
  situ::machine::pim_figures made;
  made.design = design;
  made.banks = 8;
  made.subarrays = 16;
  made.rows = 128;
  made.columns = 65536;
  return made;
}

std::vector<std::int32_t> random_values(std::size_t n, std::uint32_t seed) {
  std::mt19937 random{seed};
  std::vector<std::int32_t> made(n);
  for (std::int32_t& each : made) each = static_cast<std::int32_t>(random());
  return made;
}

// Nanoseconds of an element.
template <class Body>
double each_ns(std::size_t n, Body body) {
  const double begin = now_ns();
  body();
  return (now_ns() - begin) / static_cast<double>(n);
}

struct operands {
  pim::memory in;
  pim::vertical<std::int32_t> a, b, r;
  decltype(a > b) flags;

  operands(situ::machine::pim_design design, unsigned threads, const std::vector<std::int32_t>& x,
           const std::vector<std::int32_t>& y)
      : in{{{"pim", shape_of(design)}}, {}, {.threads = threads}},
        a{in, x},
        b{a.beside(y)},
        r{a.beside(y)},
        flags{a > b} {}
};

// Data in DRAM: 8 M elements are 32 MB a vector.
template <class Host, class Simulated>
void simulate(const char* name, situ::machine::pim_design design, Host host, Simulated body) {
  if (!is_wanted(name)) return;
  const std::size_t n = is_quick() ? std::size_t{1} << 17 : std::size_t{1} << 23;
  const auto x = random_values(n, 1), y = random_values(n, 2);
  std::vector<std::int32_t> r(n);
  std::vector<samples> all{{"host"}, {"one"}, {"two"}};
  operands one{design, 1, x, y}, two{design, 2, x, y};
  for (int round = 0; round < rounds(); ++round) {
    all[0].ns.push_back(each_ns(n, [&] { host(x, y, r); }));
    all[1].ns.push_back(each_ns(n, [&] { body(one); }));
    all[2].ns.push_back(each_ns(n, [&] { body(two); }));
  }
  job_bench::print(name, all);
  std::vector<samples> threads{{"one", all[1].ns}, {"two", all[2].ns}};
  job_bench::print(fmt::format("{}_threads", name).c_str(), threads);
}

void simulate_all() {
  using design = situ::machine::pim_design;
  const auto host_loop = [](auto one) {
    return [one](const auto& x, const auto& y, auto& r) {
      for (std::size_t i = 0; i < x.size(); ++i)
        r[i] = one(static_cast<std::uint32_t>(x[i]), static_cast<std::uint32_t>(y[i]));
    };
  };
  const auto add = host_loop([](auto a, auto b) { return static_cast<std::int32_t>(a + b); });
  const auto multiply = host_loop([](auto a, auto b) { return static_cast<std::int32_t>(a * b); });
  const auto less =
      host_loop([](auto a, auto b) { return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? 1 : 0; });
  simulate("simulate_add", design::bitsimd, add, [](operands& with) { pim::add(with.r, with.a, with.b); });
  simulate("simulate_multiply", design::bitsimd, multiply,
           [](operands& with) { pim::multiply(with.r, with.a, with.b); });
  simulate("simulate_less", design::bitsimd, less, [](operands& with) { pim::less(with.flags, with.a, with.b); });
  simulate("simulate_simdram_add", design::simdram, add, [](operands& with) { pim::add(with.r, with.a, with.b); });
}

}  // namespace

int main(int argc, char** argv) {
  const situ::runtime job{argc, argv};
  compare("full_horizontal", {},
          {{"full_horizontal", "fresh_ns", "fresh_ns"}, {"full_horizontal_reused", "reused_ns", "reused_ns"}});
  compare("full_vertical", {},
          {{"full_vertical", "fresh_ns", "fresh_ns"}, {"full_vertical_reused", "reused_ns", "reused_ns"}});
  for (const auto& [direction, letter, sizes] :
       {std::tuple{"horizontal", "h", std::vector{"8", "64", "128", "512", "1024", "4096"}},
        std::tuple{"vertical", "v", std::vector{"8", "16", "32", "64", "128"}}})
    for (const char* const bytes : sizes) {
      compare("malloc_test", {direction, bytes, "1"},
              {{fmt::format("pair_{}_{}", letter, bytes), "wall_ns", "wall_ns"}});
      compare_threads(fmt::format("threads_{}_{}", letter, bytes), direction, bytes);
    }
  compare("mixed", {}, {{"mixed_allocate", "allocate_ns", "allocate_ns"}, {"mixed_free", "free_ns", "free_ns"}});
  simulate_all();
  job_bench::print_end();
}
