// What the gdb test of containers, owners, futures and graphs looks at.
#include <situ/graph.h>
#include <situ/situ.h>

#include <stdexcept>

namespace {

struct node {
  int value = 0;
  node* next = nullptr;
  situ::vector<node*> others{};
};

[[gnu::noinline]] void look_here() { asm volatile("" ::: "memory"); }

void look(node* head, const situ::owned<node>& graph) {
  const situ::string text{"some text"};
  const situ::string nothing;
  situ::vector<int> numbers;
  for (const int each : {3, 1, 4}) numbers.push_back(each);
  const situ::future<int> ready = situ::make_ready_future(42);
  const situ::promise<int> promise;
  const situ::future<int> waiting = promise.get_future();
  situ::promise<int> broken;
  const situ::future<int> failed = broken.get_future();
  broken.set_exception(std::make_exception_ptr(std::runtime_error{"on purpose"}));
  const situ::future<int> none;
  look_here();
  static_cast<void>(head->value + graph->value + static_cast<int>(text.size() + nothing.size() + numbers.size()));
  static_cast<void>(ready.is_ready() || waiting.is_ready() || failed.is_ready() || none.is_valid());
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime joined{argc, argv};
  node first{.value = 1};
  node second{.value = 2, .next = &first};
  first.next = &second;
  first.others.push_back(&second);
  first.others.push_back(&first);
  look(&first, situ::clone(&first));
}
