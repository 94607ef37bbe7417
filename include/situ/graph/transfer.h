// Transfers: how graphs get from place to place; at.h uses them. All three have one meaning: the receiver gets a copy,
// isomorphic to the graph at the sender, in its own segment.
//
//   message   sender: flattens, sends bytes          receiver: checks, fixes pointers       any memory of the sender's
//   pull      sender: sends the roots' addresses     receiver: copies                       a graph in segments
//   offload   sender: asks its agent to measure      receiver: allocates, asks the          any memory of the sender's
//             and sends the size on                  sender's agent to copy, waits
//
// `automatic` uses message for small graphs and for graphs whose roots lie outside the sender's segment, else pull; if
// the receiver of a pull cannot read an object, it asks the sender for a message. Graphs with standard containers,
// strings or smart pointers, and graphs for another host, go by message even if the call names another transfer: other
// places cannot read that memory.
//
// cost: each copies as clone does. A message adds checking, with 2 bytes of marks for 8 of the image while it lasts; a
// pull one message each way; an offload two wake-ups of a thread. Settings are stores.
#pragma once

#include <situ/graph/clone.h>
#include <situ/runtime/route.h>

#include <functional>

namespace situ {

// Sets the transfer that `automatic` means for calls from this place; may be automatic again. The initial value is
// $SITU_TRANSFER (auto, message, pull, offload). Only $SITU_COPY_MAP (auto, linear, hash, side_table; copy_map in
// clone.h) sets the copy map of graphs that are sent. Throws no_runtime outside a runtime.
void set_default_transfer(transfer how);
[[nodiscard]] transfer default_transfer();

// Describes one graph that arrived at this place, as a call's argument or result. A call of a place to itself copies,
// too; its `how` is automatic.
struct graph_copy_event {
  graph_size size;
  transfer how = transfer::automatic;  // the transfer that was used
  place from;                          // the sender of the graph
};
// Calls `log` for each graph that arrives at this place from now on, on the task or handler that receives it, so `log`
// must not wait. An empty function ends the logging. A place serves calls while its runtime's constructor waits for the
// others, so a program that must not miss a graph needs a barrier between this call and the first graph. Throws
// no_runtime outside a runtime.
void on_graph_copy(std::function<void(const graph_copy_event&)> log);

}  // namespace situ
