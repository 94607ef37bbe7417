// The layouts of C++ types: where their references are.
#include <situ/heap/object_heap.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace {

using situ::ref;

struct leaf {
  double value;
};
struct node {
  std::uint8_t kind;
  ref<node> left;
  std::array<ref<leaf>, 2> leaves;
  struct {
    int n;
    ref<> any;
  } inner;
};
class account {
 public:
  account() = default;
  [[nodiscard]] int balance() const { return balance_; }

 private:
  int balance_ = 0;
  ref<account> next_;
  SITU_DESCRIBE(account, balance_, next_)
};

TEST(heap_layout, lists_references) {
  const situ::heap_layout of_node = situ::detail::make_layout<node>();
  EXPECT_EQ(of_node.references, situ::heap_layout::kind::listed);
  EXPECT_EQ(of_node.words, (std::vector<std::uint32_t>{1, 2, 3, 5}));
  EXPECT_EQ(situ::detail::make_layout<leaf>().references, situ::heap_layout::kind::none);
}

TEST(heap_layout, lists_those_of_described_classes) {
  EXPECT_EQ(situ::detail::make_layout<account>().words, (std::vector<std::uint32_t>{1}));
}

TEST(heap_layout, references_are_small) {
  static_assert(sizeof(ref<node>) == 4);
  EXPECT_FALSE(ref<node>{});
  EXPECT_EQ(ref<>{ref<node>{8}}, ref<>{8});
}

}  // namespace
