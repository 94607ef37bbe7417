// examples/guide/object_graph.cpp with the foundation alone: nodes travel as records with numbers for pointers, and are
// linked anew where they arrive.
#include <situ/situ.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

struct node {
  long key = 0;
  long visits = 0;
  node* left = nullptr;
  node* right = nullptr;
  node* parent = nullptr;
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

struct record {
  long key, visits;
  long left, right, parent;  // numbers of records, -1 for none
};

std::vector<record> packed(const node* root) {
  std::vector<const node*> found;
  std::unordered_map<const node*, long> numbers{{nullptr, -1}};
  const auto find = [&](const node* n) {
    if (numbers.emplace(n, static_cast<long>(found.size())).second) found.push_back(n);
  };
  find(root);
  for (std::size_t i = 0; i < found.size(); ++i) {
    find(found[i]->left);
    find(found[i]->right);
    find(found[i]->parent);
  }
  std::vector<record> records;
  records.reserve(found.size());
  for (const node* n : found)
    records.push_back({n->key, n->visits, numbers[n->left], numbers[n->right], numbers[n->parent]});
  return records;
}

std::vector<node> unpacked(const std::vector<record>& records) {
  std::vector<node> nodes(records.size());
  const auto at = [&](long number) { return number < 0 ? nullptr : &nodes[number]; };
  for (std::size_t i = 0; i < records.size(); ++i) {
    const record& r = records[i];
    nodes[i] = {r.key, r.visits, at(r.left), at(r.right), at(r.parent)};
  }
  return nodes;
}

struct shelf {
  static inline thread_local std::vector<node> kept;
};

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (argc > 1 && std::string_view{argv[1]} == "--help") {
    if (situ::here().index() == 0) std::puts("by_hand_object_graph [keys, 10000]");
    return 0;
  }
  const long keys = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 10'000;
  if (situ::here().index() == 0) {
    tree sorted;
    for (long i = 0; i < keys; ++i) sorted.insert(i * 7919 % keys);
    for (const situ::place p : situ::places())
      situ::at(p, [](const std::vector<record>& all) { shelf::kept = unpacked(all); }, packed(sorted.root()));
    long sum = 0;
    for (const situ::place p : situ::places())
      sum += situ::at(p, [](long least) { return count_from(&shelf::kept.front(), least); }, keys / 2);
    const std::vector<node> back = unpacked(situ::at(
        situ::place{situ::place_count() - 1},
        [](const std::vector<record>& all) {
          std::vector<node> nodes = unpacked(all);
          return packed(&nodes.front());
        },
        packed(sorted.root())));
    const node& root = back.front();
    std::printf("%ld keys found, %s, %s\n", sum, sum == (keys - keys / 2) * situ::place_count() ? "right" : "wrong",
                root.left == nullptr || root.left->parent == &root ? "linked as before" : "broken");
  }
  situ::barrier();
}
