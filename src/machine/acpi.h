// Reads the firmware's figures of each pair of initiator and memory from the ACPI tables.
//
// Through sysfs Linux, and so hwloc, shows only the figures for a memory's best initiators. The whole matrix is in the
// table HMAT (ACPI 6.5, section 5.2.29.4: System Locality Latency and Bandwidth Information), which root may read. It
// uses proximity domains; Linux numbers its nodes in the order in which the table SRAT (section 5.2.16) first names the
// domains, those of processors and generic initiators before those of memories.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace situ::machine {

// A figure of HMAT: latency or bandwidth of one node's memory, seen from one node's processors.
struct firmware_figure {
  enum class kind : std::uint8_t { latency, read_latency, write_latency, bandwidth, read_bandwidth, write_bandwidth };
  std::uint32_t from = 0;  // NUMA nodes, in Linux's numbering
  std::uint32_t to = 0;
  kind what = kind::latency;
  double value = 0;  // ns, or bytes per second

  friend bool operator==(const firmware_figure&, const firmware_figure&) = default;
};

// Returns all figures of memories (not of the caches before them) in the two tables, which may be any bytes; nullopt if
// a table contradicts its header. Pairs of domains that SRAT does not enable are left out.
[[nodiscard]] std::optional<std::vector<firmware_figure>> read_firmware_figures(std::string_view hmat,
                                                                                std::string_view srat);

// Reads the files HMAT and SRAT of a folder. Returns nullopt if they do not exist or may not be read.
[[nodiscard]] std::optional<std::vector<firmware_figure>> read_firmware_figures(
    const std::string& directory = "/sys/firmware/acpi/tables");

}  // namespace situ::machine
