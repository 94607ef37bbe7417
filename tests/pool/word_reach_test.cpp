// What `check` tells without types: objects that no root reaches, and lists that come back to their own middle.
#include "pools.h"

#include <array>
#include <cstdint>
#include <vector>

using namespace situ_pool_test;
using situ::pool;
using situ::pool_findings;
using situ::transaction;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct text {
  char bytes[112];
};
struct node {
  long number;
  node* next;
  node* before;
  text* name;
};
struct head {
  node* first;
  long count;
};

class pool_words : public testing::Test {
 protected:
  pool_words() {
    made.transact([&](transaction& t) {
      auto* const all = t.make<head>();
      for (long i = 0; i < 5; ++i) {
        nodes.push_back(t.make<node>(i));
        nodes.back()->name = t.make<text>();
        if (i != 0) nodes[nodes.size() - 2]->next = nodes.back();
      }
      all->first = nodes.front();
      t.set_root("all", all);
    });
  }
  void link(std::size_t from, std::size_t to) {
    made.transact([&](transaction& t) { t.set(nodes[from]->next, nodes[to]); });
  }
  [[nodiscard]] std::string byte_of(const void* object) const {
    return "byte " + std::to_string(reinterpret_cast<std::uintptr_t>(object) - made.info().base);
  }
  folder in;
  pool made{pool::create(in.file(), small)};
  std::vector<node*> nodes;
};

TEST_F(pool_words, a_sound_pool_has_neither) {
  const pool_findings found = made.check();
  EXPECT_EQ(found.blocks, 11);
  EXPECT_EQ(found.unreached_blocks, 0);
  EXPECT_THAT(found.notes, ElementsAre());
}

TEST_F(pool_words, what_nothing_leads_to_is_counted) {
  made.transact([&](transaction& t) { t.set(nodes[1]->next, nullptr); });
  const pool_findings found = made.check();
  EXPECT_EQ(found.unreached_blocks, 6) << "three nodes and their texts";
  EXPECT_EQ(found.unreached_bytes, 3 * (sizeof(node) + sizeof(text)));
  EXPECT_EQ(made.check<head>().unreached_blocks, 6);
  made.transact([](transaction& t) { t.unlink("all"); });
  EXPECT_EQ(made.check().unreached_blocks, 11);
}

TEST_F(pool_words, a_reader_at_other_addresses_counts_the_same) {
  made.transact([&](transaction& t) { t.set(nodes[1]->next, nullptr); });
  const std::string copy = in.file("copy");
  write_bytes(copy, bytes_of(in.file()));
  const pool elsewhere = pool::open(copy, situ::pool_access::read);  // the addresses are taken
  ASSERT_TRUE(elsewhere.info().is_moved);
  EXPECT_EQ(elsewhere.check().unreached_blocks, 6);
  (void)elsewhere.root<head>("all");  // now some of its pages have other pointers
  EXPECT_EQ(elsewhere.check().unreached_blocks, 6);
}

TEST_F(pool_words, a_list_that_comes_back_to_its_middle_is_noted_and_ends_the_walk) {
  link(4, 2);
  for (const pool_findings& found : {made.check(), made.check<head>()}) {
    EXPECT_THAT(found.damage, ElementsAre());
    EXPECT_THAT(found.notes, ElementsAre(AllOf(HasSubstr(byte_of(nodes[2])), HasSubstr(byte_of(nodes[1])),
                                               HasSubstr("comes back to its own middle"))));
  }
}

TEST_F(pool_words, a_list_whose_last_leads_to_itself_is_noted) {
  link(4, 4);
  EXPECT_THAT(made.check().notes, ElementsAre(HasSubstr(byte_of(nodes[4]))));
}

TEST_F(pool_words, a_ring_is_a_ring) {
  link(4, 0);
  EXPECT_THAT(made.check().notes, ElementsAre());
  made.transact([&](transaction& t) { t.set(made.root<head>("all")->first, nodes[3]); });
  EXPECT_THAT(made.check().notes, ElementsAre());
}

TEST_F(pool_words, a_list_that_is_linked_both_ways_is_one) {
  made.transact([&](transaction& t) {
    for (std::size_t i = 1; i < nodes.size(); ++i) t.set(nodes[i]->before, nodes[i - 1]);
  });
  EXPECT_THAT(made.check().notes, ElementsAre());
}

// Within a transaction its objects are nobody's yet.
TEST_F(pool_words, nothing_is_looked_for_within_a_transaction) {
  transaction t{made};
  t.set(nodes[1]->next, nullptr);
  EXPECT_EQ(made.check().unreached_blocks, 0);
}

}  // namespace
