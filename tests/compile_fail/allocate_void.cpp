// expect: to allocate plain bytes use situ::allocate_bytes
#include <situ/memory/allocate.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
situ::ptr<void> buffer() { return situ::allocate_bytes(100); }
#else
situ::ptr<void> buffer() { return situ::allocate<void>(100); }
#endif
