// Objects that hold values: standard containers, strings, smart pointers. Copies are held against what was copied, as
// text in which numbers stand for addresses.
#include "graph/graph_message.h"
#include "support/places.h"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace situ {
namespace {

using test::message_bytes;
using test::message_of;
using test::read_one;
using testing::HasSubstr;

struct entry {
  std::string text;
  int number = 0;
};
struct item {
  item* next = nullptr;
  item* other = nullptr;
  std::string name;
  std::map<std::string, std::vector<int>> table;
  std::optional<std::string> note;
  std::variant<int, std::string, item*> either;
  situ::vector<entry> entries;
  situ::vector<std::string> lines;
  std::array<std::set<int>, 2> sets;
  std::shared_ptr<const std::vector<int>> shared;
  std::weak_ptr<const std::vector<int>> seen;
  std::pair<char, std::unique_ptr<int>> alone{};
  entry part;
};

class items {
 public:
  explicit items(std::uint64_t seed) : random_{seed} {}
  item* make(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) all_.push_back(std::make_unique<item>());
    for (std::size_t i = 0; i < count; ++i) fill(*all_[i], i + 1 < count ? all_[i + 1].get() : any());
    return all_[0].get();
  }

 private:
  item* any() { return random_() % 4 == 0 ? nullptr : all_[random_() % all_.size()].get(); }
  std::string text() { return std::string(random_() % 30, static_cast<char>('a' + random_() % 26)); }
  int number() { return static_cast<int>(random_() % 1000); }
  void fill(item& i, item* next) {
    i.next = next;
    i.other = any();
    i.name = text();
    for (std::uint64_t n = random_() % 4; n > 0; --n) i.table[text()] = std::vector<int>(random_() % 5, number());
    if (random_() % 2 == 0) i.note = text();
    switch (random_() % 3) {
      case 0: i.either = number(); break;
      case 1: i.either = text(); break;
      default: i.either = any();
    }
    for (std::uint64_t n = random_() % 4; n > 0; --n) i.entries.push_back({text(), number()});
    for (std::uint64_t n = random_() % 4; n > 0; --n) i.lines.push_back(text());
    for (std::uint64_t n = random_() % 4; n > 0; --n) i.sets[n % 2].insert(number());
    if (random_() % 4 != 0)
      i.shared = random_() % 2 == 0 ? all_[random_() % all_.size()]->shared
                                    : std::make_shared<std::vector<int>>(random_() % 3, number());
    i.seen = all_[random_() % all_.size()]->shared;
    if (random_() % 2 == 0) i.alone = {'x', std::make_unique<int>(number())};
    i.part = {text(), number()};
  }

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<item>> all_;
};

// Of all that can be reached.
class description {
 public:
  [[nodiscard]] std::string of(const item* root) {
    (void)number_of(root);
    for (std::size_t i = 0; i < met_.size(); ++i) tell(*met_[i]);
    return text_;
  }
  [[nodiscard]] const std::vector<const item*>& all() const noexcept { return met_; }

 private:
  std::string number_of(const item* i) {
    if (i == nullptr) return "- ";
    const auto found = std::find(met_.begin(), met_.end(), i);
    const auto number = found - met_.begin();
    if (found == met_.end()) met_.push_back(i);
    return std::to_string(number) + " ";
  }
  std::string number_of(const std::shared_ptr<const std::vector<int>>& numbers) {
    if (!numbers) return "- ";
    const auto found = std::find(shared_.begin(), shared_.end(), numbers);
    const auto number = found - shared_.begin();
    if (found == shared_.end()) shared_.push_back(numbers);
    return std::to_string(number) + " of " + std::to_string(numbers->size()) + " ";
  }
  void tell(const item& i) {
    text_.append("\n").append(number_of(i.next)).append(number_of(i.other)).append(i.name);
    for (const auto& [key, numbers] : i.table) {
      text_ += " " + key + ":";
      for (const int n : numbers) text_ += std::to_string(n) + ",";
    }
    text_ += i.note ? " note " + *i.note : " no note";
    text_ += " either " + std::to_string(i.either.index()) + " ";
    if (const auto* text = std::get_if<std::string>(&i.either)) text_ += *text;
    if (item* const* to = std::get_if<item*>(&i.either)) text_ += number_of(*to);
    for (const entry& each : i.entries) text_ += " " + each.text + std::to_string(each.number);
    for (const std::string& each : i.lines) text_ += " line " + each;
    for (const std::set<int>& each : i.sets) {
      for (const int n : each) text_ += std::to_string(n) + " ";
      text_ += "| ";
    }
    text_ += number_of(i.shared) + number_of(i.seen.lock());
    text_ += i.alone.first + (i.alone.second ? std::to_string(*i.alone.second) : "nothing");
    text_ += i.part.text + std::to_string(i.part.number);
  }
  std::string text_;
  std::vector<const item*> met_;
  std::vector<std::shared_ptr<const std::vector<int>>> shared_;
};
std::string text_of(const item* root) { return description{}.of(root); }
std::vector<item*> all_of(item* root) {
  description met;
  (void)met.of(root);
  std::vector<item*> all;
  for (const item* each : met.all()) all.push_back(const_cast<item*>(each));
  return all;
}

