// cereal as a subject of `situ bench graph`: saved to memory and loaded from it. It knows smart pointers only, and
// follows them by recursion, so all of it runs on a large stack; giving the copies back is not timed.
#include "../graph/forms.h"
#include "../graph/large_stack.h"

#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/vector.hpp>

#include <memory>
#include <sstream>

namespace {
using namespace graph_bench;

struct shared_list {
  std::shared_ptr<shared_list> next;
  std::weak_ptr<shared_list> previous;
  std::uint64_t value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(next, previous, value);
  }
};
struct shared_leaf {
  std::uint64_t value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};
struct shared_tree {
  std::unique_ptr<shared_tree> left;
  std::unique_ptr<shared_tree> right;
  std::uint64_t value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(left, right, value);
  }
};
struct shared_web {
  std::array<std::shared_ptr<shared_web>, 4> links;
  std::uint64_t value = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(links, value);
  }
};

template <class T>
double copy(const T& from, T& to) {
  return timed([&] {
    std::stringstream stream;
    {
      cereal::BinaryOutputArchive out{stream};
      out(from);
    }
    cereal::BinaryInputArchive in{stream};
    in(to);
  });
}

// Without recursion, and without the cycles that would keep nodes alive.
void dismantle(std::shared_ptr<shared_list> at) {
  while (at) at = std::exchange(at->next, nullptr);
}
void dismantle(std::shared_ptr<shared_web> root) {
  std::vector<std::shared_ptr<shared_web>> pending{std::move(root)};
  while (!pending.empty()) {
    const std::shared_ptr<shared_web> at = std::move(pending.back());
    pending.pop_back();
    for (auto& link : at->links)
      if (link) pending.push_back(std::move(link));
  }
}

std::unique_ptr<shared_tree> make_shared_tree(std::size_t n) {
  if (n == 0) return nullptr;
  auto node = std::make_unique<shared_tree>();
  node->left = make_shared_tree((n - 1) / 2);
  node->right = make_shared_tree(n - 1 - (n - 1) / 2);
  return node;
}

void take_form(const sampler& samples, const std::string& form, const std::string& name, std::size_t n) {
  const auto units = static_cast<double>(n);
  if (form == "dlist" || form == "dlist_shuffled") {
    std::vector<list_node> plain(n);
    list_node* const plain_root = make_list(plain.data(), n, form != "dlist");
    std::vector<std::shared_ptr<shared_list>> nodes(n);
    for (auto& node : nodes) node = std::make_shared<shared_list>();
    const std::vector<std::size_t> at = positions(n, form != "dlist");
    for (std::size_t i = 0; i + 1 < n; ++i) {
      nodes[at[i]]->next = nodes[at[i + 1]];
      nodes[at[i + 1]]->previous = nodes[at[i]];
    }
    const std::shared_ptr<shared_list> root = nodes[at[0]];
    nodes.clear();
    samples.take(
        name, units, [=] { keep(walk(plain_root)); },
        [&] {
          std::shared_ptr<shared_list> loaded;
          const double ns = copy(root, loaded);
          dismantle(std::move(loaded));
          return ns;
        });
    dismantle(root);
  } else if (form == "tree") {
    std::vector<tree_node> plain(n);
    tree_node* const plain_root = make_tree(plain.data(), n);
    const std::unique_ptr<shared_tree> root = make_shared_tree(n);
    samples.take(
        name, units, [=] { keep(walk(plain_root)); },
        [&] {
          std::unique_ptr<shared_tree> loaded;
          return copy(root, loaded);
        });
  } else if (form == "random4") {
    std::vector<web_node> plain(n);
    web_node* const plain_root = make_web(plain.data(), n);
    std::vector<std::shared_ptr<shared_web>> nodes(n);
    for (auto& node : nodes) node = std::make_shared<shared_web>();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < 4; ++k)
        nodes[i]->links[k] = nodes[static_cast<std::size_t>(plain[i].links[k] - plain.data())];
    std::vector<web_node*> pending;
    samples.take(
        name, units, [&] { keep(walk(plain_root, pending)); },
        [&] {
          std::shared_ptr<shared_web> loaded;
          const double ns = copy(nodes[0], loaded);
          dismantle(std::move(loaded));
          return ns;
        });
    dismantle(nodes[0]);
  } else if (form == "ptr_array") {
    std::vector<leaf> leaves(n);
    std::vector<leaf*> pointers(n);
    std::vector<std::unique_ptr<shared_leaf>> owned(n);
    for (std::size_t i = 0; i < n; ++i) {
      pointers[i] = &leaves[i];
      owned[i] = std::make_unique<shared_leaf>();
    }
    samples.take(
        name, units, [&] { keep(walk(pointers.data(), n)); },
        [&] {
          std::vector<std::unique_ptr<shared_leaf>> loaded;
          return copy(owned, loaded);
        });
  } else {
    const bool is_flat = form == "flat";
    const std::size_t bytes = is_flat ? n : n * sizeof(double);
    std::vector<char> data(bytes, 1);
    std::vector<char> warm(bytes);
    std::vector<double> numbers(is_flat ? 0 : n);
    samples.take(
        name, static_cast<double>(bytes), [&] { keep(std::memcpy(warm.data(), data.data(), bytes)); },
        [&] {
          std::vector<char> loaded;
          std::vector<double> loaded_numbers;
          return is_flat ? copy(data, loaded) : copy(numbers, loaded_numbers);
        });
  }
}
}  // namespace

int main() { return run_rival("cereal", take_form); }
