// Traces of a run in ChampSim's format (`situ model run --trace FILE`): a file for each core, FILE.0 and so on.
//
// A record is an instruction. The hooks tell the instructions that access memory, with their code address and their addresses; a
// read and a write of one instruction are one record. The others of a block (block_costs.h) follow behind these as
// records of the block's address alone, and the block's jump, if it has more than one way, is the last one. Registers
// are not known: they are 0, except that a jump names those by which ChampSim knows it as a conditional branch. Code
// addresses are those of the program with its hooks. Functions over memory (memcpy) are records for 16 bytes each, with
// the address of the block that called them. A block that calls a function ends there: its jump, if it is behind the call,
// comes before the function, as taken.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/execution/engine.h"
#include "model/parts/champsim_trace.h"
#include "os/output_file.h"

namespace situ::model {

class trace_writer {
 public:
  explicit trace_writer(std::string file) : file_{std::move(file)} {}
  // Records an access within one line. `code`: the accessing code; 0 if it is not the program's.
  void access(const core& by, std::uintptr_t address, access_kind kind, std::uintptr_t code);
  // Records the instructions of the core's last block that are no accesses, and begins the next one.
  void begin_block(const core& by, std::uintptr_t code, const block_cost& cost);
  // Writes the rest. Ends the process with a message if the host cannot write.
  void end();

 private:
  struct of_core {
    std::unique_ptr<detail::output_file> file;
    std::uint32_t thread = none;  // of the latest access or block
  };
  // A thread that another one follows on its core within a block goes on with the block later.
  struct of_thread {
    std::uint32_t core = none;  // where it has run last
    champsim_record record;     // that is not written yet
    bool has_record = false;
    std::uint64_t accesses = 0;  // records of the block so far
    std::uintptr_t block = 0;    // 0: none has begun
    block_cost cost;
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  of_thread& running_on(const core& by);
  void put(const of_thread& its, const champsim_record& record);
  void put_access(of_thread& its);
  void end_block(of_thread& its, std::uintptr_t next);
  [[nodiscard]] std::uintptr_t end_of(std::uintptr_t block);

  std::string file_;
  std::vector<of_core> cores_;
  std::map<std::uint32_t, of_thread> threads_;               // by their numbers
  std::unordered_map<std::uintptr_t, std::uintptr_t> ends_;  // of blocks
};

}  // namespace situ::model
