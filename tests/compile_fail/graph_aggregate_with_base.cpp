// expect: T = node
// expect: an aggregate with a base must list both: SITU_DESCRIBE_DERIVED
#include <situ/graph/clone.h>

struct base {
  int value = 0;
};

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node : base {
  node* next = nullptr;
  SITU_DESCRIBE_DERIVED(node, (base), next)
};
#else
struct node : base {
  node* next = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
