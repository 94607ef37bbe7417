// The parts of graph_message_fuzz.cpp that tests use without libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace situ::test {

// Reads an input of the fuzzer, and aborts on a finding. Whether it decodes.
bool read_fuzz_input(std::span<const std::byte> input);

// What the kept corpus started from (graph_message_replay_test --write-seeds DIRECTORY).
struct fuzz_seed {
  std::string name;
  std::vector<std::byte> input;
};
[[nodiscard]] std::vector<fuzz_seed> fuzz_seeds();

}  // namespace situ::test

extern "C" {
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);
}
