// Pointer masks, offsets and what can be described.
#include <situ/graph/describe.h>

#include "graph/random_graph.h"

#include <gmock/gmock.h>

namespace situ {
namespace {

using testing::HasSubstr;

struct pair_of_numbers {
  int a;
  double b;
};
struct list {
  int value;
  list* next;
  list* previous;
};
struct with_everything {
  std::uint64_t number;
  situ::array<double> numbers;
  situ::vector<list*> pointers;
  situ::string text;
  situ::transient<void*> cache;
  list inside;
  ptr<double> reference;
};

class account {
 public:
  account* next() const { return next_; }
  SITU_DESCRIBE(account, balance_, next_)

 private:
  double balance_ = 0;
  account* next_ = nullptr;
};

// In its private section, before and after the fields, also of a template.
class closed {
  SITU_DESCRIBE(closed, next_, number_)
  closed* next_ = nullptr;
  float number_ = 0;
};
template <class T>
class closed_box {
  int number_ = 0;
  T* what_ = nullptr;
  SITU_DESCRIBE(closed_box, number_, what_)
};

struct listed_after {
  listed_after(int) {}
  listed_after* other;
  float number;
};
SITU_DESCRIBE(listed_after, other, number)

struct plain_base {
  int x;
  list* l;
};
struct with_base : plain_base {
  list* m;
};
SITU_DESCRIBE_DERIVED(with_base, (plain_base), m)

TEST(layout, of_data_is_all_zero) {
  EXPECT_EQ(layout<pair_of_numbers>().mask(), "00 00");
  EXPECT_EQ(layout<pair_of_numbers>().size_bytes(), 16U);
}
TEST(layout, marks_pointers) { EXPECT_EQ(layout<list>().mask(), "00 01 01"); }
TEST(layout, marks_arrays_and_transients_and_not_references) {
  //                                           number numbers   pointers  text      cache inside    reference
  EXPECT_EQ(layout<with_everything>().mask(), "00 11 00 00 11 01 00 11 00 00 10 00 01 01 00");
}
TEST(layout, of_a_listed_class) {
  EXPECT_EQ(layout<account>().mask(), "00 01");
  EXPECT_EQ(layout<closed>().mask(), "01 00");
  EXPECT_EQ(layout<closed_box<closed>>().mask(), "00 01");
  EXPECT_EQ(layout<listed_after>().mask(), "01 00");
  EXPECT_EQ(layout<with_base>().mask(), "00 01 01");
}
TEST(layout, of_a_polymorphic_class_starts_with_its_header) {
  EXPECT_EQ(layout<test::shape>().mask(), "00 00 01");
  EXPECT_EQ(layout<test::circle>().mask(), "00 00 01 00 01");
}
TEST(layout, of_choices_marks_what_may_be_there) {
  struct choices {
    std::optional<list*> maybe;
    std::variant<int, list*> either;
    std::pair<list*, int> both;
    std::array<list*, 2> two;
  };
  EXPECT_EQ(layout<choices>().mask(), "01 00 01 00 01 00 01 01");
}
TEST(layout, prints_a_table_with_the_names_of_the_fields) {
  const std::string text = layout<list>().text();
  EXPECT_THAT(text, HasSubstr("24 bytes"));
  EXPECT_THAT(text, HasSubstr("00 01 01"));
  EXPECT_THAT(layout<account>().text(), HasSubstr("balance_"));
#if defined(__GNUC__) && !defined(__clang__)
  EXPECT_THAT(text, HasSubstr("previous"));
#endif
}

TEST(cast, finds_the_type_of_the_object_itself) {
  test::circle c;
  test::group g;
  test::shape plain;
  test::shape* s = &c;
  EXPECT_EQ(cast<test::circle>(s), &c);
  EXPECT_EQ(cast<test::group>(s), nullptr);
  EXPECT_EQ(cast<test::shape>(s), s);
  EXPECT_EQ(cast<test::circle>(&plain), nullptr);
  EXPECT_EQ(cast<test::circle>(static_cast<test::shape*>(nullptr)), nullptr);
  const test::circle copy = c;
  EXPECT_EQ(copy.type_tag(), c.type_tag());
  EXPECT_NE(c.type_tag(), g.type_tag());
}

TEST(deep_fingerprint, tells_types_apart_and_is_repeatable) {
  using detail::deep_fingerprint;
  using detail::descriptor_of;
  EXPECT_EQ(deep_fingerprint(descriptor_of<list>()), deep_fingerprint(descriptor_of<list>()));
  EXPECT_NE(deep_fingerprint(descriptor_of<list>()), deep_fingerprint(descriptor_of<account>()));
  EXPECT_NE(deep_fingerprint(descriptor_of<plain_base>()), deep_fingerprint(descriptor_of<with_base>()));
}

}  // namespace
}  // namespace situ
