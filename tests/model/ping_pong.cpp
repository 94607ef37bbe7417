// Calls that go to the last place and come back, by value and with a ring of nodes. Prints the sum of the answers.
#include <situ/graph.h>
#include <situ/situ.h>

#include <cstdio>
#include <cstdlib>

namespace {

struct node {
  long value;
  node* next;
};

long call_with_values(situ::place last, int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) sum += situ::at(last, [](int x) { return x + 1; }, i);
  return sum;
}

long call_with_ring(situ::place last, int rounds, int nodes) {
  const situ::ptr<node> ring = situ::allocate<node>(static_cast<std::size_t>(nodes));
  node* const first = ring.local();
  for (int i = 0; i < nodes; ++i) first[i] = {i, &first[(i + 1) % nodes]};
  long sum = 0;
  for (int i = 0; i < rounds; ++i)
    sum += situ::at(
        last,
        [](node* at) {
          long all = 0;
          const node* const begin = at;
          do {
            all += at->value;
            at = at->next;
          } while (at != begin);
          return all;
        },
        first);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
  const int nodes = argc > 2 ? std::atoi(argv[2]) : 0;
  situ::runtime rt{argc, argv};
  if (situ::here().index() != 0) return 0;
  const situ::place last{situ::place_count() - 1};
  std::printf("%ld\n", nodes == 0 ? call_with_values(last, rounds) : call_with_ring(last, rounds, nodes));
}
