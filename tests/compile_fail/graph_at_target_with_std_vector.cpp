// expect: node::wrong
// expect: a standard container or smart pointer travels in a graph if what it holds travels as a value
#include <situ/graph/at.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
struct node {
  node* next = nullptr;
  situ::vector<int> wrong;
};
#else
#include <vector>
struct node {
  node* next = nullptr;
  std::vector<node*> wrong;
};
#endif

bool ask(situ::place there, node* p) {
  return situ::at(there, [](node* q) { return q != nullptr; }, p);
}
