// expect: node::wrong
// expect: a pointer to a function cannot travel: make this field situ::transient
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::transient<int (*)(int)> wrong;
};
#else
struct node {
  node* next = nullptr;
  int (*wrong)(int) = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
