// The parts of cluster_fuzz.cpp that tests use without libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace situ::test {

// What a host's server made of what came.
struct cluster_outcome {
  std::size_t done = 0;
  std::size_t denied = 0;
  std::size_t dropped = 0;
};

// A place of another host that sends what an input says to a host's server; aborts on a finding: memory that is not
// open to it in an answer or changed, an answer that is none, or more than one to an operation; a message in a channel
// that is none, or more than a window held.
//
// An input is a list of steps: a byte that says what is put right and how the message comes, bytes of the head (8 bits)
// and of the data (16 bits), the head, and the data, as far as there are any.
cluster_outcome send_cluster_input(std::span<const std::byte> input);

// What the kept corpus started from (cluster_replay_test --write-seeds DIRECTORY), and how much of each is done.
struct cluster_seed {
  std::string name;
  std::vector<std::byte> input;
  std::size_t done;
};
[[nodiscard]] std::vector<cluster_seed> cluster_seeds();

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
