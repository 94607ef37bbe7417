// The instructions of an assembler file, decoded: the file is assembled once with a label before each instruction, and
// the bytes behind each label are decoded (Zydis). So what an instruction reads and writes is known from the
// processor's encoding, not from a list of mnemonics.
#pragma once

#include <Zydis/Zydis.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace situ::model {

struct decoded_instruction {
  ZydisDecodedInstruction is;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

// The instructions of a file by their lines; null: the line has none.
using decoded_lines = std::vector<std::unique_ptr<decoded_instruction>>;

// The label before the instruction of line `line`.
[[nodiscard]] std::string mark_of(std::size_t line);

// Reads the object file `file`. Returns, for each of `lines` lines, the instruction behind its label. Throws
// std::runtime_error if the file cannot be read.
[[nodiscard]] decoded_lines read_object(const std::string& file, std::size_t lines);

}  // namespace situ::model
