// NEMESYS's units on a machine that has them, while a program runs: what offloads have done there (sections 4.1 and 4.2
// of the paper).
//
//   write a graph back   NCA of the sender's tile: the walk; then it sends the call, which the sender's core has
//   written copy it              NCA of the receiver's tile drops the destination's lines, and triggers the unit beside
//   the
//                        memory of the graph. That copies to the destination; where this is another memory's, to a
//                        buffer beside the graph, from which its DMA unit brings it there. Then the receiver is told.
//
// Each unit is a unit_thread. The requests of all places to the unit of a memory go through its one FIFO; who finds it
// full waits, in order. Bytes are really copied, by the units: what they find in memory is what arrives.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "model/execution/calls.h"
#include "model/execution/carried_header.h"
#include "model/execution/unit_thread.h"
#include "model/graph_units/copy_maps.h"
#include "model/parts/counters.h"
#include "model/parts/modelled_machine.h"

namespace situ::model {

enum class graph_units_used : std::uint8_t { devices, copy_only, software };

struct graph_device_options {
  graph_units_used used = graph_units_used::devices;
  map_kind map = map_kind::linear;  // as for the paper's benchmarks (5.4.2)
  bool dummy_allocations = true;    // 6.1
};

class graph_devices {
 public:
  // runs: its machine must have parts. It must outlive this.
  graph_devices(engine& runs, const graph_device_options& options);
  ~graph_devices();

  [[nodiscard]] bool write_graphs_back() const noexcept { return has_near_cache_ && has_copy_; }
  [[nodiscard]] bool copy_graphs() const noexcept { return has_copy_; }
  [[nodiscard]] const graph_device_options& options() const noexcept { return options_; }
  // Of the running core. pre: write_graphs_back(), copy_graphs().
  void begin_copy(graph_work& work) { begin_copy(work, nullptr); }
  void begin_copy(const graph_request& request);
  void dispatch(const graph_request& request);
  [[nodiscard]] bool recall(const void* context);
  // Of the running thread's next message, whose header this is: false where it goes by itself.
  [[nodiscard]] bool take_header(const carried_header& header);
  void append_counters(std::vector<part_counters>& to) const;

 private:
  struct near_cache;   // of a tile
  struct near_memory;  // of a memory
  struct transfer;     // a copy under way
  struct dispatched;   // a graph that is walked, and its message

  near_cache& of_tile(std::uint32_t tile);
  near_memory& of_memory(std::uint32_t memory);
  void begin_copy(graph_work& work, std::unique_ptr<graph_work> own);
  void walk(std::shared_ptr<dispatched> next);
  time_ps drop_destination(near_cache& at, const graph_work& work, time_ps now);
  time_ps copy(transfer& done, time_ps now);
  time_ps bring(transfer& done, time_ps now);
  void trigger(std::shared_ptr<transfer> next, time_ps now);
  void go_on(const std::shared_ptr<transfer>& next);
  void tell_reader(const std::shared_ptr<transfer>& next, std::uint32_t memory, time_ps now);
  void list_finalizers(transfer& done, time_ps now);

  engine& engine_;
  modelled_machine& machine_;
  graph_device_options options_;
  bool has_near_cache_ = false;
  bool has_copy_ = false;
  std::map<std::uint32_t, std::unique_ptr<near_cache>> near_caches_;
  std::map<std::uint32_t, std::unique_ptr<near_memory>> near_memories_;
  std::map<std::uint32_t, std::shared_ptr<dispatched>> written_;  // by thread, until its message is handed over
  unit_thread arrivals_;                                          // tasks that reach tiles
};

// Of the run; nullptr: the machine has no such units, or they are not used.
extern graph_devices* the_graph_devices;

}  // namespace situ::model
