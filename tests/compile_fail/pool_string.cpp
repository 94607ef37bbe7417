// expect: this type holds memory outside the pool.*situ::pool_string
// one error
#include <situ/pool/pool.h>

#include <string>

struct name {
#ifdef SITU_COMPILE_FAIL_CONTROL
  char text[32];
#else
  std::string text;
#endif
};

name* keep(situ::transaction& t) { return t.make<name>(); }
