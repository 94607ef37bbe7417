// A payload is gone once the function has returned; a future is waited for after that.
// expect: cannot return a future, since the payload is gone
#include <situ/runtime/at.h>

#include <vector>

#ifdef SITU_COMPILE_FAIL_CONTROL
using result = std::size_t;
result made(std::size_t n) { return n; }
#else
using result = situ::future<std::size_t>;
result made(std::size_t n) {
  return situ::async([](std::size_t m) { return m; }, n);
}
#endif

auto ask(situ::place there, const std::vector<int>& numbers) {
  return situ::at(there, [](situ::payload<int> values) { return made(values.size()); }, situ::payload{numbers});
}
