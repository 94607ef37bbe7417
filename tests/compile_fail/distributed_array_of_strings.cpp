// expect: elements of a distributed_array are plain data
// expect: distributed_map or dist_object
#include <situ/spread/distributed_array.h>

#include <string>

#ifdef SITU_COMPILE_FAIL_CONTROL
using element = double;
#else
using element = std::string;
#endif

std::size_t count(const situ::distributed_array<element, 1>& names) { return names.size(); }
