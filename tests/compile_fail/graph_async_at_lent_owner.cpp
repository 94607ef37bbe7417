// The call returns before the graph is read: whether it is handed over or lent must be said.
// expect: async_at\(\) returns before the graph is read: hand its owner over with std::move\(x\)
// expect: or lend it with x\.get\(\)
#include <situ/graph.h>
#include <situ/situ.h>

struct node {
  long value;
  node* next;
};

situ::future<long> sum(situ::place there, node* head) {
  situ::owned<node> graph = situ::clone(head);
  const auto work = [](node* n) { return n->value; };
#ifdef SITU_COMPILE_FAIL_CONTROL
  situ::future<long> lent = situ::async_at(there, work, graph.get());
  lent.get();
  situ::future<long> shared = situ::async_at(there, work, graph.adopt(graph.get()));
  return situ::async_at(there, work, std::move(graph));
#else
  return situ::async_at(there, work, graph);
#endif
}
