// A unit of a random program over arrays of a graph, and the same computed in plain memory: for tests that compare bits.
#pragma once

#include <situ/task/task_graph.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "support/places.h"

namespace situ::test {

// An array twice: as the graph has it, and in plain memory.
struct array_and_plain {
  std::uint64_t* array;
  std::uint64_t* plain;
};
struct array_range {
  std::size_t first;
  std::size_t size;
};

// Adds a unit that reads, writes or updates one to three ranges of the two arrays, and computes it in plain memory at
// once. choose(): returns a range of an array.
template <class Choose>
void add_random_unit(task_graph& graph, std::mt19937_64& random, const std::array<array_and_plain, 2>& arrays,
                     Choose choose) {
  struct piece {
    array_and_plain at;
    std::size_t size;
    access_mode mode;
  };
  std::vector<piece> pieces;
  std::vector<declared_access> accesses;
  for (std::size_t i = 0; i <= random() % 3; ++i) {
    const array_and_plain& in = arrays[random() % 2];
    const array_range range = choose();
    const auto mode = static_cast<access_mode>(random() % 3);
    pieces.push_back({{in.array + range.first, in.plain + range.first}, range.size, mode});
    accesses.push_back({region(pieces.back().at.array, range.size), mode});
  }
  const auto compute = [pieces, salt = random()](std::uint64_t* array_and_plain::* memory) {
    std::uint64_t sum = salt;
    for (const piece& each : pieces)
      if (each.mode != access_mode::write)
        for (std::size_t i = 0; i < each.size; ++i) sum = mixed(sum, (each.at.*memory)[i]);
    for (const piece& each : pieces)
      if (each.mode != access_mode::read)
        for (std::size_t i = 0; i < each.size; ++i) (each.at.*memory)[i] = sum = mixed(sum, i);
  };
  compute(&array_and_plain::plain);
  graph.add(accesses, [compute] { compute(&array_and_plain::array); });
}

}  // namespace situ::test
