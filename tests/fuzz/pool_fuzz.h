// The parts of pool_fuzz.cpp that tests use without libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace situ::test {

// What became of an input.
enum class pool_fuzz_outcome : std::uint8_t { refused, damaged, sound };

// Opens the pool that an input makes, looks at all of it, changes it; aborts on a finding.
pool_fuzz_outcome open_pool_input(std::span<const std::byte> input);

// What the kept corpus started from (pool_replay_test --write-seeds DIRECTORY), and what each comes to.
struct pool_seed {
  std::string name;
  std::vector<std::byte> input;
  pool_fuzz_outcome outcome;
};
[[nodiscard]] std::vector<pool_seed> pool_seeds();

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
