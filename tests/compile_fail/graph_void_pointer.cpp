// expect: node::wrong
// expect: void\* cannot travel, since nobody knows what it points to: make this field situ::transient<void\*>, or a
// pointer to a described class
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::transient<void*> wrong;
};
#else
struct node {
  node* next = nullptr;
  void* wrong = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
