// expect: T = node
// expect: a class with virtual functions cannot travel.*derive it from situ::derived instead
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node : situ::derived<node> {
  node* next = nullptr;
  SITU_DESCRIBE_DERIVED(node, (situ::object), next)
};
#else
struct node {
  virtual ~node() = default;
  node* next = nullptr;
  SITU_DESCRIBE(node, next)
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
