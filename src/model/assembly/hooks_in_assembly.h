// Puts calls of hooks into an assembler file: one at the beginning of each basic block, and one before each instruction
// that accesses memory, once for each access. The instructions stay those that the compiler has chosen.
//
// The hooks (execution/assembly_hooks.cpp) keep all registers and flags, apart from rdi, which takes the address, and
// the flags. If the program needs rdi, it is pushed around the call; if it needs the flags, a hook is called that
// keeps them, whose name ends in _f.
//
//     addq (%rsi,%rax,8), %rcx       if the flags and rdi are free:    leaq (%rsi,%rax,8), %rdi
//                                                                      call situ_model_read8
//                                                                      addq (%rsi,%rax,8), %rcx
//     movq %rax, 16(%rsp)            if rdi is not:                    pushq %rdi
//                                                                      leaq 8+16(%rsp), %rdi
//                                                                      call situ_model_write8
//                                                                      popq %rdi
//                                                                      movq %rax, 16(%rsp)
//
// A call and a push are a write below the stack pointer, a return and a pop a read; an instruction that changes memory
// is a read and a write, by one hook (modify). The program has to be compiled with -mno-red-zone, as the calls use the
// stack.
//
// Without hooks, and counted in the result: accesses of gathers and scatters, of comparing and scanning string
// instructions, and of those that save a state. Also without: asm statements, and what the linker may replace (an entry
// of the global offset table).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "model/assembly/assembly_text.h"
#include "model/assembly/decoded_object.h"

namespace situ::model {

struct hooked_assembly {
  std::string text;
  std::map<std::string, std::size_t> unseen;  // instructions whose accesses have no hook, by their mnemonics
};

// cost: linear in the file; an instruction looks at up to 128 behind it.
[[nodiscard]] hooked_assembly add_hooks(const std::vector<assembly_line>& lines, const decoded_lines& decoded);

// Returns the file with a label before each instruction, for read_object().
[[nodiscard]] std::string add_marks(const std::vector<assembly_line>& lines);

}  // namespace situ::model
