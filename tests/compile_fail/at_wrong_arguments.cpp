// expect: the function cannot be called with these arguments
#include <situ/runtime/at.h>

#include <string>

std::size_t length(const std::string& text) { return text.size(); }

std::size_t ask(situ::place there) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  return situ::at(there, length, "text");
#else
  return situ::at(there, length, 4.5);
#endif
}
