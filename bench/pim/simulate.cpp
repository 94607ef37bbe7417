// How fast the executor simulates vertical programs, each command carried out and counted: situ_bench_pim_simulate
// [MILLIONS of elements, 8 unless given]. Data lies in DRAM; beside it the host's own loops over arrays of the same
// elements. Prints one JSON object: M elements per second, the median and the range of samples that take turns.
//
// Results are compared with the host's before anything is timed.
#include "pim/execute.h"
#include "pim/programs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace situ::pim;
using situ::machine::pim_design;

constexpr std::uint32_t columns = 65536;
constexpr int samples = 9;
constexpr std::array<unsigned, 2> thread_counts{1, 2};

struct timed {
  std::string name;
  std::function<void()> body;
  std::vector<double> rates;  // M elements per second
};

// The host's loop over its part of the elements; not inlined, so that it is compiled as a function of its own.
template <class Element>
[[gnu::noinline]] void host_loop(operation what, const Element* a, const Element* b, Element* result, std::size_t n) {
  switch (what) {
    case operation::add:
      for (std::size_t i = 0; i < n; ++i) result[i] = static_cast<Element>(a[i] + b[i]);
      break;
    case operation::multiply:
      for (std::size_t i = 0; i < n; ++i)
        result[i] = static_cast<Element>(static_cast<std::uint32_t>(a[i]) * static_cast<std::uint32_t>(b[i]));
      break;
    default:
      for (std::size_t i = 0; i < n; ++i) result[i] = static_cast<Element>(a[i] < b[i]);
  }
}

// The arrays of one element type, in the device and in the host.
template <class Element>
class subject {
 public:
  explicit subject(std::uint32_t subarrays)
      : subarrays_{subarrays},
        cells_{{.rows = 8 * 3 * sizeof(Element), .columns = columns, .subarrays = subarrays, .banks = 1}},
        a_(elements()),
        b_(elements()),
        result_(elements()) {
    std::mt19937_64 random{1};
    for (Element& value : a_) value = static_cast<Element>(random());
    for (Element& value : b_) value = static_cast<Element>(random());
    cells_.write(blocks_[0], form_, 0, std::as_bytes(std::span{a_}));
    cells_.write(blocks_[1], form_, 0, std::as_bytes(std::span{b_}));
  }

  [[nodiscard]] std::size_t elements() const { return std::size_t{columns} * subarrays_; }

  void add_cases(std::vector<timed>& cases, operation what, std::span<executor* const> with) {
    const operation_spec spec{.what = what, .bits = bits};
    check_result(spec, *with[0]);
    for (executor* one : with) {
      const std::string threads = std::to_string(one->threads());
      cases.push_back({text(spec) + ", " + threads + " threads",
                       [this, one, program = make_program(pim_design::bitsimd, spec)] {
                         (void)one->run(cells_, program, {blocks_of(program)});
                       },
                       {}});
      cases.push_back({text(spec) + ", host, " + threads + " threads",
                       [this, what, count = one->threads()] { run_host(what, count); },
                       {}});
    }
  }

  void add_transfers(std::vector<timed>& cases) {
    const std::string type = "I" + std::to_string(bits);
    cases.push_back(
        {"write " + type, [this] { cells_.write(blocks_[0], form_, 0, std::as_bytes(std::span{a_})); }, {}});
    cases.push_back({"read " + type,
                     [this] { cells_.read(blocks_[0], form_, 0, std::as_writable_bytes(std::span{result_})); },
                     {}});
  }

 private:
  static constexpr unsigned bits = 8 * sizeof(Element);

  [[nodiscard]] std::span<const block> blocks_of(const micro_program& program) const {
    return std::span{blocks_}.first(program.operands);
  }

  void run_host(operation what, unsigned threads) {
    const std::size_t part = elements() / threads;
    std::vector<situ::os::worker> others;
    for (unsigned t = 1; t < threads; ++t)
      others.emplace_back([this, what, part, t] {
        host_loop(what, a_.data() + t * part, b_.data() + t * part, result_.data() + t * part, part);
      });
    host_loop(what, a_.data(), b_.data(), result_.data(), part);
  }

  void check_result(const operation_spec& spec, executor& with) {
    const micro_program program = make_program(pim_design::bitsimd, spec);
    (void)with.run(cells_, program, {blocks_of(program)});
    run_host(spec.what, 1);
    const unsigned width = result_bits(spec);
    std::vector<Element> found(elements());
    cells_.read(blocks_[2], {dimension::vertical, width, sizeof(Element), width > 1}, 0,
                std::as_writable_bytes(std::span{found}));
    if (found == result_) return;
    std::fprintf(stderr, "situ_bench_pim_simulate: %s is wrong\n", text(spec).c_str());
    std::exit(1);
  }

  std::uint32_t subarrays_;
  std::array<block, 3> blocks_{block{0, 0, subarrays_, bits}, block{0, bits, subarrays_, bits},
                               block{0, 2 * bits, subarrays_, bits}};
  element_form form_{dimension::vertical, bits, sizeof(Element), true};
  cell_storage cells_;
  std::vector<Element> a_, b_, result_;
};

void take_sample(timed& one, std::size_t elements) {
  const auto start = std::chrono::steady_clock::now();
  one.body();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  one.rates.push_back(static_cast<double>(elements) / took.count());
}

void print(std::vector<timed>& cases, std::size_t elements, instruction_set instructions) {
  std::printf("{\"elements\":%zu,\"instructions\":\"%s\",\"unit\":\"M elements/s\",\"cases\":[", elements,
              std::string{name(instructions)}.c_str());
  for (std::size_t k = 0; k < cases.size(); ++k) {
    std::vector<double>& rates = cases[k].rates;
    std::sort(rates.begin(), rates.end());
    std::printf("%s\n  {\"case\":\"%s\",\"median\":%.1f,\"least\":%.1f,\"most\":%.1f}", k == 0 ? "" : ",",
                cases[k].name.c_str(), rates[rates.size() / 2], rates.front(), rates.back());
  }
  std::printf("\n]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const auto millions = argc > 1 ? static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10)) : 8;
  if (millions == 0 || millions > 1024) {
    std::fprintf(stderr, "usage: situ_bench_pim_simulate [MILLIONS of elements, 1 to 1024]\n");
    return 2;
  }
  const std::uint32_t subarrays = (millions << 20) / columns;
  executor one{thread_counts[0]};
  executor two{thread_counts[1]};
  executor* const with[] = {&one, &two};
  subject<std::int32_t> words{subarrays};
  subject<std::int8_t> bytes{subarrays};
  std::vector<timed> cases;
  for (const operation what : {operation::add, operation::multiply, operation::less}) {
    words.add_cases(cases, what, with);
    bytes.add_cases(cases, what, with);
  }
  words.add_transfers(cases);
  bytes.add_transfers(cases);
  for (int sample = 0; sample < samples; ++sample)
    for (timed& each : cases) take_sample(each, words.elements());
  print(cases, words.elements(), one.instructions());
  return 0;
}
