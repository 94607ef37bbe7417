// The values that people hold, as arguments and results of calls, in collectives and futures. What their bytes look
// like, and what becomes of false ones: tests/fuzz/hostile_wire_test.cpp.
#include "support/places.h"

#include <situ/situ.h>

#include <bitset>
#include <complex>
#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

namespace situ {
namespace {

class values : public test::on_places {};

enum class colour : std::uint8_t { red, green };

struct customer {
  std::string name;
  std::vector<int> orders;
  std::map<std::string, std::vector<double>> prices;
  std::filesystem::path folder;
  std::optional<std::string> note;
  std::variant<int, std::string> key;
  std::bitset<70> flags;
  std::complex<double> phase;
  std::chrono::milliseconds patience{};
  std::chrono::system_clock::time_point since;
  colour favourite = colour::red;
  friend bool operator==(const customer&, const customer&) = default;
};
customer some_customer() {
  return {"Ada Lovelace, with a name that is longer than any small string",
          {1, 2, 3},
          {{"tea", {1.5, 2.5}}, {"milk", {}}},
          "/a/folder",
          "a note",
          "key",
          std::bitset<70>{5},
          {1, -1},
          std::chrono::milliseconds{7},
          std::chrono::system_clock::time_point{std::chrono::seconds{99}},
          colour::green};
}

// Its fields are private and so is the list of them.
class account {
  std::string owner_;
  long balance_ = 0;
  SITU_DESCRIBE(account, owner_, balance_)
 public:
  account() = default;
  account(std::string owner, long balance) : owner_{std::move(owner)}, balance_{balance} {}
  [[nodiscard]] long balance() const { return balance_; }
  friend bool operator==(const account&, const account&) = default;
};

// Moves, and is not copied.
struct tree {
  int value = 0;
  std::vector<std::unique_ptr<tree>> children;
};
tree tree_of(int levels) {
  tree made{levels, {}};
  for (int i = 0; i < 2 && levels > 0; ++i) made.children.push_back(std::make_unique<tree>(tree_of(levels - 1)));
  return made;
}
int sum_of(const tree& t) {
  int sum = t.value;
  for (const auto& child : t.children) sum += sum_of(*child);
  return sum;
}

template <class T>
void expect_travels(const T& value) {
  for (const place p : places()) {
    EXPECT_EQ(at(p, [](T v) { return v; }, value), value);
    EXPECT_EQ(at(p, [](const T& v) { return v; }, value), value);
    EXPECT_EQ(async_at(p, [](T&& v) { return std::move(v); }, value).get(), value);
  }
  EXPECT_EQ(broadcast(value), value);
  EXPECT_EQ(all_gather(value), std::vector<T>(place_count(), value));
}

TEST_P(values, travel_in_every_way) {
  run([] {
    expect_travels(some_customer());
    expect_travels(std::vector<customer>(3, some_customer()));
    expect_travels(account{"me", 3});
    expect_travels(std::vector<account>(2, account{"you", 4}));
    expect_travels(std::map<int, account>{{1, {"a", 1}}, {2, {"b", 2}}});
    expect_travels(std::multimap<std::string, int>{{"a", 1}, {"a", 2}});
    expect_travels(std::set<std::string>{"x", "y"});
    expect_travels(std::unordered_map<std::string, std::vector<int>>{{"a", {1}}, {"b", {}}});
    expect_travels(std::deque<std::string>{"p", "", "q"});
    expect_travels(std::list<std::pair<int, std::string>>{{1, "one"}});
    expect_travels(std::filesystem::path{"/tmp/x"});
    expect_travels(std::u32string(U"wide"));
  });
}

// An aggregate that would travel by itself, with a form of its own: one byte, of whole degrees.
struct degrees {
  double value;
  std::string from;
};

}  // namespace
template <>
struct wire<degrees> {
  static std::size_t size(const degrees&) noexcept { return 1; }
  static void write(wire_writer& writer, const degrees& d) noexcept {
    const auto whole = static_cast<std::int8_t>(d.value);
    writer.write(&whole, 1);
  }
  static degrees read(wire_reader& reader) {
    std::int8_t whole = 0;
    reader.read(&whole, 1);
    return {static_cast<double>(whole), "a wire of its own"};
  }
};
namespace {

struct reading {
  int station;
  std::vector<degrees> all;
};

TEST_P(values, of_aggregates_with_a_form_of_their_own_take_that) {
  if (GetParam().places == 1) return;  // a call to its own place copies
  run([] {
    const place next{(here().index() + 1) % place_count()};
    const auto look = [](const degrees& d) { return d.from + " " + std::to_string(static_cast<int>(d.value * 10)); };
    EXPECT_EQ(at(next, look, degrees{21.7, "here"}), "a wire of its own 210");
    const reading got = at(next, [](const reading& r) { return r; }, reading{4, {{1.5, ""}, {-2.5, ""}}});
    EXPECT_EQ(got.all[1].value, -2);
    EXPECT_EQ(got.all[0].from, "a wire of its own");
    const std::vector<degrees> everybodys = all_gather(degrees{0.5 + here().index(), ""});
    for (std::uint32_t p = 0; p < place_count(); ++p) {
      EXPECT_EQ(everybodys[p].value, p == here().index() ? 0.5 + p : p);  // what does not travel is as it was
    }
  });
}

TEST_P(values, that_are_large_travel) {
  run([] {
    std::map<std::string, std::vector<int>> table;
    for (int i = 0; i < test::or_modelled(5000, 300); ++i)
      table["key " + std::to_string(i)] = std::vector<int>(static_cast<std::size_t>(i % 20), i);
    expect_travels(table);
    expect_travels(
        std::pair<std::string, std::vector<double>>{"odd", std::vector<double>(test::or_modelled(100'000, 5000), 0.5)});
  });
}

// From the second large message on each is written without being measured, into as much room as the one before took.
TEST_P(values, of_uneven_elements_travel_whatever_the_size_before) {
  using words = std::map<std::string, std::vector<std::string>>;
  static_assert(detail::sent_unmeasured<words> && detail::sent_unmeasured<int, words> &&
                detail::sent_unmeasured<std::vector<customer>>);
  static_assert(!detail::sent_unmeasured<std::vector<double>, std::string>);                   // measured at once
  static_assert(!detail::sent_unmeasured<std::vector<std::shared_ptr<int>>>);                  // measuring finds errors
  static_assert(!detail::sent_unmeasured<std::vector<std::optional<std::array<int, 1000>>>>);  // too large to lose
  run([] {
    const auto of_size = [](std::size_t n) {
      words made;
      for (std::size_t i = 0; i < n; ++i) made[std::to_string(i)].assign(i % 5, std::string(i % 40, 'x'));
      return made;
    };
    for (const std::size_t usual : {1, 900, 900, 3000, 60, 0, 1500, 4000, 1}) {
      const std::size_t n = test::or_modelled(usual, (usual + 9) / 10);
      const words sent = of_size(n);
      for (const place p : {here(), place{(here().index() + 1) % place_count()}}) {
        EXPECT_EQ(at(p, [](int, words w) { return w; }, 1, sent), sent);
        EXPECT_EQ(async_at(
                      p, [n](const words& w) { return std::pair{w.size() == n, w}; }, sent)
                      .get(),
                  (std::pair{true, sent}));
      }
    }
  });
}

TEST_P(values, that_cannot_be_copied_travel) {
  run([] {
    const tree sent = tree_of(4);
    for (const place p : places()) {
      EXPECT_EQ(at(p, [](const tree& t) { return sum_of(t); }, sent), sum_of(sent));
      EXPECT_EQ(sum_of(at(p, [](tree t) { return t; }, sent)), sum_of(sent));
      EXPECT_EQ(sum_of(async_at(p, [](tree t) { return t; }, tree_of(3)).get()), sum_of(tree_of(3)));
      EXPECT_EQ(*at(p, [](std::unique_ptr<int> n) { return n; }, std::make_unique<int>(5)), 5);
    }
  });
}

struct person {
  std::string name;
  std::shared_ptr<person> friend_of;
  std::weak_ptr<person> parent;
  std::vector<std::shared_ptr<person>> children;
};
TEST_P(values, that_are_shared_stay_shared) {
  run([] {
    const auto ada = std::make_shared<person>(person{"Ada", nullptr, {}, {}});
    const auto child = std::make_shared<person>(person{"child", nullptr, ada, {}});
    const auto other = std::make_shared<person>(person{"other", nullptr, ada, {}});
    ada->children = {child, other, child};
    child->friend_of = other;
    const auto is_whole = [](const std::shared_ptr<person>& a) {
      return a->children.size() == 3 && a->children[0] == a->children[2] && a->children[0] != a->children[1] &&
             a->children[0]->friend_of == a->children[1] && a->children[0]->parent.lock() == a &&
             a->children[1]->parent.lock() == a && !a->parent.lock();
    };
    ASSERT_TRUE(is_whole(ada));
    for (const place p : places()) {  // a place of its own gets a copy, too
      const auto look = bind_values(
          [](const std::shared_ptr<person>& bound, std::shared_ptr<person> a, const std::shared_ptr<const person>& c,
             const std::weak_ptr<person>& w, std::shared_ptr<int> null) {
            const bool is_same = a->children[0] == c && w.lock() == a->children[1] && !null && bound != a;
            a->name += " there";
            bound->children.clear();
            return is_same ? a : nullptr;
          },
          ada);
      const std::shared_ptr<const person> as_constant = child;
      const std::shared_ptr<person> back =
          at(p, look, ada, as_constant, std::weak_ptr<person>{other}, std::shared_ptr<int>{});
      ASSERT_TRUE(back);
      EXPECT_TRUE(is_whole(back) && back != ada);
      EXPECT_EQ(back->name + ada->name, "Ada thereAda");
    }
    EXPECT_TRUE(is_whole(broadcast(here().index() == 0 ? ada : nullptr)));
    for (const std::shared_ptr<person>& each : all_gather(ada)) EXPECT_TRUE(is_whole(each));
  });
}

TEST_P(values, are_combined_by_reductions) {
  run([] {
    const auto merge = [](std::map<std::string, int> a, const std::map<std::string, int>& b) {
      for (const auto& [key, count] : b) a[key] += count;
      return a;
    };
    const std::map<std::string, int> mine{{"all", 1}, {"place " + std::to_string(here().index()), 1}};
    const std::map<std::string, int> all = all_reduce(mine, merge);
    EXPECT_EQ(all.at("all"), static_cast<int>(place_count()));
    EXPECT_EQ(all.size(), place_count() + 1);
  });
}

template <class Body>
error thrown_by(Body body) {
  try {
    body();
  } catch (const error& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was thrown";
  return error{errc::not_supported, "nothing was thrown"};
}

struct chain {
  std::unique_ptr<chain> next;
};
struct branch {
  std::vector<branch> children;
  std::optional<std::pair<std::string, std::vector<branch>>> more;
};

// So many classes, each within the one before.
std::unique_ptr<chain> make_chain(int levels) {
  std::unique_ptr<chain> list;
  for (int i = 0; i < levels; ++i) list = std::make_unique<chain>(chain{std::move(list)});
  return list;
}
void end_chain(std::unique_ptr<chain> list) {
  while (list) list = std::move(list->next);
}

TEST_P(values, too_deep_are_an_error_at_the_caller) {
  run([] {
    const place other{(here().index() + 1) % place_count()};
    if (other == here()) return;  // the body is given the value itself
    const auto count = [](const chain& list) {
      int levels = 0;
      for (const chain* at = &list; at != nullptr; at = at->next.get()) ++levels;
      return levels;
    };
    async([&] {  // on a stack of 256 KiB
      std::unique_ptr<chain> list = make_chain(100);
      EXPECT_EQ(at(other, count, *list), 100);
      for (const int levels : {101, 150, 50'000}) {
        end_chain(std::move(list));
        list = make_chain(levels);
        const error e = thrown_by([&] { at(other, count, *list); });
        EXPECT_EQ(e.code(), errc::bad_argument) << levels << ": " << e.what();
        EXPECT_NE(e.message().find("chain"), std::string_view::npos) << e.what();
      }
      end_chain(std::move(list));
      branch deep;
      for (int i = 0; i < 60; ++i) {
        deep = branch{{std::move(deep)}, {}};
        std::pair<std::string, std::vector<branch>> more;
        more.second.push_back(std::move(deep));
        deep = branch{{}, std::move(more)};
      }
      EXPECT_THROW(at(other, [](const branch&) {}, deep), error);
      EXPECT_EQ(at(other, count, *make_chain(100)), 100);  // a refusal leaves no level behind
    })
        .get();
  });
}

TEST(value_bytes, that_announce_too_deep_a_value_are_refused) {
  const auto read = [](std::size_t levels) {
    std::vector<std::byte> bytes(levels, std::byte{1});  // each says that another follows
    bytes.back() = std::byte{0};
    wire_reader reader{bytes.data(), bytes.size()};
    return wire<chain>::read(reader);
  };
  int levels = 0;
  const chain list = read(100);
  for (const chain* at = &list; at != nullptr; at = at->next.get()) ++levels;
  EXPECT_EQ(levels, 100);
  EXPECT_EQ(thrown_by([&] { (void)read(101); }).code(), errc::bad_message);
}

INSTANTIATE_TEST_SUITE_P(layouts, values, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
