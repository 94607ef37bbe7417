// expect: !std::is_void_v
#include <situ/memory/ptr.h>

#include <cstddef>

#ifdef SITU_COMPILE_FAIL_CONTROL
void skip(situ::ptr<std::byte>& p) { p += 8; }
#else
void skip(situ::ptr<void>& p) { p += 8; }
#endif
