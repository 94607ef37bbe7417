// expect: a root is an object of a class
#include <situ/pool/pool.h>

struct number {
  long value;
};

#ifdef SITU_COMPILE_FAIL_CONTROL
number* find(const situ::pool& in) { return in.root<number>("number"); }
#else
long* find(const situ::pool& in) { return in.root<long>("number"); }
#endif
