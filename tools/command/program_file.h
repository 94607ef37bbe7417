// What a program's file tells of it, before it is started.
#pragma once

#include <cstdint>
#include <string>

// Whether Situ's runtime is linked in (src/runtime/runtime.cpp has the mark). False for scripts.
[[nodiscard]] bool is_situ_program(const std::string& file);

// Whether it was built for modelled machines (src/model/execution/start.cpp has the mark).
[[nodiscard]] bool is_modelled_program(const std::string& file);

// Why a library cannot be brought into this program by LD_PRELOAD, as a sentence; empty where it can. Of a script: into
// what runs it.
[[nodiscard]] std::string why_not_preloaded(const std::string& file);

// What is the same for the same build, and differs else: of the GNU build id, or of the contents where there is none.
// Throws bad_launch where the file cannot be read.
[[nodiscard]] std::uint64_t identity_of_file(const std::string& file);
