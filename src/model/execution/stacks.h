// The executor's reports about threads: the code in which they are, by the names of functions.
#pragma once

#include <cstdint>
#include <string>

namespace situ::model {

struct thread;

// Returns "namespace::function(int) +0x12", or the address if the program's file has no name for it.
[[nodiscard]] std::string name_of_code(std::uintptr_t address);
// Returns the name without the offset.
[[nodiscard]] std::string function_name(std::uintptr_t address);
// The addresses of a function; empty if there is no function at the address.
struct code_range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};
[[nodiscard]] code_range function_around(std::uintptr_t address);
// A static variable of the program, by its symbol; an empty name if there is none at the address.
struct named_range {
  std::string name;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};
[[nodiscard]] named_range variable_around(std::uintptr_t address);
// Prints one line: number, place, core, time, and the thread's wait.
void print_thread(const thread& t);
// Prints the running stack, a line per frame, without its innermost `skip` frames and those of the executor.
void print_stack(int skip);
// Installs a handler that prints a fault's place, core and time before the process ends.
void install_crash_handler();

}  // namespace situ::model
