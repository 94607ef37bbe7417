// Replays a trace of ChampSim's format on a core of a modelled machine (`situ model replay`).
//
// Each record is an instruction: it takes the core's time for an integer instruction, or for a branch, then its reads in
// order, then its writes. Accesses have 8 bytes, or as many as there are to the end of the line. Instructions are not
// fetched, and branches are not predicted: the trace has neither sizes of instructions nor wrong paths.
//
// Worked example, a core of 1 ns a cycle, hits of 1 ns, misses of 100: records (read line 1), (nothing), (read line 1,
// write line 1): 1 + 100, 1, 1 + 1 + 1 = 105 ns, one miss and two hits.
#pragma once

#include "model/parts/champsim_trace.h"
#include "model/parts/modelled_machine.h"
#include "model/parts/time.h"

#include <cstdint>

namespace situ::model {

struct replay_figures {
  std::uint64_t instructions = 0;
  std::uint64_t branches = 0;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  time_ps time = 0;  // until the last access is done
};

// Replays the whole trace. pre: all addresses are mapped, and the core exists. Throws as champsim_reader does.
[[nodiscard]] replay_figures replay(modelled_machine& machine, std::uint32_t core, champsim_reader& trace);

}  // namespace situ::model
