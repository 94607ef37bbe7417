// expect: this argument cannot travel
// expect: std::vector, std::tuple, std::pair, std::optional and std::array of those
#include <situ/runtime/at.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#ifdef SITU_COMPILE_FAIL_CONTROL
using counts = std::vector<std::pair<std::string, int>>;
#else
using counts = std::map<std::string, int>;
#endif

std::size_t ask(situ::place there, const counts& c) {
  return situ::at(there, [](const counts& d) { return d.size(); }, c);
}
