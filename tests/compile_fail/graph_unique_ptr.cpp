// expect: node::wrong
// expect: a standard container or smart pointer travels in a graph if what it holds travels as a value.*plain pointer
#include <situ/graph/clone.h>

#include <memory>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  node* wrong = nullptr;
};
#else
struct node {
  node* next = nullptr;
  std::unique_ptr<node> wrong;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
