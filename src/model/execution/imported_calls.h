// The functions of shared libraries that the program calls: they have no hooks, so they take no modelled time. Their
// calls are counted, and the host's time is attributed to them.
//
// The linker gives each such function an entry of the program's global offset table, which the dynamic linker has filled
// before the program begins (-z now). Each entry is replaced by a stub, which counts the call if modelled time passes,
// notes the function, and jumps to it:
//
//   call sin@plt -> jmp *entry -> stub: running == &nobody ? : ++calls, last = 17; jmp sin
//
// Not counted: functions that the executor defines itself, which are no imports any more; those over memory that the
// linker redirects to it (memcpy); operator new and delete, whose malloc and free have their price.
#pragma once

#include <cstdint>
#include <string>

namespace situ::model {

// Replaces the entries. Called once, before modelled time begins.
void count_imported_calls();
// Attributes a sample of the host's time to the imported function that was called last. The handler of samples calls it
// for code outside the program's own file.
void note_imported_sample() noexcept;
// Returns whether the code is a stub.
[[nodiscard]] bool is_import_stub(std::uintptr_t code) noexcept;

// Returns a table of the functions that were called, most calls first: the first eight, and those with a twentieth of
// the host's time or more; the others are a sum. Empty if none was called. `samples`: number of all samples.
[[nodiscard]] std::string imported_text(std::uint64_t samples);
// {"samples", "functions": [{"function", "calls", "percent"}], "others": {"functions", "calls", "percent"}}
[[nodiscard]] std::string imported_json(std::uint64_t samples);

}  // namespace situ::model
