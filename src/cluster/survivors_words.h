// survivors() keeps these words in the slot of each place (runtime/survivors.cpp). In a job over several hosts the host's
// server writes the fates, once the hosts have agreed on them (survivors_agreement.h). Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace situ::detail {

struct survivors_words {
  std::atomic<std::uint64_t> round{0};     // that the place has reached
  std::atomic<std::uint64_t> blocks[2]{};  // that it provides for the teams of even and odd rounds
  std::atomic<std::uint64_t> fate{0};      // | round : 63 | lives : 1 |, on which places agree
};

}  // namespace situ::detail
