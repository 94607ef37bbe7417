// expect: node::wrong
// expect: a smart pointer cannot travel: make this field a plain pointer.*or situ::transient
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
