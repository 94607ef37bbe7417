// Which device a pool's file lies on, and, where that is persistent memory, which region of it: as the kernel's nvdimm
// bus has it in sysfs, where the firmware's table of regions (ACPI NFIT) is shown. What the kernel does not say is
// empty. Functions without state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace situ::detail {

// A module that a region's bytes lie in.
struct nvdimm_module {
  std::string name;  // "nmem0"
  std::string id;    // as the firmware writes it: vendor, place, date, serial
  std::string serial;
  std::string handle;  // of the NFIT: node, socket, controller, channel, slot
};

struct pool_device {
  std::string block;  // "pmem0", "vda"; empty: no block device, as where the file system has none or several
  std::string model;  // of a disk
  std::string serial;
  std::string region;       // "region0"; empty: none, and so is all that follows
  std::string provider;     // of the bus: "ACPI.NFIT"
  std::string range_index;  // of the NFIT's table of ranges
  std::string set_cookie;   // of the interleave set: the region's identity, which the modules' serials are in
  std::string size_bytes;
  std::string persistence_domain;  // "cpu_cache", "memory_controller"
  std::string numa_node;
  std::string namespace_name;  // "namespace0.0"
  std::string namespace_uuid;
  std::string namespace_mode;  // "fsdax", "raw", ...
  std::vector<nvdimm_module> modules;
};

// Of the file with this device number (stat's st_dev). system: where sysfs is, for tests. cost: reading some files.
[[nodiscard]] pool_device find_device(std::uint64_t number, const std::filesystem::path& system = "/sys");

}  // namespace situ::detail
