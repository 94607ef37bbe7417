// The parts of pams_fuzz.cpp that tests use without libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace situ::test {

struct pams_outcome {
  std::size_t words = 0;   // of the program
  std::size_t errors = 0;  // of the text, or of the file
};

// Reads bytes as one of three inputs of `situ pams`, which the first byte selects: 0 words to disassemble, 1 text to
// assemble, 2 a program file (each modulo 3). Aborts on a finding: words that are others after a round trip, an error
// whose place is not in the text, or a refusal that does not name the file.
pams_outcome read_pams(std::span<const std::byte> input);

// A seed of the kept corpus (pams_replay_test --write-seeds DIRECTORY), with its outcome.
struct pams_seed {
  std::string name;
  std::vector<std::byte> input;
  pams_outcome outcome;
};
[[nodiscard]] std::vector<pams_seed> pams_seeds();

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
