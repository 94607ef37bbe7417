// What the executor says of threads: where they stand, by the names of functions.
#pragma once

#include <cstdint>
#include <string>

namespace situ::model {

struct thread;

// "namespace::function(int) +0x12", or the address where the program's file has no name for it.
[[nodiscard]] std::string name_of_code(std::uintptr_t address);
// The same without the place in it.
[[nodiscard]] std::string function_name(std::uintptr_t address);
// Where that function lies; empty where there is none.
struct code_range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};
[[nodiscard]] code_range function_around(std::uintptr_t address);
// One line: number, place, core, time, and what it waits for.
void print_thread(const thread& t);
// The running stack, a line a frame, without its innermost `skip` frames and those of the executor.
void print_stack(int skip);
// Faults name the place, the core and the time before the process ends by them.
void install_crash_handler();

}  // namespace situ::model
