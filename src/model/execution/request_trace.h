// Traces of a run in Ramulator's formats (`situ model run --trace FILE --trace-format ramulator-dram`): the requests that
// reach the machine's memories, in the order in which the machine carries them out (parts/ramulator_trace.h).
//
// The formats of requests alone give one file, FILE, for all cores. That of cores gives a file for each core, FILE.0 and
// so on, and has no line for a write alone: a write-back is on the line of its core's latest read, or, if there are more
// write-backs than reads, on the next ones. Worked for a core that executes 10 instructions, the third and the ninth of
// which miss, with a block of all ten, and the second miss throws a dirty line out:
//
//   9 64             instructions count when their block begins: nine bubbles and the read are the block
//   0 128 4096       none are left for the second read
//
// Requests of no core (DMA, units, messages that arrive) are written in the formats of requests alone.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/parts/ramulator_trace.h"
#include "os/output_file.h"

namespace situ::model {

struct core;

class request_trace {
 public:
  request_trace(std::string file, ramulator_format format) : file_{std::move(file)}, format_{format} {}
  // Begins the core's trace here: what it has executed so far is no part of it.
  void begin(const core& of);
  // Records a request. `by`: the core that made it; null: none of the machine's.
  void add(const core* by, std::uint64_t address, bool writes);
  // Writes the rest, and returns what the format had no place for, as text. Ends the process with a message, as add()
  // does, if the host cannot write, or if a line of the format cannot be.
  [[nodiscard]] std::string end();

 private:
  struct of_core {
    std::unique_ptr<detail::output_file> file;
    std::optional<ramulator_line> line;      // that is not written yet
    std::deque<std::uint64_t> write_backs;   // without a line yet
    std::uint64_t written_instructions = 0;  // bubbles and reads so far, and those before the begin
  };
  [[nodiscard]] of_core& trace_of(const core& by);
  void add_to_core(const core& by, std::uint64_t address, bool writes);
  void put(of_core& its);
  void put(std::unique_ptr<detail::output_file>& to, const std::string& name, const ramulator_line& line) const;

  std::string file_;
  ramulator_format format_;
  std::unique_ptr<detail::output_file> all_;
  std::vector<of_core> cores_;
  std::uint64_t of_no_core_ = 0;  // requests without a place in a core's trace
};

}  // namespace situ::model
