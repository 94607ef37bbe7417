// What a program was compiled with, as the program itself says: gcc and clang write their command line into the section
// .GCC.command.line where -frecord-gcc-switches (-frecord-command-line) is given.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results.h"

namespace situ::bench {

// Each different command line of the parts of an ELF program (64 bits), reduced to what decides its speed: the
// compiler, -O, -f, -march, -mtune. Empty where the file is no such program or records nothing.
[[nodiscard]] std::vector<std::string> recorded_flags(const std::filesystem::path& program);

// "gcc 12.2.0 -O3 -march=znver4" out of a recorded line; nothing where it has no flag of the kind.
[[nodiscard]] std::string shortened_flags(std::string_view recorded);

// The same as one text, "unknown" where nothing is recorded.
[[nodiscard]] std::string flags_text(const std::filesystem::path& program);

// The terms of a program that was built elsewhere: the flags that it records, and in words what PROGRAM.txt beside it
// says.
[[nodiscard]] subject_terms terms_of_program(const std::filesystem::path& program);

// Those of `ours` that no recorded line has, or implies (-ffast-math, -Ofast), so that a comparison is not at equal
// terms.
[[nodiscard]] std::vector<std::string> missing_flags(const std::vector<std::string>& theirs,
                                                     const std::vector<std::string>& ours);

}  // namespace situ::bench
