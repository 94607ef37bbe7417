// expect: node::wrong
// expect: a pointer to a class that is only declared cannot travel
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct inner {
  int value = 0;
};
#else
struct inner;
#endif

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  inner* wrong = nullptr;
};
#else
struct node {
  node* next = nullptr;
  inner* wrong = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
