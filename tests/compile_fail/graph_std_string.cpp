// expect: node::wrong
// expect: a standard container cannot travel in a graph.*make this field a situ::vector, situ::array or situ::string
#include <situ/graph/clone.h>

#include <string>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::string wrong;
};
#else
struct node {
  node* next = nullptr;
  std::string wrong;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
