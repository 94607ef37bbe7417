// expect: node::wrong
// expect: a standard container or smart pointer travels in a graph if what it holds travels as a value.*situ::vector
#include <situ/graph/clone.h>

#include <vector>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::vector<node*> wrong;
  std::vector<int> right;
};
#else
struct node {
  node* next = nullptr;
  std::vector<node*> wrong;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
