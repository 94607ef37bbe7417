// The firmware's figures of each pair of initiator and memory, from the ACPI tables themselves.
//
// Linux shows in sysfs, and so hwloc, only what a memory's best initiators see of it. The whole matrix is in the table
// HMAT (ACPI 6.5, section 5.2.29.4: System Locality Latency and Bandwidth Information), which root may read. It speaks
// of proximity domains; Linux numbers its nodes in the order in which the table SRAT (section 5.2.16) first names the
// domains, those of processors and generic initiators before those of memories.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace situ::machine {

// What one node's processors see of one node's memory, as HMAT says it.
struct firmware_figure {
  enum class kind : std::uint8_t { latency, read_latency, write_latency, bandwidth, read_bandwidth, write_bandwidth };
  std::uint32_t from = 0;  // NUMA nodes, by Linux's numbers
  std::uint32_t to = 0;
  kind what = kind::latency;
  double value = 0;  // ns, or bytes per second

  friend bool operator==(const firmware_figure&, const firmware_figure&) = default;
};

// All figures of memories (not of the caches before them) that the two tables say; nothing where a table is not what
// its header says. Pairs of domains that SRAT does not enable are left out. Takes any bytes.
[[nodiscard]] std::optional<std::vector<firmware_figure>> read_firmware_figures(std::string_view hmat,
                                                                                std::string_view srat);

// The same from files of a folder named HMAT and SRAT; nothing where they are not there or may not be read.
[[nodiscard]] std::optional<std::vector<firmware_figure>> read_firmware_figures(
    const std::string& directory = "/sys/firmware/acpi/tables");

}  // namespace situ::machine
