// A place, a team index and a count are different things.
// expect: could not convert '3' from 'int' to 'situ::place'
#include <situ/memory/place.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
situ::place target() { return situ::place{3}; }
#else
situ::place target() { return 3; }
#endif
