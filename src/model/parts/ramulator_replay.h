// Replays a trace of Ramulator's formats on a memory of a modelled machine (`situ model replay`). The trace's requests
// have missed the caches of the machine that it is from, so they pass none here.
//
// A trace of requests alone (ramulator-dram, ramulator2-loadstore) has no times: a request is sent each cycle of the
// core, while fewer than 32 are under way, as many as a queue of Ramulator's holds. A line of a
// core's trace takes the time of an integer instruction for each bubble, and once more for the read. A core with a window goes on until the
// window is full; others wait for the read. The line's write-back is sent with the read, behind it; nobody waits for it.
//
// Worked example, a core of 1 ns a cycle that waits, a memory of 100 ns with 10 ns for a line:
//
//   0x0 R, 0x40 W, 0x80 R     sent at 0, 1 and 2 ns; done at 100, 110 and 120
//   3 0 64                    4 instructions; the read is done at 104, its write-back at 114
//   0 128                     1 instruction; sent at 105, done at 205
#pragma once

#include "model/parts/modelled_machine.h"
#include "model/parts/ramulator_trace.h"
#include "model/parts/trace_replay.h"

#include <cstdint>

namespace situ::model {

// Replays the whole trace on this memory, by requests of a line of the outermost cache of the core. Instructions and
// branches are those of a core's trace, 0 otherwise. pre: memory and core exist. Throws as ramulator_reader does.
[[nodiscard]] replay_figures replay(modelled_machine& machine, std::uint32_t core, std::uint32_t memory,
                                    ramulator_reader& trace);

}  // namespace situ::model
