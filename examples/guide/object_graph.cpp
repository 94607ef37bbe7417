// object_graph: a sorted tree grows at place 0, visits every other place, which keeps its part and sends back what it
// has found; pointers are ordinary pointers everywhere.
//
//   situ run -n 4 object_graph [keys]
#include <situ/situ.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

namespace {

struct node {
  long key = 0;
  long visits = 0;
  node* left = nullptr;
  node* right = nullptr;
  node* parent = nullptr;  // cycles are no matter
};

class tree {
 public:
  void insert(long key) {
    node** at = &root_;
    node* parent = nullptr;
    while (*at != nullptr) {
      parent = *at;
      at = key < parent->key ? &parent->left : &parent->right;
    }
    nodes_.push_back(std::make_unique<node>(node{key, 0, nullptr, nullptr, parent}));
    *at = nodes_.back().get();
  }
  [[nodiscard]] node* root() const { return root_; }

 private:
  std::vector<std::unique_ptr<node>> nodes_;
  node* root_ = nullptr;
};

// The keys from `least` on, in order; each node that is seen is marked.
long count_from(node* n, long least) {
  if (n == nullptr) return 0;
  ++n->visits;
  return (n->key >= least ? 1 + count_from(n->left, least) : 0) + count_from(n->right, least);
}

struct shelf {
  static inline thread_local situ::owned<node> kept;
};

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (argc > 1 && std::string_view{argv[1]} == "--help") {
    if (situ::here().index() == 0) std::puts("object_graph [keys, 10000]");
    return 0;
  }
  const long keys = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 10'000;
  if (situ::here().index() == 0) {
    tree sorted;
    for (long i = 0; i < keys; ++i) sorted.insert(i * 7919 % keys);
    for (const situ::place p : situ::places())
      situ::at(p, [](situ::owned<node> all) { shelf::kept = std::move(all); }, sorted.root());
    long sum = 0;
    for (const situ::place p : situ::places())
      sum += situ::at(p, [](long least) { return count_from(shelf::kept.get(), least); }, keys / 2);
    const situ::owned<node> back =
        situ::at(situ::place{situ::place_count() - 1}, [](node* n) { return n; }, sorted.root());
    std::printf("%ld keys found, %s, %s\n", sum, sum == (keys - keys / 2) * situ::place_count() ? "right" : "wrong",
                back->left == nullptr || back->left->parent == back.get() ? "linked as before" : "broken");
  }
  situ::barrier();
  shelf::kept = {};
}
