// The registers and flags that an instruction finds in use: whether a hook before it may change rdi and the flags.
//
// The instructions behind it are followed, along both ways of a jump, until one reads the register (it is in use) or
// replaces it (it is free). In doubt it is in use: at calls, returns, indirect jumps, and after 64 instructions.
//
//     hook here            rdi                        flags
//     movq (%rsi), %rax
//     cmpq %rax, %rbx                                 replaced: free
//     je .L4
//     movl $1, %edi        replaced: free only if .L4 replaces it as well
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/assembly/assembly_text.h"
#include "model/assembly/decoded_object.h"

namespace situ::model {

class free_state {
 public:
  // Both have to outlive this object.
  free_state(const std::vector<assembly_line>& lines, const decoded_lines& decoded);

  [[nodiscard]] bool is_rdi_free(std::size_t line) const;
  [[nodiscard]] bool are_flags_free(std::size_t line) const;

 private:
  struct search {
    bool of_flags;
    int left;  // instructions that may still be looked at
  };
  // Returns whether it is free before `line`; `flags`: those that are not replaced yet.
  [[nodiscard]] bool is_free(std::size_t line, unsigned flags, search& with) const;

  const std::vector<assembly_line>& lines_;
  const decoded_lines& decoded_;
  std::unordered_map<std::string_view, std::size_t> labels_;
};

}  // namespace situ::model
