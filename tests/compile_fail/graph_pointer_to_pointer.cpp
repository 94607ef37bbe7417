// expect: node::wrong
// expect: a pointer to a pointer cannot travel: make this field a situ::array of pointers
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::array<node*> wrong;
};
#else
struct node {
  node* next = nullptr;
  node** wrong = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
