// expect: node::wrong
// expect: a pointer to numbers cannot travel, since nobody knows how many there are: make this field a situ::array or
// situ::vector
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::array<double> wrong;
};
#else
struct node {
  node* next = nullptr;
  double* wrong = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
