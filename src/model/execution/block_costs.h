// What the instructions of a basic block cost: its machine code, decoded and counted by class.
//
// gcc calls a hook at the beginning of each basic block. The block is what follows the call: up to a jump or return, or
// the next block's hook. Left out are what is there for the hooks alone: the calls, and an instruction for the address
// that each is given; moves whose access has a hook: the machine prices these, and a hit's time is all that a load
// takes; and what only fills space. x86-64's instructions stand for those of the modelled core. The classes:
//
//   multiply  imul, mul, mulx
//   divide    div, idiv; divisions and square roots of floating numbers
//   floating  all else that computes with floating numbers, vectors of them too: one, however wide
//   branch    jumps, taken or not
//   call      calls and returns
//   frame     moves from and to the function's frame, without a hook
//   move      other moves without a hook; cores without a width count them, and those of the frame, as integer
//   integer   all else: loads and stores without a hook, logic, integer vectors, atomics
//
// Worked example, the loop of tests/model/walk.cpp, sum += first[i]:
//
//   call trace_pc; mov rdi, rbx; add r12, 1; add rbx, 4; call read4; movslq rax, [rbx - 4]; add r13, rax; cmp r14, r12;
//   jne
//     -> integer 4, branch 1: 5 cycles on a core of one cycle each, and the access
#pragma once

#include <cstdint>

#include <situ/machine/tree.h>

#include "model/execution/native_text.h"
#include "model/parts/time.h"

namespace situ::model {

// The lines that a block's code lies in, by its native addresses (native_text.h). All 0: not known, or nothing fetches
// them.
struct fetched_lines {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  friend bool operator==(const fetched_lines&, const fetched_lines&) = default;
};

// How many instructions of each class a block has.
struct block_instructions {
  std::uint32_t integer = 0;
  std::uint32_t move = 0;
  std::uint32_t frame = 0;
  std::uint32_t accesses = 0;  // with a hook
  std::uint32_t joined = 0;    // of all of these: that a core with a width does together with an access or a branch
  std::uint32_t multiply = 0;
  std::uint32_t divide = 0;
  std::uint32_t floating = 0;
  std::uint32_t branch = 0;
  std::uint32_t call = 0;
  [[nodiscard]] std::uint32_t count() const noexcept {
    return integer + move + frame + multiply + divide + floating + branch + call;
  }
  friend bool operator==(const block_instructions&, const block_instructions&) = default;
};

// The block whose code goes on at `code`, behind the call of its hook; `end` becomes where it ends. cost: a decoder's
// 100 ns an instruction.
[[nodiscard]] block_instructions read_block(std::uintptr_t code, std::uintptr_t& end) noexcept;

// What a call of the code that leads to `target` is there for.
[[nodiscard]] hook_call hook_called(std::uintptr_t target) noexcept;

// What the hook keeps of a block.
struct block_cost {
  std::uint32_t picoseconds = 0;  // of a known one never 0
  std::uint32_t instructions = 0;
  fetched_lines lines;  // that its code lies in
  [[nodiscard]] bool is_known() const noexcept { return picoseconds != 0; }
};
static_assert(sizeof(block_cost) == 16, "the hook loads it whole");

// Without a width the cycles of all instructions add up, and moves of the frame are integer instructions. A core with a
// width does instructions of several classes at a time: a block takes what its classes take that takes longest, or what
// all take at that many a cycle, and does a comparison with its jump, and arithmetic with the access of its operand.
// Moves of the frame are not counted for it: nearly all of them are there because a hook may change registers.
//
// Worked example: 4 integer instructions of 0.25 cycles, 6 floating ones of 0.5 and a branch of 0.5, 6 of them a cycle:
// max(4 * 0.25, 6 * 0.5, 0.5, 11 / 6) = 3 cycles; without a width 4.5.
[[nodiscard]] block_cost cost_of(const block_instructions& block, const machine::instruction_cycles& cycles,
                                 time_ps period, double width = 0) noexcept;

}  // namespace situ::model
