// examples/guide/object_graph.cpp with the foundation alone: nodes travel as bytes with numbers for pointers, and are
// linked anew where they arrive.
#include <situ/situ.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

struct node {
  std::string word;
  node* left = nullptr;
  node* right = nullptr;
  node* parent = nullptr;
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

struct record {              // of a node; its word follows
  long left, right, parent;  // numbers of nodes, -1 for none
  std::size_t letters;
};

std::vector<char> packed(const node* root) {
  std::vector<const node*> found;
  std::unordered_map<const node*, long> numbers{{nullptr, -1}};
  const auto number_of = [&](const node* n) {
    const auto [at, is_new] = numbers.emplace(n, static_cast<long>(found.size()));
    if (is_new) found.push_back(n);
    return at->second;
  };
  number_of(root);
  std::vector<char> bytes;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const node& n = *found[i];
    const record r{number_of(n.left), number_of(n.right), number_of(n.parent), n.word.size()};
    bytes.insert(bytes.end(), reinterpret_cast<const char*>(&r), reinterpret_cast<const char*>(&r + 1));
    bytes.insert(bytes.end(), n.word.begin(), n.word.end());
  }
  return bytes;
}

std::deque<node> unpacked(const std::vector<char>& bytes) {
  std::deque<node> nodes;
  const auto node_at = [&](long number) -> node* {
    if (number < 0) return nullptr;
    if (nodes.size() <= static_cast<std::size_t>(number)) nodes.resize(static_cast<std::size_t>(number) + 1);
    return &nodes[static_cast<std::size_t>(number)];
  };
  std::size_t at = 0;
  for (long number = 0; at < bytes.size(); ++number) {
    record r;
    std::memcpy(&r, &bytes[at], sizeof r);
    at += sizeof r + r.letters;
    *node_at(number) = {{&bytes[at] - r.letters, r.letters}, node_at(r.left), node_at(r.right), node_at(r.parent)};
  }
  return nodes;
}

thread_local std::deque<node> kept;

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const long words = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 10'000;
  if (situ::here().index() == 0) {
    std::deque<node> tree;
    for (long i = 0; i < words; ++i) insert(tree, "word " + std::to_string(i * 7919 % words));
    long sum = 0;
    for (const situ::place p : situ::places()) {
      situ::at(p, [](const std::vector<char>& bytes) { kept = unpacked(bytes); }, packed(&tree.front()));
      sum += situ::at(p, [](char least) { return count_from(&kept.front(), {'w', 'o', 'r', 'd', ' ', least}); }, '5');
    }
    const situ::place last{situ::place_count() - 1};
    const std::deque<node> back = unpacked(situ::at(
        last,
        [](const std::vector<char>& bytes) {
          const std::deque<node> nodes = unpacked(bytes);
          return packed(&nodes.front());
        },
        packed(&tree.front())));
    const node& root = back.front();
    std::printf("%ld words found, %s, %s\n", sum,
                sum == count_from(&tree.front(), "word 5") * situ::place_count() ? "right" : "wrong",
                root.left == nullptr || root.left->parent == &root ? "linked as before" : "broken");
  }
  situ::barrier();
}
