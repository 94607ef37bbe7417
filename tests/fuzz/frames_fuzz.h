// The parts of frames_fuzz.cpp that tests use without libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace situ::test {

struct frames_outcome {
  std::size_t taken = 0;
  std::size_t refused = 0;
};

// What `situ run --hosts` and its agents make of a stream of frames (launch/host_frames.h), which comes in pieces of
// as many bytes as the input's first says, and of the rows that these bring; aborts on a finding: other frames in other
// pieces, or something taken that is not what packing it gives. Once the stream ends, or is none, the statistics and
// the trace are written of what has come.
frames_outcome hear_frames(std::span<const std::byte> input);

// What the kept corpus started from (frames_replay_test --write-seeds DIRECTORY), and how much of each is taken.
struct frames_seed {
  std::string name;
  std::vector<std::byte> input;
  std::size_t taken;
};
[[nodiscard]] std::vector<frames_seed> frames_seeds();

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
