// The machine the program runs on, or a recorded one, through hwloc. Thread-safe.
// cost: tens of milliseconds.
#pragma once

#include <situ/base/detail/abi.h>
#include <situ/machine/tree.h>

#include <string>

namespace situ::machine {

// What to look at.
struct discovery_options {
  bool devices = true;  // network interfaces, disks and GPUs, with what memory they tell of
  // only the processors that the calling thread may run on (taskset), and memories near them
  bool within_affinity = false;
};

// This machine, as far as its container or control group lets the process use it. Throws bad_file if hwloc cannot read
// it.
[[nodiscard]] tree discover(const discovery_options& options = {});
// A machine recorded with `lstopo machine.xml`. Throws bad_file.
[[nodiscard]] tree read_hwloc_xml(const std::string& path, const discovery_options& options = {});
// hwloc's synthetic notation: "pack:2 [numa] l3:1 core:4 pu:2". Throws bad_argument.
[[nodiscard]] tree from_synthetic(const std::string& description);

}  // namespace situ::machine
