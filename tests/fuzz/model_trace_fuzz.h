// The parts of model_trace_fuzz.cpp that tests use without libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace situ::test {

struct model_trace_outcome {
  std::size_t taken = 0;  // records or lines before the end or the one that is refused
  bool is_refused = false;
};

// Reads bytes as a trace for `situ model replay`: those of ChampSim's format if the first byte is even, otherwise those
// of Ramulator's. Aborts on a finding: an address that no machine has, lines that are others once they are written and
// read again, or a refusal that does not name the file.
model_trace_outcome read_model_trace(std::span<const std::byte> input);

// What the kept corpus started from (model_trace_replay_test --write-seeds DIRECTORY), and how much of each is taken.
struct model_trace_seed {
  std::string name;
  std::vector<std::byte> input;
  std::size_t taken;
};
[[nodiscard]] std::vector<model_trace_seed> model_trace_seeds();

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
