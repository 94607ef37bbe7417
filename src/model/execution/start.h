// The beginning and the end of a modelled run.
#pragma once

#include <string>

namespace situ::model {

// Writes the report and ends the process, after flushing the program's buffers.
[[noreturn]] void host_exit_with_report(int code);

// Ends the run as a kernel ends a process for whose page it has no memory: with the report, and code 137.
[[noreturn]] void end_out_of_memory(const std::string& why);

// Prints the coherence errors that were found, if coherence is checked.
void print_mistakes();

}  // namespace situ::model
