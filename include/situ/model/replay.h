// A trace of instructions or of requests to a memory, replayed on a modelled machine.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace situ::model {

// The instructions, accesses and time of a replay, and the counters of the machine's parts.
struct replay_report {
  std::string text;  // a table
  std::string json;  // an object; times in picoseconds
};

// Replays a trace of ChampSim's format (records of 64 bytes, not compressed) on a core of the machine that a file
// describes, or one of Ramulator's formats (text, "0x12345680 R", "LD 0x12345680" or "3 20734016", a request in each
// line) on the machine's first memory that belongs to no tile; the trace's first bytes say which. trace_name: for
// errors. settings: "KEY=VALUE" each; they replace figures, as `situ model replay --set` does. Throws bad_file, with the
// place, for a trace that ends within a record, has a bad line, or is none, and for a machine's file that cannot be;
// bad_argument for "flat" and for a core that the machine does not have. cost: linear in the trace, some hundred
// instructions an access.
[[nodiscard]] replay_report replay_trace(std::istream& trace, const std::string& trace_name, const std::string& machine,
                                         const std::vector<std::string>& settings = {}, std::uint32_t core = 0);

}  // namespace situ::model
