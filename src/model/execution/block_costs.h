// The cost of a basic block's instructions: the block's machine code is decoded, and its instructions are counted by
// class.
//
// A hook is called at the beginning of each basic block. The block is the code after the call: up to a jump or return,
// or the next block's hook. A hook for an access stands directly before the instruction that makes it
// (assembly/hooks_in_assembly.h), so the instructions are the program's own, and it is known which of them access
// memory. Not counted by class are moves whose access has a hook (the machine prices these accesses, and a load takes
// no more than a hit's time), and padding. x86-64 instructions stand for those of the modelled core. The classes:
//
//   multiply  imul, mul, mulx
//   divide    div, idiv; divisions and square roots of floating numbers
//   floating  all other computation with floating numbers, vectors of them too: one, however wide
//   branch    jumps, taken or not
//   call      calls and returns
//   move      moves between registers, and others without a hook; cores without a width count them as integer
//   integer   all others: logic, integer vectors, atomics
//
// Worked example, a loop that adds up ints:
//
//   call situ_model_block; lea rdi, [rax]; call situ_model_read4; add edx, [rax]; add rax, 4; cmp rax, rcx; jne
//     -> integer 3, of which one is joined with the access; branch 1: 4 cycles on a core of one cycle each, besides the
//     access
#pragma once

#include <cstdint>
#include <optional>

#include <situ/machine/tree.h>

#include "model/execution/native_text.h"
#include "model/parts/time.h"

namespace situ::model {

// The lines of a block's code, by its native addresses (native_text.h). All 0 if the lines are unknown, or no core
// fetches instructions.
struct fetched_lines {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  friend bool operator==(const fetched_lines&, const fetched_lines&) = default;
};

// The number of instructions of each class in a block. Invariant: an instruction is counted in `joined` at most once.
struct block_instructions {
  std::uint32_t integer = 0;
  std::uint32_t move = 0;
  std::uint32_t accesses = 0;  // accesses with a hook
  std::uint32_t priced = 0;    // moves that are nothing but such an access
  std::uint32_t joined = 0;    // of all classes: executed together with an access or a branch by a core with a width
  std::uint32_t multiply = 0;
  std::uint32_t divide = 0;
  std::uint32_t floating = 0;
  std::uint32_t branch = 0;
  std::uint32_t choices = 0;  // of these, conditional and indirect jumps: more than one way goes on
  std::uint32_t call = 0;
  [[nodiscard]] std::uint32_t count() const noexcept {
    return integer + move + multiply + divide + floating + branch + call;
  }
  // Returns how many of them a core with a width executes for themselves. Below 0 it would be a huge number, which
  // cost_of() refuses.
  [[nodiscard]] std::uint32_t executed_alone() const noexcept { return count() - joined; }
  friend bool operator==(const block_instructions&, const block_instructions&) = default;
};

// Counts the block whose code continues at `code`, after the call of its hook; sets `end` to the end of the block.
// cost: a decoder's 100 ns an instruction.
[[nodiscard]] block_instructions read_block(std::uintptr_t code, std::uintptr_t& end) noexcept;

// Returns the kind of a call that leads to `target`.
[[nodiscard]] hook_call hook_called(std::uintptr_t target) noexcept;

// The cost of a block, as the hook stores it.
struct block_cost {
  std::uint32_t picoseconds = 0;   // never 0 for a known block
  std::uint32_t instructions = 0;  // counted by class
  std::uint32_t without_cost = 0;  // the others: moves that the machine prices, and what is executed with others
  std::uint32_t branches = 0;      // 1: it ends with a conditional or an indirect jump
  fetched_lines lines;             // lines of the block's code
  [[nodiscard]] bool is_known() const noexcept { return picoseconds != 0; }
};

// Returns the cost of a block. Without a width the cycles of all instructions add up, and moves count as integer
// instructions. A core with a width executes instructions of several classes at a time: a block takes the longest time
// of any one class, or the time of all instructions at `width` a cycle, if that is longer. Such a core fuses a
// comparison with its jump, and arithmetic, calls and returns with the access of their operand. So a block and its
// accesses (1 / width cycles each) never take less than the accesses alone, nor more than the sum of the classes with
// 1 / width cycles or more for each instruction. Returns nullopt for a block that takes longer than a block_cost can
// say, 4.29 ms.
//
// Worked example: 4 integer instructions of 0.25 cycles, 6 floating ones of 0.5 and a branch of 0.5, with a width of 6:
// max(4 * 0.25, 6 * 0.5, 0.5, 11 / 6) = 3 cycles; without a width 4.5.
[[nodiscard]] std::optional<block_cost> cost_of(const block_instructions& block,
                                                const machine::instruction_cycles& cycles, time_ps period,
                                                double width = 0) noexcept;

}  // namespace situ::model
