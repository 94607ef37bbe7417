// NEMESYS's units on a machine that has them, while a program runs: offloads use them as in sections 4.1 and 4.2 of the
// paper.
//
//   write a graph back   NCA of the sender's tile: walks the graph; then sends the call, which the sender's core has
//                        written
//   copy it              NCA of the receiver's tile drops the destination's lines, and triggers the unit next to the
//                        graph's memory. That unit copies the graph to the destination. If the destination is in
//                        another memory, it copies to a buffer next to the graph, and its DMA unit moves the copy to
//                        the destination. Then the receiver is notified.
//
// Each unit is a unit_thread. The requests of all places to a memory's unit pass through the unit's one FIFO; a request
// that finds it full waits, in order. The units really copy the bytes: the receiver gets the bytes that the units find
// in memory.
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
  // runs: the engine, whose machine must have parts. It must outlive this object.
  graph_devices(engine& runs, const graph_device_options& options);
  ~graph_devices();

  [[nodiscard]] bool write_graphs_back() const noexcept { return has_near_cache_ && has_copy_; }
  [[nodiscard]] bool copy_graphs() const noexcept { return has_copy_; }
  [[nodiscard]] const graph_device_options& options() const noexcept { return options_; }
  // Begin a request of the running core. pre: write_graphs_back(), copy_graphs().
  void begin_copy(graph_work& work) { begin_copy(work, nullptr); }
  void begin_copy(const graph_request& request);
  void dispatch(const graph_request& request);
  [[nodiscard]] bool recall(const void* context);
  // Takes over the header of the running thread's next message. Returns false if the thread has dispatched no graph:
  // the caller then sends the header itself.
  [[nodiscard]] bool take_header(const carried_header& header);
  void append_counters(std::vector<part_counters>& to) const;

 private:
  struct near_cache;   // the units of a tile
  struct near_memory;  // the units of a memory
  struct transfer;     // a copy in progress
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
  std::map<std::uint32_t, std::shared_ptr<dispatched>> written_;  // by thread, until the thread hands over its message
  unit_thread arrivals_;                                          // tasks that reach tiles
};

// The run's graph devices; nullptr if the machine has no such units, or they are not used.
extern graph_devices* the_graph_devices;

}  // namespace situ::model
