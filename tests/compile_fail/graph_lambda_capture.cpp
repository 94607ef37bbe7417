// expect: T = node
// expect: a field without a default constructor .a lambda that captures., cannot travel
#include <situ/graph/clone.h>

inline auto make_adder(int n) {
  return [n](int m) { return n + m; };
}
using adder = decltype(make_adder(0));

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  int wrong = 3;
};
#else
struct node {
  node* next = nullptr;
  adder wrong = make_adder(3);
};
#endif

situ::owned<node> copy(const node& n) { return situ::clone(n); }
