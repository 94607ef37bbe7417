// expect: node::wrong
// expect: nothing is known of this field's class: list its fields once with SITU_DESCRIBE
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
  inner wrong;
};
#else
struct node {
  node* next = nullptr;
  inner wrong;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
