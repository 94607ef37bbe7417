// A place joins its job once.
// expect: use of deleted function 'situ::runtime::runtime\(const situ::runtime&\)'
#include <situ/runtime/runtime.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
void keep(situ::runtime& rt) { [[maybe_unused]] situ::runtime& same = rt; }
#else
void keep(situ::runtime& rt) { [[maybe_unused]] situ::runtime same = rt; }
#endif
