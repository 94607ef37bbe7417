// The executor: carries out micro-programs on the cells of a device, and counts the commands while it does.
//
// A program's rows are bound to blocks once. Then it runs tile by tile, the latches of a tile in the first cache. Each
// command works on the 32 words of a row; some neighbours do so together, word by word (command_pair). A program that
// shifts rows runs command by command instead, each on all tiles of a subarray, as bits move from tile to tile.
// Subarrays and their tiles are dealt to threads.
#pragma once

#include <situ/pim/geometry.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "os/worker.h"
#include "pim/cell_storage.h"
#include "pim/micro_program.h"

namespace situ::pim {

// The blocks that a program's rows are in: row b of operand k is row operands[k].row + b of each subarray. All blocks
// have the same subarrays ("side by side"). scratch: needed if the program has scratch rows.
struct bound_blocks {
  std::span<const block> operands;
  block scratch{};
};

// The result of a run.
struct execution {
  command_counts counts;            // of all subarrays together
  std::vector<std::uint64_t> ones;  // for each count_ones of the program, in its order: the ones of all subarrays
};

// One run of a program, for run_all.
struct program_job {
  cell_storage* cells = nullptr;
  const micro_program* program = nullptr;
  std::vector<block> operands;
  block scratch{};
};

// Resolves the rows of a program. Throws bad_argument, naming the program and, where one is at fault, the number and
// text of the command, if
//   - fewer or more operands are bound than it has, or too few scratch rows, or they are not in the device
//   - blocks are of different subarrays
//   - a command names a row outside its block, or opens rows for computing as one that cannot be (write to a constant)
//   - a command reads a latch that no command before it has set, or names one that does not exist
//   - a command reads a row for computing, or a scratch row, that no command before it has written; or a row that one
//     has destroyed, as two operands share it (row_checks.h)
// cost: that of one pass over the commands.
[[nodiscard]] std::vector<bound_command> bind_rows(const cell_storage& cells, const micro_program& program,
                                                   const bound_blocks& blocks);

// Runs micro-programs with some threads, which sleep in between. One run at a time: others wait.
class executor {
 public:
  // threads: with the calling one. Throws std::system_error if there is no room for a thread, bad_argument for 0
  // threads, and not_supported if the processor lacks the instructions.
  explicit executor(unsigned threads = 1, instruction_set instructions = best_instruction_set());
  ~executor();
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  // Runs a program on all subarrays of the blocks. Throws as bind_rows(); and bad_argument, naming program, command,
  // subarray and tile, if a row command finds a mistake in the data (row_fault): rows may then be partly written.
  execution run(cell_storage& cells, const micro_program& program, const bound_blocks& blocks);

  // Runs several programs, each on its blocks, and returns what each has done, in their order. The threads go from one to
  // the next without waiting for each other, unless it is in a subarray of one before. Operands of a job are not written
  // by another one; scratch rows may be the same. Throws as run(); jobs before the one that is refused have been carried
  // out, and some behind it may have been.
  std::vector<execution> run_all(std::span<const program_job> jobs);

  [[nodiscard]] unsigned threads() const noexcept { return static_cast<unsigned>(workers_.size()) + 1; }
  [[nodiscard]] instruction_set instructions() const noexcept { return instructions_; }

 private:
  explicit executor(instruction_set instructions) : instructions_{instructions} {}
  void serve(unsigned thread);
  void share(const std::function<void(unsigned thread)>& part);

  instruction_set instructions_;
  std::mutex running_;  // held by run()
  std::mutex lock_;     // for the members up to busy_
  std::condition_variable changed_;
  const std::function<void(unsigned)>* part_ = nullptr;  // what each worker calls once a round
  std::uint64_t round_ = 0;
  bool stops_ = false;
  unsigned busy_ = 0;
  std::vector<os::worker> workers_;  // joined first
};

// Returns a command in words, for errors: "select 3 = 2 ? 0 : 1", "read_row operand 1 bit 7".
[[nodiscard]] std::string describe(const command& step);

}  // namespace situ::pim
