// expect: T = node
// expect: a reference, or a field without a default constructor .a lambda that captures., cannot travel: make it a
// pointer to a described
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  int value = 0;
  node* other;
};
#else
struct node {
  int value = 0;
  node& other;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
