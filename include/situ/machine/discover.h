// Discovers the machine that the program runs on, or reads a recorded one, through hwloc. Thread-safe. cost: tens of
// milliseconds.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/machine/tree.h>

#include <string>

namespace situ::machine {

// The parts of the machine to discover.
struct discovery_options {
  bool devices = true;  // network interfaces, disks and GPUs, with the memory that they report
  // only the processors that the calling thread may run on (taskset), and memories near them
  bool within_affinity = false;
};

// Returns this machine, as far as the process's container or control group lets it use the machine. Throws bad_file if
// hwloc cannot read it.
[[nodiscard]] tree discover(const discovery_options& options = {});
// Reads a machine recorded with `lstopo machine.xml`. Throws bad_file.
[[nodiscard]] tree read_hwloc_xml(const std::string& path, const discovery_options& options = {});
// Reads hwloc's synthetic notation: "pack:2 [numa] l3:1 core:4 pu:2". Throws bad_argument.
[[nodiscard]] tree from_synthetic(const std::string& description);

}  // namespace situ::machine
