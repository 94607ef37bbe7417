// The text of an assembler file, as gcc writes it: which of its lines are instructions.
//
// Worked example; the lines with an arrow are instructions:
//
//           .text
//   f:                                   a label that begins a block: a function's
//           .cfi_startproc
//   ->      movl    (%rdi), %eax
//           testl   %eax, %eax      <-
//           jne     .L3             <-
//   .L3:                                 a label that begins a block: a number behind .L
//   .LBE7:                               for the debugger: begins nothing
//           .section .rodata
//           .long   .L3-f                no code
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace situ::model {

// The mark before an instruction of an asm statement (atomic_marks.h).
enum class atomic_mark : std::uint8_t { none, read, write };

struct assembly_line {
  std::string_view text;               // the whole line
  std::string_view label = {};         // without its colon; empty: the line is no label
  bool is_instruction = false;         // in a section of code
  bool begins_asm_statement = false;   // #APP, in a section of code
  bool changes_section = false;        // the instruction behind it is another section's
  bool is_from_asm_statement = false;  // between #APP and #NO_APP, and not marked
  atomic_mark mark = atomic_mark::none;
  bool has_frame_at_stack_pointer = false;  // the unwinder finds the frame by rsp: a push has to be told to it
};

// Returns the lines of `text`, which has to outlive them. Lines of the assembler's macros and repetitions are no
// instructions. Throws std::runtime_error for Intel syntax, for -fsplit-stack, and for a file of -flto, which has no
// instructions yet.
[[nodiscard]] std::vector<assembly_line> read_lines(std::string_view text);

// Returns whether the label begins a basic block.
[[nodiscard]] bool begins_block(std::string_view label) noexcept;

// An instruction's operand in memory, as text.
struct memory_operand {
  std::string_view text;         // without `*` and without its segment
  bool is_thread_local = false;  // behind %fs:
  bool is_found = false;
  bool is_relaxed = false;  // the linker may replace the access: an entry of the global offset table
};
// Returns the operand in memory of `instruction`, which is known to have one.
[[nodiscard]] memory_operand memory_operand_of(std::string_view instruction) noexcept;
// Returns the label that a jump leads to; empty if it leads through a register or memory.
[[nodiscard]] std::string_view jump_target_of(std::string_view instruction) noexcept;

}  // namespace situ::model
