// expect: T = node
// expect: list the fields and bases of this class with SITU_DESCRIBE_DERIVED
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node : situ::derived<node> {
  node* next = nullptr;
  SITU_DESCRIBE_DERIVED(node, (situ::object), next)
};
#else
struct node : situ::derived<node> {
  node* next = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
