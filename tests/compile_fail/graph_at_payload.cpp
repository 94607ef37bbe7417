// Taking in a graph may wait, and so cannot go with a payload, whose function must not.
// expect: a call takes object graphs or a situ::payload, not both
#include <situ/graph/at.h>

#include <vector>

struct node {
  int value;
  node* next;
};

#ifdef SITU_COMPILE_FAIL_CONTROL
using numbers = std::vector<int>;
numbers carried(const std::vector<int>& v) { return v; }
#else
using numbers = situ::payload<int>;
numbers carried(const std::vector<int>& v) { return numbers{v}; }
#endif

int ask(situ::place there, node* list, const std::vector<int>& v) {
  return situ::at(there, [](const node* n, const numbers& m) { return n->value + m[0]; }, list, carried(v));
}
