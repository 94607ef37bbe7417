// What the hosts of a job tell each other before they are one: each makes a record, all read all, and all come to the
// same answer, so that where one cannot, every host says why.
//
// Values; no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace situ::detail::cluster {

struct host_record {
  std::string name;              // of the host
  std::uint64_t build = 0;       // of the program
  std::uint64_t layout = 0;      // of the job's memory
  std::uint64_t page_bytes = 0;  // of the kernel
  std::uint32_t slice_shift = 0;
  std::vector<std::byte> address{};  // of its server, in the network's words
  std::string refusal{};             // why this host cannot; nothing else is said then
  friend bool operator==(const host_record&, const host_record&) = default;
};

[[nodiscard]] std::vector<std::byte> pack(const host_record& record);
// Throws bad_launch for bytes that are none.
[[nodiscard]] host_record unpack(std::span<const std::byte> bytes);

// Throws bad_launch where they are too many (host_set.h), or a host cannot, or has another kind of pages or room for
// smaller slices; version_mismatch where programs or Situ differ. pre: there is one.
void check_records(std::span<const host_record> records);

}  // namespace situ::detail::cluster
