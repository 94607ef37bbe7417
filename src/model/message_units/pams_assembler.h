// The assembler of PAMS: text to a program, with all errors at once. docs/formats/pams.md has the language; the words
// are made by pams_program. situ/model/pams_program.h has assemble_pams, which throws instead. Thread-safe.
#pragma once

#include <situ/model/pams_program.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace situ::model {

// A place of the text at which something is wrong. Lines and columns count from 1, columns in bytes.
struct pams_text_error {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string message;
};

struct pams_assembly {
  static constexpr std::size_t most_errors = 20;

  pams_program program;                 // complete if there are no errors
  std::vector<pams_text_error> errors;  // the first ones, by line
  std::size_t more_errors = 0;          // that are left out
};

[[nodiscard]] pams_assembly assemble_pams_text(std::string_view text);

}  // namespace situ::model
