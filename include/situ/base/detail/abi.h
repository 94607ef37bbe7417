// What a program and Situ's libraries have to be compiled alike with, as a name that the linker looks for. The library
// defines the name of the way that it was compiled; each file that includes a header of Situ refers to the name of its
// own. If the two differ, the program does not link, and the undefined name says what differs; without this it would
// link, and read classes at the wrong offsets. cost: eight bytes of each object file, none of it loaded at run time.
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
