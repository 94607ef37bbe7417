// expect: node::wrong
// expect: char\* cannot travel, since nobody knows how long the text is: make this field a std::string \(of a value\) or a situ::string
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::string wrong;
};
#else
struct node {
  node* next = nullptr;
  const char* wrong = nullptr;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
