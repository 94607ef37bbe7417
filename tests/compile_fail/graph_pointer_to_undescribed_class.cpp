// expect: node::wrong
// expect: a pointer to a class of which nothing is known cannot travel: list the fields of that class once with
// SITU_DESCRIBE
#include <situ/graph/clone.h>

class inner {
 public:
#ifdef SITU_COMPILE_FAIL_CONTROL
  SITU_DESCRIBE(inner, next_)
#endif
 private:
  inner* next_ = nullptr;
};

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  inner* wrong = nullptr;
};
#else
struct node {
  node* next = nullptr;
  inner* wrong = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
