// Reads from a program's file, before it is started, what kind of program it is.
#pragma once

#include <cstdint>
#include <string>

// Tells whether Situ's runtime is linked in (src/runtime/runtime.cpp has the mark). Returns false for scripts.
[[nodiscard]] bool is_situ_program(const std::string& file);

// Tells whether it was built for modelled machines (src/model/execution/start.cpp has the mark).
[[nodiscard]] bool is_modelled_program(const std::string& file);

// Returns a sentence that says why LD_PRELOAD cannot bring a library into this program; empty if it can. If the program
// is a script, this is about its interpreter.
[[nodiscard]] std::string why_not_preloaded(const std::string& file);

// Returns a number that is the same for the same build only: made of the GNU build id, or of the contents if there is
// no id. Throws bad_launch if the file cannot be read.
[[nodiscard]] std::uint64_t identity_of_file(const std::string& file);
