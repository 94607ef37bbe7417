// Encodes the compiler options that a program and Situ's libraries must share in the name of a symbol. The library
// defines the symbol for its own options; each file that includes a header of Situ refers to the symbol for the
// program's. If the options differ, the program does not link, and the undefined name says which option differs;
// without this check it would link, and read classes at the wrong offsets. cost: eight bytes of each object file, none
// of it loaded at run time.
#pragma once

// _GLIBCXX_DEBUG (also by way of _GLIBCXX_DEBUG_PEDANTIC) makes containers larger.
#ifdef _GLIBCXX_DEBUG
#define SITU_ABI compile_situ_with__GLIBCXX_DEBUG_or_this_program_without
#else
#define SITU_ABI compile_situ_without__GLIBCXX_DEBUG_or_this_program_with
#endif

namespace situ::detail {

extern const char SITU_ABI;
[[gnu::used]] static const char* const abi = &SITU_ABI;

}  // namespace situ::detail
