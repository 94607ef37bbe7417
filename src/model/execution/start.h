// The beginning and the end of a modelled run.
#pragma once

namespace situ::model {

// Writes the report and ends the process, after flushing the program's buffers.
[[noreturn]] void host_exit_with_report(int code);

// Prints the coherence errors that were found, if coherence is checked.
void print_mistakes();

}  // namespace situ::model
