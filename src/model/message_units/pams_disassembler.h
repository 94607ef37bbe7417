// The disassembler of PAMS: words to a program. Words that are an instruction of the assembly language become it;
// others become `.word`; jumps to an instruction of the program get a label. So the program has the same words, and its
// text assembles to them. situ/model/pams_program.h declares disassemble_pams. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/message_units/pams_encoding.h"

namespace situ::model {

// An instruction at an address, or a word that is none.
struct pams_decoded {
  std::uint32_t address = 0;
  std::uint32_t words = 0;
  std::optional<pams_instruction> instruction;
};
// Decodes the words one after the other, from the first one on.
[[nodiscard]] std::vector<pams_decoded> decode_pams_program(std::span<const std::uint32_t> words);

}  // namespace situ::model
