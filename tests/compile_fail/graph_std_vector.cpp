// expect: node::wrong
// expect: a standard container cannot travel in a graph.*make this field a situ::vector, situ::array or situ::string
#include <situ/graph/clone.h>

#include <vector>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::vector<int> wrong;
};
#else
struct node {
  node* next = nullptr;
  std::vector<int> wrong;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
