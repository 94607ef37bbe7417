// expect: could not convert .* from 'ptr<const int>' to 'ptr<int>'
#include <situ/memory/ptr.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
situ::ptr<const int> writable(situ::ptr<int> p) { return p; }
#else
situ::ptr<int> writable(situ::ptr<const int> p) { return p; }
#endif
