// expect: T must be trivially destructible
// expect: Store plain data or situ::ptr members
#include <situ/memory/allocate.h>

#include <string>

struct name {
#ifdef SITU_COMPILE_FAIL_CONTROL
  char text[32];
#else
  std::string text;
#endif
};

situ::ptr<name> names() { return situ::allocate<name>(10); }