TEST(graph_values, are_cloned_and_sent_with_their_objects) {
  items original{test::test_seed()};
  const item* const root = original.make(40);
  const std::string expected = text_of(root);
  const message_bytes bytes = message_of(root);
  for (const copy_map map : {copy_map::automatic, copy_map::linear, copy_map::hash, copy_map::side_table})
    for (int i = 0; i < 3; ++i) {  // the third is made in memory that was taken ahead
      const owned<item> copy = clone(const_cast<item*>(root), {.map = map});
      ASSERT_EQ(text_of(copy.get()), expected);
      ASSERT_EQ(message_of(static_cast<const item*>(copy.get())), bytes);
    }
  const owned<item> arrived = read_one<item>(bytes);
  EXPECT_EQ(text_of(arrived.get()), expected);
  EXPECT_EQ(message_of(static_cast<const item*>(arrived.get())), bytes);
}

TEST(graph_values, of_a_copy_are_its_own_and_go_with_it) {
  items original{test::test_seed()};
  const item* const root = original.make(20);
  const std::string before = text_of(root);
  const owned<item> copy = clone(const_cast<item*>(root));
  std::mt19937_64 random{test::test_seed()};
  for (item* each : all_of(copy.get())) {
    item& i = *each;
    i.name += ", which is longer than before, and than a small string";
    i.table.clear();
    i.note.reset();
    i.either = std::string(random() % 50, 'e');
    i.shared = std::make_shared<std::vector<int>>(7);
    i.seen = i.shared;
    switch (random() % 4) {  // what a container has ended itself must not end again
      case 0: i.entries.clear(); break;
      case 1:
        for (int n = 0; n < 5; ++n) i.entries.emplace_back(before, n);
        break;
      case 2:
        if (!i.entries.empty()) i.entries.erase(i.entries.begin());
        break;
      default: i.entries = situ::vector<entry>{};
    }
    if (random() % 2 == 0) i.lines.resize(random() % 3);
  }
  EXPECT_EQ(text_of(root), before);
  const std::string changed = text_of(copy.get());
  EXPECT_EQ(text_of(clone(copy).get()), changed);
}

// A type that holds itself, with a value.
struct folder {
  std::string name;
  situ::vector<folder> folders;
  folder* parent = nullptr;
};
TEST(graph_values, lie_in_types_that_hold_themselves) {
  folder top{"top", {}, nullptr};
  top.folders.push_back({"one", {}, &top});
  top.folders.push_back({"two, with a name that is longer than a small string", {}, &top});
  top.folders[1].folders.push_back({"three, with a name that is longer than a small string", {}, nullptr});
  const owned<folder> copy = read_one<folder>(message_of(static_cast<const folder*>(clone(&top).get())));
  EXPECT_EQ(copy->folders[1].name, top.folders[1].name);
  EXPECT_EQ(copy->folders[1].parent, copy.get());
  EXPECT_EQ(copy->folders[1].folders[0].name, top.folders[1].folders[0].name);
  copy->folders.push_back({"four", {}, nullptr});
  EXPECT_EQ(copy->folders[1].folders[0].name, top.folders[1].folders[0].name);
}

// What an object held before, and where it lies, stays behind.
TEST(graph_values, leave_nothing_but_themselves_in_a_message) {
  items one{7};
  items other{7};
  item* const first = one.make(5);
  item* const second = other.make(5);
  second->either = std::string(50, 's');
  second->either = 3;
  first->either = 3;
  EXPECT_EQ(message_of(static_cast<const item*>(first)), message_of(static_cast<const item*>(second)));
}

