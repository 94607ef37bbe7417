// The parts of rmem_fuzz.cpp that tests use without libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace situ::test {

// How a server answered what a client sent.
struct rmem_outcome {
  std::size_t done = 0;
  std::size_t refused = 0;
  bool is_closed = false;  // what came was no request
};

// A client that has logged in, and then sends what an input says; aborts on a finding: bytes of another application's
// region in an answer or changed, an answer that is none, memory of the server that grows beyond its bound.
//
// An input is a list of steps: a byte that says what of the head is put right, the head's 64 bytes, and as many of what
// follows as the head asks for, as far as there are any.
rmem_outcome send_rmem_input(std::span<const std::byte> input);

// The same bytes as what a member of a chain of replicas hears from the one before it; aborts where that takes more
// memory than it has, or takes nothing any more. How many changes it has done.
std::size_t hear_rmem_input(std::span<const std::byte> input);
// A copy and some batches, all of which are done.
[[nodiscard]] std::vector<std::byte> rmem_stream();
inline constexpr std::size_t rmem_stream_changes = 10;

// What the kept corpus started from (rmem_replay_test --write-seeds DIRECTORY), and how much of each is done.
struct rmem_seed {
  std::string name;
  std::vector<std::byte> input;
  std::size_t done;
};
[[nodiscard]] std::vector<rmem_seed> rmem_seeds();

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
