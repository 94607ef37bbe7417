// Raw channels of a modelled machine: messages of a few words that a core puts into the network itself, and another
// core takes from it, past all memories (the TILE64's user dynamic network). A machine's file says whether the machine
// has them, and what they cost: raw_bytes, raw_send, raw_receive and raw_queue of its network for messages.
//
// The words are those of registers: the memory that holds them here is not accessed in modelled time. It is no memory
// that other places access, such as a local variable; a run that checks coherence ends if it lies in a segment.
//
// Declares nothing in a native build: what stands for a raw channel there is the caller's own.
#pragma once

#if defined(SITU_MODEL)

#include <cstddef>
#include <cstdint>

extern "C" {
// Sends a message of 1 to raw_bytes bytes to the tile of a place, and waits while that tile's queue is full. Messages
// from one tile to another arrive in order. Ends the run, with a sentence that says why, if the machine has no raw
// channels.
// cost: raw_send of the core's time; the network's time by hops until the message has arrived.
void situ_model_raw_send(std::uint32_t place, const void* words, std::size_t bytes) noexcept;
// Waits until a message for the calling thread's tile has arrived, copies it to `words`, and returns its bytes. Ends
// the run if it has more than `bytes`, or if the machine has no raw channels. Several threads of a tile each get other
// messages. cost: raw_receive of the core's time, after the message has arrived.
std::size_t situ_model_raw_receive(void* words, std::size_t bytes) noexcept;
// Returns whether the machine has raw channels.
[[nodiscard]] bool situ_model_has_raw_channels() noexcept;
}

#endif
