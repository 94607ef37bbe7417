// expect: T = node
// expect: nothing is known of this class: list its fields once with SITU_DESCRIBE
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
class node {
 public:
  SITU_DESCRIBE(node, next_)

 private:
  node* next_ = nullptr;
};
#else
class node {
 public:
  node* next() const { return next_; }

 private:
  node* next_ = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
