// object_graph: a sorted tree of words grows at place 0 and goes to every place, which keeps it and counts in it;
// pointers are ordinary pointers everywhere.
//
//   situ run -n 4 object_graph [words, 10000]
#include <situ/graph.h>
#include <situ/situ.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <utility>

namespace {

struct node {
  std::string word;
  node* left = nullptr;
  node* right = nullptr;
  node* parent = nullptr;  // cycles are no matter
};

void insert(std::deque<node>& tree, std::string word) {
  node* parent = nullptr;
  for (node* at = tree.empty() ? nullptr : &tree.front(); at != nullptr; at = word < at->word ? at->left : at->right)
    parent = at;
  node* const made = &tree.emplace_back(node{.word = std::move(word), .parent = parent});
  if (parent != nullptr) (made->word < parent->word ? parent->left : parent->right) = made;
}

long count_from(const node* n, const std::string& least) {
  if (n == nullptr) return 0;
  return (n->word >= least ? 1 + count_from(n->left, least) : 0) + count_from(n->right, least);
}

thread_local situ::owned<node> kept;

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const long words = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 10'000;
  if (situ::here().index() == 0) {
    std::deque<node> tree;
    for (long i = 0; i < words; ++i) insert(tree, "word " + std::to_string(i * 7919 % words));
    long sum = 0;
    for (const situ::place p : situ::places()) {
      situ::at(p, [](situ::owned<node> all) { kept = std::move(all); }, &tree.front());
      sum += situ::at(p, [](const std::string& least) { return count_from(kept.get(), least); }, "word 5");
    }
    const situ::place last{situ::place_count() - 1};
    const situ::owned<node> back = situ::at(last, [](node* n) { return n; }, &tree.front());
    std::printf("%ld words found, %s, %s\n", sum,
                sum == count_from(&tree.front(), "word 5") * situ::place_count() ? "right" : "wrong",
                back->left == nullptr || back->left->parent == back.get() ? "linked as before" : "broken");
  }
  situ::barrier();
  kept = {};
}
