// expect: node::wrong
// expect: a pointer to a member cannot travel: make this field situ::transient
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::transient<int node::*> wrong;
};
#else
struct node {
  node* next = nullptr;
  int node::* wrong = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
