// expect: node::wrong
// expect: a pointer to a union cannot travel, since nobody knows what it holds: use std::variant
#include <situ/graph/clone.h>

#include <variant>

struct node;
union number_or_node {
  int number = 0;
  node* other;
};

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  std::variant<int, node*> wrong;
};
#else
struct node {
  node* next = nullptr;
  number_or_node* wrong = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
