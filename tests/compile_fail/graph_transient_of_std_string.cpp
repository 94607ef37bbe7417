// expect: the copy starts with zero bytes, so T must be trivially copyable
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::transient<int> cache;
};
#else
#include <string>
struct node {
  node* next = nullptr;
  situ::transient<std::string> cache;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
