// The exchange between the hosts before they are one job: each host makes a record, every host reads all records and
// comes to the same answer, so that if one host cannot take part, every host reports the reason.
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
  std::vector<std::byte> address{};  // of its server, as the network writes it
  std::string refusal{};             // why this host cannot take part; the other fields are not set then
  friend bool operator==(const host_record&, const host_record&) = default;
};

[[nodiscard]] std::vector<std::byte> pack(const host_record& record);
// Throws bad_launch for bytes of another form.
[[nodiscard]] host_record unpack(std::span<const std::byte> bytes);

// Throws bad_launch if there are too many records (host_set.h), or if a host cannot take part, or has another page
// size or room for smaller slices only; version_mismatch if programs or Situ differ. pre: `records` is not empty.
void check_records(std::span<const host_record> records);

}  // namespace situ::detail::cluster
