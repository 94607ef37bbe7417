// The protocol between the two ends of a graph's transfer (situ/graph/transfer.h): the words in the call's message, and
// the calls by which the receiver asks the sender.
//
//   message:   how | bytes | the image (message.h)
//   pull:      how | taken_flag, or 0 | failure epoch:32, with may_fetch_bit | roots, with the numbers of their types
//   offload:   how | the agent's entry | its use
//
// An offload whose call a unit sends (units_that_dispatch): two words by the unit | roots | taken_flag, if it is a
// result.
//   first word:   | finalizers:32 | failure epoch:16 | log2 of the alignment:8 | how:8 |
//   second word:  | 0:1 | objects:31 | units of the copy:32 |, or if the walk failed, | 1:1 | walk_under_way at the
//   sender:63 |
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace situ::detail {

inline constexpr std::uint64_t sent_by_unit = 16, result_sent_by_unit = 17;
inline constexpr std::uint64_t walk_has_failed = std::uint64_t{1} << 63;
inline constexpr std::uint64_t may_fetch_bit = std::uint64_t{1} << 32;  // next to the failure epoch of a pull

// Runs at the sender of a graph that the receiver could not read, since part of it lies in no segment, or is a value.
// Returns the graph's message. A root is an address and the sender's number of its type. Throws place_lost_error if a
// place was lost since `epoch`.
[[nodiscard]] std::vector<std::byte> flatten(std::uint32_t epoch, const std::vector<std::uint64_t>& words);
// Runs at the sender of a graph whose walk by a unit has failed. Returns the error, its code first. Throws
// place_lost_error if a place was lost since `epoch`.
[[nodiscard]] std::string failure_of_walk(std::uint32_t epoch, std::uint64_t address);

}  // namespace situ::detail
