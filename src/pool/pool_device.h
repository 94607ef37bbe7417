// Finds the device of a pool's file and, if it is persistent memory, its region, as the kernel's nvdimm bus shows them
// in sysfs (the firmware's table of regions is ACPI NFIT). A field is empty if the kernel does not tell it. Functions
// without state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace situ::detail {

// A module that has bytes of a region.
struct nvdimm_module {
  std::string name;  // "nmem0"
  std::string id;    // as written by the firmware: vendor, place, date, serial
  std::string serial;
  std::string handle;  // in the NFIT: node, socket, controller, channel, slot
};

struct pool_device {
  std::string block;  // "pmem0", "vda"; empty: no block device, or the file system has several
  std::string model;  // of a disk
  std::string serial;
  std::string region;       // "region0"; empty: none, and all following fields are empty
  std::string provider;     // of the bus: "ACPI.NFIT"
  std::string range_index;  // in the NFIT's table of ranges
  std::string set_cookie;   // of the interleave set: identifies the region, and contains the modules' serials
  std::string size_bytes;
  std::string persistence_domain;  // "cpu_cache", "memory_controller"
  std::string numa_node;
  std::string namespace_name;  // "namespace0.0"
  std::string namespace_uuid;
  std::string namespace_mode;  // "fsdax", "raw", ...
  std::vector<nvdimm_module> modules;
};

// Finds the device of a file by its device number (stat's st_dev). system: the folder of sysfs, for tests. cost:
// reading some files.
[[nodiscard]] pool_device find_device(std::uint64_t number, const std::filesystem::path& system = "/sys");

}  // namespace situ::detail