struct measured_wrongly {
  std::shared_ptr<entry> whole;
  std::shared_ptr<std::string> part;
  measured_wrongly* next = nullptr;
};
TEST(graph_values, of_which_a_part_is_shared_are_refused) {
  measured_wrongly first{std::make_shared<entry>(), nullptr, nullptr};
  measured_wrongly second{nullptr, {first.whole, &first.whole->text}, &first};
  EXPECT_EQ(test::error_of([&] { (void)clone(&second); }).code, errc::bad_argument);
  EXPECT_EQ(test::error_of([&] { (void)message_of(&second); }).code, errc::bad_argument);
}

struct shared_bytes {
  shared_bytes* next = nullptr;
  std::shared_ptr<int> number;
};
template <class T>
std::string refusal(const message_bytes& bytes) {
  const test::caught_error caught = test::error_of([&] { (void)read_one<T>(bytes); });
  EXPECT_EQ(caught.code, errc::bad_message);
  return caught.text;
}
TEST(hostile_graph_values, one_lie_at_a_time) {
  shared_bytes second{nullptr, std::make_shared<int>(5)};
  const shared_bytes first{&second, second.number};
  const message_bytes bytes = message_of(&first);
  const std::size_t values = bytes.size() - 12;  // 1, 5, 1
  const auto with_number = [&](std::size_t at, std::uint32_t number) {
    message_bytes changed = bytes;
    std::memcpy(changed.data() + values + at, &number, sizeof number);
    return changed;
  };
  EXPECT_EQ(read_one<shared_bytes>(bytes)->next->number.use_count(), 2);
  EXPECT_THAT(refusal<shared_bytes>(with_number(0, 2)), HasSubstr("names object 2, where 0 have come"));
  EXPECT_THAT(refusal<shared_bytes>(with_number(0, 0)), HasSubstr("names object 5, where 0 have come"));
  EXPECT_THAT(refusal<shared_bytes>(with_number(8, 3)), HasSubstr("names object 3, where 1 have come"));
  EXPECT_FALSE(read_one<shared_bytes>(with_number(8, 0))->next->number);
  message_bytes longer = bytes;
  longer.resize(bytes.size() + 1);
  EXPECT_THAT(refusal<shared_bytes>(longer), HasSubstr("1 bytes follow its last value"));
  longer.resize(bytes.size() - 1);
  EXPECT_THAT(refusal<shared_bytes>(longer), HasSubstr("bytes are left"));
  const auto of_version = [&](std::uint16_t version) {
    return test::with_head(bytes, [&](detail::message_head& head) { head.version = version; });
  };
  EXPECT_THAT(refusal<shared_bytes>(of_version(1)), HasSubstr("bytes hold no head"));
  EXPECT_THAT(refusal<shared_bytes>(of_version(3)), HasSubstr("version 3, where this program reads versions 1 and 2"));
  const entry alone{"text", 1};
  message_bytes cut = message_of(&alone);
  cut.resize(cut.size() - 12);
  cut = test::with_head(cut, [&](detail::message_head& head) { head.version = 1; });
  EXPECT_THAT(refusal<entry>(cut), HasSubstr("version 1, where its objects have values"));
  const test::small plain{};
  EXPECT_THAT(refusal<test::small>(test::with_head(message_of(&plain), [](auto& head) { head.version = 2; })),
              HasSubstr("version 2, where its objects have no values"));
}
TEST(hostile_graph_values, truncations_and_flipped_bits_are_refused_or_do_no_harm) {
  items original{21};
  const message_bytes whole = message_of(static_cast<const item*>(original.make(3)));
  ASSERT_EQ(test::hostile_reading<item>(whole), "");
  for (std::size_t length = 0; length < whole.size(); length += test::or_modelled(1, 7))
    (void)refusal<item>({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
  message_bytes bytes = whole;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned bit = at % test::or_modelled(1, 8); bit < 8; bit += test::or_modelled(1, 8)) {
      bytes[at] ^= static_cast<std::byte>(1U << bit);
      ASSERT_EQ(test::hostile_reading<item>(bytes), "") << "byte " << at << ", bit " << bit;
      bytes[at] ^= static_cast<std::byte>(1U << bit);
    }
  }
}

}  // namespace
}  // namespace situ
