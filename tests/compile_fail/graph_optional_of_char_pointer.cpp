// expect: node::wrong
// expect: char\* cannot travel
#include <situ/graph/clone.h>

#include <optional>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  std::optional<situ::string> wrong;
};
#else
struct node {
  node* next = nullptr;
  std::optional<const char*> wrong;
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
