// expect: captures a reference, a pointer .also `this`., or what is no plain data
// one error
#include <situ/runtime/at.h>

#include <string>

situ::future<std::size_t> ask(situ::place there, int n, std::string text) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  return situ::async_at(there, [n](const std::string& t) { return t.size() + static_cast<std::size_t>(n); }, text);
#else
  return situ::async_at(there, [n, text] { return text.size() + static_cast<std::size_t>(n); });
#endif
}
