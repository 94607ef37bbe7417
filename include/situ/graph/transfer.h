// How graphs get from place to place; at.h uses it. The three transfers have one meaning: the receiver gets a copy,
// isomorphic to the graph at the sender, in its own segment.
//
//   message   sender: flattens, sends bytes          receiver: checks, fixes pointers       any memory of the sender's
//   pull      sender: sends the roots' addresses     receiver: copies                       a graph in segments
//   offload   sender: asks its agent to measure      receiver: allocates, asks the          any memory of the sender's
//             and sends the size on                  sender's agent to copy, waits
//
// `automatic` takes message for small graphs and for those whose roots lie outside the sender's segment, else pull;
// what the receiver of that cannot read, it asks the sender to flatten. Graphs with standard containers, strings or
// smart pointers, and those for another host, go by message, whatever is asked for: nobody else can read their memory.
//
// cost: each copies as clone does. A message adds checking, with 2 bytes of marks for 8 of the image while it lasts; a
// pull one message each way; an offload two wake-ups of a thread. Settings are stores.
#pragma once

#include <situ/graph/clone.h>
#include <situ/runtime/route.h>

#include <functional>

namespace situ {

// What `automatic` means for calls from this place: a transfer, or automatic again. At first $SITU_TRANSFER (auto,
// message, pull, offload). How originals are found again while graphs are sent is $SITU_COPY_MAP's alone (auto, linear,
// hash, side_table; copy_map in clone.h). Throws no_runtime outside a runtime.
void set_default_transfer(transfer how);
[[nodiscard]] transfer default_transfer();

// One graph that was copied to this place, by a call's arguments or result. A call of a place to itself copies, too:
// `how` is automatic then.
struct graph_copy_event {
  graph_size size;
  transfer how = transfer::automatic;  // by which it came
  place from;                          // whose graph it was
};
// Calls `log` for each graph that arrives at this place from now on, from whatever runs there then: it must not wait.
// Empty: no longer. A place serves calls while its runtime's constructor waits for the others, so a barrier must follow
// before the first graph is sent if none may be missed. Throws no_runtime outside a runtime.
void on_graph_copy(std::function<void(const graph_copy_event&)> log);

}  // namespace situ
