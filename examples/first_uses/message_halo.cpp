// An exchange of ghost elements, twice: by the sixteen places of this job, and by programs of PAMS, a sequencer of active
// messages, on a modelled board of FPGAs. The programs are generated from the plan that the array itself follows, and
// both have to give the same bytes.
#include <situ/model/pams_board.h>
#include <situ/model/pams_patterns.h>
#include <situ/situ.h>
#include <situ/spread/distributed_array.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using field = situ::distributed_array<float, 2>;
constexpr std::uint32_t nodes = 16;

// Returns this place's part with its ghost zones, row after row, as it lies in memory.
std::vector<float> part_of(const field& array) {
  const auto mine = array.global_view();
  const situ::box<2> around = mine.around();
  std::vector<float> values;
  for (std::ptrdiff_t i = around.low[0]; i < around.high[0]; ++i)
    for (std::ptrdiff_t j = around.low[1]; j < around.high[1]; ++j) values.push_back(mine[{i, j}]);
  return values;
}

// Each run of elements becomes a long message.
std::vector<situ::model::pams_transfer> transfers_of(const situ::ghost_plan<2>& plan) {
  const auto at = [](std::size_t elements) { return static_cast<std::uint32_t>(elements * sizeof(float)); };
  std::vector<situ::model::pams_transfer> all;
  for (std::uint32_t node = 0; node < nodes; ++node)
    plan.for_each_run(node, [&](std::uint32_t source, std::size_t from, std::size_t to, std::size_t elements) {
      all.push_back({source, node, {.at = at(to), .bytes = at(elements), .from = at(from)}});
    });
  return all;
}

// Lets the board exchange the parts. Returns the cycles from a common start until the last node has all bytes.
std::uint64_t exchange_on_board(const situ::ghost_plan<2>& plan, std::vector<std::vector<float>>& parts) {
  constexpr std::uint32_t start = 30'000;  // by then all programs are loaded
  const situ::model::pams_exchange exchange{nodes, transfers_of(plan)};
  std::vector<situ::model::pams_program> programs(nodes);
  exchange.begin(programs);
  for (auto& each : programs) each.timer_threshold(start).wait(situ::model::pams_program::timer_is_over());
  exchange.append(programs);

  situ::model::pams_board board;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    std::memcpy(board.memory(node).data(), parts[node].data(), parts[node].size() * sizeof(float));
    board.load(node, programs[node].halt().words());
  }
  board.run();
  std::uint32_t last = 0;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    std::memcpy(parts[node].data(), board.memory(node).data(), parts[node].size() * sizeof(float));
    last = std::max(last, board.arrival_time(node));
  }
  return last - start;
}

}  // namespace

int main(int argc, char** argv) {
  const situ::runtime rt{argc, argv};
  if (situ::place_count() != nodes) {
    if (situ::here().index() == 0) std::fprintf(stderr, "usage: situ run -n %u message_halo\n", nodes);
    return EXIT_FAILURE;
  }
  const auto ghosts = situ::ghost_zones<2>::all(1, true);
  field array{{64, 64}, {}, ghosts};
  array.for_each_local([](const situ::point<2>& p, float& element) { element = static_cast<float>(64 * p[0] + p[1]); });
  std::vector<std::vector<float>> parts = situ::all_gather(part_of(array));
  array.exchange_ghosts();
  const std::vector<std::vector<float>> exchanged = situ::all_gather(part_of(array));
  if (situ::here().index() != 0) return EXIT_SUCCESS;

  const situ::ghost_plan<2> plan{array.distribution(), ghosts};
  const auto transfers = transfers_of(plan);
  const std::uint64_t cycles = exchange_on_board(plan, parts);
  std::size_t bytes = 0;
  for (const auto& each : transfers) bytes += each.data.bytes;
  std::printf("%zu long messages, %zu bytes, %llu cycles on the modelled board\n", transfers.size(), bytes,
              static_cast<unsigned long long>(cycles));
  const bool equal = parts == exchanged;
  std::puts(equal ? "the places and the board have the same bytes" : "the places and the board have DIFFERENT bytes");
  return equal ? EXIT_SUCCESS : EXIT_FAILURE;
}
