// Graphs that are offloaded: place 0 calls the last place with a tree of records, where all that it holds is summed up.
// Prints how many sums are those of a clone. Arguments: calls, depth of the tree. With more calls than one, and more
// places, then the odd ones: results, calls with large data, to the place itself, in the midst of others, a graph that
// no unit can walk.
#include <situ/graph.h>
#include <situ/situ.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <vector>

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

struct shape : situ::derived<shape> {
  std::uint64_t id = 0;
  SITU_DESCRIBE_DERIVED(shape, (situ::object), id)
};

// How many of the odd calls do as they should.
int odd_calls(record* tree, situ::place last) {
  int right = 0;
  const auto expected = sum_of(tree, tree);
  {
    const situ::owned<record> back = situ::at(last, [](record* got) { return got; }, tree);
    right += sum_of(back.get(), back.get()) == expected ? 1 : 0;
  }
  {  // does not fit a message
    std::vector<std::uint64_t> numbers(20000);
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto sum = situ::at(
        last,
        [](record* got, const std::vector<std::uint64_t>& n) {
          return sum_of(got, got) + std::accumulate(n.begin(), n.end(), std::uint64_t{0});
        },
        tree, numbers);
    right += sum == expected + 20000ULL * 19999 / 2 ? 1 : 0;
  }
  {
    auto here = situ::async_at(situ::here(), [](record* got) { return sum_of(got, got); }, tree);
    right += here.get() == expected ? 1 : 0;
  }
  {  // more than the unit's queue holds, with short calls between, which come after what was sent before them
    std::vector<situ::future<std::uint64_t>> sums;
    std::vector<situ::future<int>> others;
    for (int i = 0; i < 40; ++i) {
      sums.push_back(situ::async_at(last, [](record* got) { return sum_of(got, got); }, tree));
      others.push_back(situ::async_at(last, [](int n) { return n; }, i));
    }
    bool is_right = true;
    for (auto& each : sums) is_right &= each.get() == expected;
    for (int i = 0; i < 40; ++i) is_right &= others[static_cast<std::size_t>(i)].get() == i;
    right += is_right ? 1 : 0;
  }
  {
    const auto words = situ::allocate<std::uint64_t>(2);
    words.local()[0] = 0x0bad'7a60'0bad'7a60;
    try {
      (void)situ::at(last, [](shape* s) { return s->id; }, reinterpret_cast<shape*>(words.local()));
    } catch (const situ::error& e) {  // a remote one, where a unit sends the call: its receiver tells what was found
      right += std::string_view{e.what()}.find("names no") != std::string_view::npos ? 1 : 0;
    }
    situ::deallocate(words);
  }
  return right;
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
  if (situ::place_count() > 1 && calls > 1) std::printf("5 odd calls, %d right\n", odd_calls(tree, last));
}
