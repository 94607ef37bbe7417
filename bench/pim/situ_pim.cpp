// Samples of `situ bench pim`: bit-contiguous allocation beside malloc, each measurement in a process of its own
// (allocators.cpp), and the simulation of programs beside the host's own loops.
#include "support/job_samples.h"

#include <situ/base/error.h>
#include <situ/pim/compute.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <random>
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

using sample_map = std::map<std::string, std::vector<double>>;  // by "EXPERIMENT SUBJECT FIGURE"

// All samples of some experiments; the program takes the subjects in turns, each in processes of its own.
sample_map measure(const std::string& experiments) {
  const std::string program = situ::os::find_program("situ_bench_pim_allocators");
  const std::vector<std::string> words{program, fmt::format("{}", rounds()), experiments};
  const situ::os::exec_texts arguments{words};
  const auto ended = situ::os::run_and_capture(
      {.file = program.c_str(), .arguments = arguments, .errors = situ::os::program::nothing});
  if (!ended || !ended->end.is_success())
    situ::throw_error(situ::errc::bad_launch, fmt::format("{} {} has failed", program, experiments));
  sample_map found;
  const nlohmann::json result = nlohmann::json::parse(ended->output);
  for (const nlohmann::json& each : result.at("figures"))
    found[fmt::format("{} {} {}", each.at("experiment").get<std::string>(), each.at("subject").get<std::string>(),
                      each.at("figure").get<std::string>())] = each.at("samples").get<std::vector<double>>();
  return found;
}

// Prints a case that has a figure of an experiment for all allocators; the counterpart is malloc.
void print_allocators(const std::string& name, const sample_map& from, const std::string& experiment,
                      const char* figure) {
  std::vector<samples> all{{"malloc"}, {"bmem"}, {"jemalloc"}, {"mimalloc"}, {"tcmalloc"}, {"paper"}};
  for (samples& each : all)
    if (const auto found = from.find(fmt::format("{} {} {}", experiment, each.name, figure)); found != from.end())
      each.ns = found->second;
  if (is_wanted(name.c_str())) job_bench::print(name.c_str(), all);
}

// Prints a case that has one allocator by one, two and eight threads.
void print_threads(const std::string& name, const sample_map& from, const std::string& experiment) {
  const auto by = [&](const char* threads) { return from.at(fmt::format("{}_{} bmem wall_ns", experiment, threads)); };
  if (is_wanted(name.c_str())) job_bench::print(name.c_str(), {{"one", by("1")}, {"two", by("2")}, {"eight", by("8")}});
}

void full_arrays() {
  for (const char* const direction : {"horizontal", "vertical"}) {
    const std::string experiment = fmt::format("full_{}", direction), reused = experiment + "_reused";
    if (!is_wanted(experiment.c_str()) && !is_wanted(reused.c_str())) continue;
    const sample_map found = measure(experiment);
    print_allocators(experiment, found, experiment, "fresh_ns");
    print_allocators(reused, found, experiment, "reused_ns");
  }
}

struct pair_size {
  const char* direction;
  const char* bytes;
  std::string pair, threads;  // cases
};

void pairs() {
  std::vector<pair_size> all;
  const auto add = [&](const char* direction, char letter, std::initializer_list<const char*> sizes) {
    for (const char* const bytes : sizes)
      all.push_back(
          {direction, bytes, fmt::format("pair_{}_{}", letter, bytes), fmt::format("threads_{}_{}", letter, bytes)});
  };
  add("horizontal", 'h', {"8", "64", "128", "512", "1024", "4096"});
  add("vertical", 'v', {"8", "16", "32", "64", "128"});
  if (std::ranges::none_of(
          all, [](const pair_size& each) { return is_wanted(each.pair.c_str()) || is_wanted(each.threads.c_str()); }))
    return;
  const sample_map found = measure("malloc_test");
  for (const pair_size& each : all) {
    const std::string experiment = fmt::format("malloc_test_{}_{}", each.direction, each.bytes);
    print_allocators(each.pair, found, experiment + "_1", "wall_ns");
    print_threads(each.threads, found, experiment);
  }
}

void mixed_shapes() {
  if (!is_wanted("mixed_allocate") && !is_wanted("mixed_free")) return;
  const sample_map found = measure("mixed");
  print_allocators("mixed_allocate", found, "mixed", "allocate_ns");
  print_allocators("mixed_free", found, "mixed", "free_ns");
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
  job_bench::unbind();
  full_arrays();
  pairs();
  mixed_shapes();
  simulate_all();
  job_bench::print_end();
}
