// Beginning and end of a modelled run.
#pragma once

namespace situ::model {

// Writes the report and ends the process: what the program's buffers hold is flushed first.
[[noreturn]] void host_exit_with_report(int code);

// The mistakes of a machine without coherence that have been found, where they are looked for.
void print_mistakes();

}  // namespace situ::model
