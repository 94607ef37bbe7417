// Graphs that are offloaded: place 0 calls the last place with a tree of records, where all that it holds is summed up.
// Prints how many sums are those of a clone. Arguments: calls, depth of the tree.
#include <situ/situ.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

struct record {
  std::uint64_t number = 0;
  record* left = nullptr;
  record* right = nullptr;
  record* shared = nullptr;  // of all records: the root
  situ::vector<std::uint32_t> values;
};

record* grow(int depth, std::uint64_t number, record* root) {
  auto* const made = new (situ::allocate_bytes(sizeof(record), {.alignment = alignof(record)}).local()) record;
  made->number = number;
  made->shared = root == nullptr ? made : root;
  for (std::uint32_t i = 0; i < number % 5; ++i) made->values.push_back(static_cast<std::uint32_t>(number * 10 + i));
  if (depth == 0) return made;
  made->left = grow(depth - 1, number * 2, made->shared);
  made->right = grow(depth - 1, number * 2 + 1, made->shared);
  return made;
}

// Of all that a tree holds; 0 where a pointer leads elsewhere than it should.
std::uint64_t sum_of(const record* at, const record* root) {
  if (at == nullptr) return 1;
  if (at->shared != root) return 0;
  std::uint64_t sum = at->number;
  for (const std::uint32_t value : at->values) sum = sum * 31 + value;
  const std::uint64_t left = sum_of(at->left, root);
  const std::uint64_t right = sum_of(at->right, root);
  return left == 0 || right == 0 ? 0 : sum + left * 3 + right * 7;
}

}  // namespace

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 3;
  const int depth = argc > 2 ? std::atoi(argv[2]) : 3;
  situ::runtime rt{argc, argv};
  if (situ::here().index() != 0) return 0;
  situ::set_default_transfer(situ::transfer::offload);
  const situ::place last{situ::place_count() - 1};
  record* const tree = grow(depth, 1, nullptr);
  int right = 0;
  for (int i = 0; i < calls; ++i) {
    tree->number = static_cast<std::uint64_t>(i);
    const auto copy = situ::clone(tree);
    const std::uint64_t sum = situ::at(last, [](record* got) { return sum_of(got, got); }, tree);
    right += sum == sum_of(copy.get(), copy.get()) ? 1 : 0;
  }
  std::printf("%d calls, %d right\n", calls, right);
}
