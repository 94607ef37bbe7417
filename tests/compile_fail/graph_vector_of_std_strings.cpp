// expect: node::wrong
// expect: a standard container cannot travel in a graph
#include <situ/graph/clone.h>

#include <string>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::vector<situ::string> wrong;
};
#else
struct node {
  node* next = nullptr;
  situ::vector<std::string> wrong;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
