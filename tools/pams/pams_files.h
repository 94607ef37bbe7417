// Program files of `situ pams`.
#pragma once

#include <situ/model/pams_program.h>

#include <cstdint>
#include <string>
#include <vector>

namespace situ_pams {

// Returns a file's text; "-" is standard input. Throws bad_file.
[[nodiscard]] std::string text_of(const std::string& path);
// Returns the file's name for messages.
[[nodiscard]] std::string name_of(const std::string& path);
// Assembles a file. Prints its errors as compilers print them, FILE:LINE:COLUMN first, so that editors find the place,
// and throws CLI::RuntimeError.
[[nodiscard]] situ::model::pams_program assembled(const std::string& path);
// Returns the words of a program: of what `situ pams asm` has written (.hex, .json), or of a text that is assembled.
[[nodiscard]] std::vector<std::uint32_t> program_words(const std::string& path);

}  // namespace situ_pams
