// `situ model replay`: a trace of ChampSim's or Ramulator's formats on a modelled machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct replay_options {
  std::string trace;  // a file, or "-" for the standard input
  std::string machine;
  std::vector<std::string> settings;  // "KEY=VALUE" of the machine
  std::uint32_t core = 0;
  std::string json;  // a file, or empty
};

// Replays the trace and prints the machine's counters. Throws bad_file for a trace that ends within a record, has a bad line, or is none,
// bad_argument for a core that the machine does not have. `machine`: a machine's file.
void replay_trace(const replay_options& options);
