// What a program's file tells of it, before it is started.
#pragma once

#include <string>

// Whether Situ's runtime is linked in (src/runtime/runtime.cpp has the mark). False for scripts.
[[nodiscard]] bool is_situ_program(const std::string& file);

// Whether it was built for modelled machines (src/model/execution/start.cpp has the mark).
[[nodiscard]] bool is_modelled_program(const std::string& file);

// Why a library cannot be brought into this program by LD_PRELOAD, as a sentence; empty where it can. Of a script: into
// what runs it.
[[nodiscard]] std::string why_not_preloaded(const std::string& file);
