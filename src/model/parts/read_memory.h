// Reads the keys of a memory, or of a memory-side cache, which has a memory for its lines, and checks them.
#pragma once

#include <situ/machine/tree.h>

#include "model/parts/machine_spec.h"

#include <functional>
#include <string>
#include <utility>

namespace situ::model {

class memory_reader {
 public:
  // Throws an error that names the node.
  using failure = std::function<void(machine::node_id, const std::string&)>;

  // so_far: has the machine's cores and caches, and the side caches of memories that are read.
  memory_reader(const machine::tree& of, const machine_spec& so_far, failure fail)
      : tree_{of}, spec_{so_far}, fail_{std::move(fail)} {}

  // Gives a memory its channels, times and banks. pre: its tile and its side cache are known.
  void read_channels(machine::node_id id, memory_spec& memory) const;
  [[nodiscard]] side_cache_spec read_side_cache(machine::node_id id, const replacement_spec& replacement) const;

 private:
  void check_side_cache(machine::node_id id) const;
  void read_time(machine::node_id id, memory_spec& memory) const;
  void read_occupancy(machine::node_id id, memory_spec& memory) const;

  const machine::tree& tree_;
  const machine_spec& spec_;
  failure fail_;
};

}  // namespace situ::model
