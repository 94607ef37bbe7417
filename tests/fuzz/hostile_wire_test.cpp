// Serialised values against bytes that are anything: what does not decode is bad_message, and reading never allocates
// much beyond the bytes that are there, whatever counts they announce.
#include "support/places.h"

#include <situ/graph/describe.h>
#include <situ/runtime/serialize.h>

#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "fuzz/allocation_watch.h"

namespace situ {
namespace {

using test::mixed;

template <class T>
std::vector<std::byte> written(const T& value) {
  std::vector<std::byte> bytes(wire<T>::size(value));
  wire_writer writer{bytes.data()};
  wire<T>::write(writer, value);
  EXPECT_EQ(writer.bytes_since(bytes.data()), bytes.size());
  return bytes;
}
// By a writer with so much room: what does not fit is counted, and nothing is written beyond.
template <class T>
std::vector<std::byte> written_in(std::size_t room, const T& value) {
  constexpr std::byte untouched{0x5a};
  std::vector<std::byte> bytes(room + 1000, untouched);
  wire_writer writer{bytes.data(), room};
  wire<T>::write(writer, value);
  EXPECT_EQ(writer.bytes_since(bytes.data()), wire<T>::size(value));
  EXPECT_TRUE(std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(room), bytes.end(),
                          [](std::byte b) { return b == untouched; }));
  bytes.resize(room);
  return bytes;
}
template <class T>
T read_all(const std::vector<std::byte>& bytes) {
  wire_reader reader{bytes.data(), bytes.size()};
  T value = wire<T>::read(reader);
  EXPECT_EQ(reader.left(), 0U);
  return value;
}

struct plain {
  std::int32_t a;
  double b;
  friend bool operator==(const plain&, const plain&) = default;
};
struct empty {
  friend bool operator==(const empty&, const empty&) = default;
};
enum class colour : std::uint8_t { red, green };
struct choosing {
  std::int16_t a;
  std::optional<std::int64_t> b;
  std::variant<std::monostate, bool, std::array<char, 20>> c[2];
  friend bool operator==(const choosing& x, const choosing& y) {
    return x.a == y.a && x.b == y.b && x.c[0] == y.c[0] && x.c[1] == y.c[1];
  }
};

// Values of parts: an aggregate, one that is made before it is filled, a described class, one that contains itself.
struct customer {
  std::string name;
  std::map<std::string, std::vector<int>> orders;
  std::filesystem::path folder;
  friend bool operator==(const customer&, const customer&) = default;
};
struct with_array {
  std::string names[2];
  std::int32_t number;
  friend bool operator==(const with_array& a, const with_array& b) {
    return std::ranges::equal(a.names, b.names) && a.number == b.number;
  }
};
class account {
  std::int32_t number_ = 0;
  std::string owner_;
  SITU_DESCRIBE(account, number_, owner_)
 public:
  account() = default;
  account(std::int32_t number, std::string owner) : number_{number}, owner_{std::move(owner)} {}
  friend bool operator==(const account&, const account&) = default;
};
struct savings : account {
  savings() = default;
  savings(account a, double r) : account{std::move(a)}, rate{r} {}
  double rate = 0;
  friend bool operator==(const savings&, const savings&) = default;
};
SITU_DESCRIBE_DERIVED(savings, (account), rate)
struct tree {
  std::int16_t value = 0;
  std::vector<tree> children;
  std::unique_ptr<tree> next;
  friend bool operator==(const tree& a, const tree& b) {
    return a.value == b.value && a.children == b.children &&
           (a.next == nullptr ? b.next == nullptr : b.next != nullptr && *a.next == *b.next);
  }
};
// Travels as it says, though it is an aggregate.
struct money {
  std::string currency;
  long amount;
  friend bool operator==(const money&, const money&) = default;
};

template <class T>
T random_value(std::mt19937_64& random);

template <class T>
struct maker {
  static T make(std::mt19937_64& random) {
    T value;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      reinterpret_cast<unsigned char*>(&value)[i] = static_cast<unsigned char>(random());
    return value;
  }
};
template <>
struct maker<bool> {
  static bool make(std::mt19937_64& random) { return random() % 2 != 0; }
};
template <>
struct maker<double> {
  static double make(std::mt19937_64& random) { return static_cast<double>(random() % 1000) / 8; }
};
template <>
struct maker<empty> {
  static empty make(std::mt19937_64&) { return {}; }
};
template <>
struct maker<plain> {
  static plain make(std::mt19937_64& random) {
    return {static_cast<std::int32_t>(random()), static_cast<double>(random() % 100)};
  }
};
template <>
struct maker<std::monostate> {
  static std::monostate make(std::mt19937_64&) { return {}; }
};
template <class... Ts>
struct maker<std::variant<Ts...>> {
  static std::variant<Ts...> make(std::mt19937_64& random) {
    static constexpr std::variant<Ts...> (*makers[])(std::mt19937_64&) = {
        [](std::mt19937_64& r) { return std::variant<Ts...>{random_value<Ts>(r)}; }...};
    return makers[random() % sizeof...(Ts)](random);
  }
};
template <>
struct maker<choosing> {
  static choosing make(std::mt19937_64& random) {
    using choice = std::variant<std::monostate, bool, std::array<char, 20>>;
    return {static_cast<std::int16_t>(random()),
            random_value<std::optional<std::int64_t>>(random),
            {random_value<choice>(random), random_value<choice>(random)}};
  }
};
template <>
struct maker<std::string> {
  static std::string make(std::mt19937_64& random) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = static_cast<char>(random());
    return text;
  }
};
template <class T>
struct maker<std::vector<T>> {
  static std::vector<T> make(std::mt19937_64& random) {
    std::vector<T> elements;
    for (std::uint64_t i = random() % 8; i > 0; --i) elements.push_back(random_value<T>(random));
    return elements;
  }
};
template <class T>
struct maker<std::optional<T>> {
  static std::optional<T> make(std::mt19937_64& random) {
    return random() % 3 == 0 ? std::nullopt : std::optional<T>{random_value<T>(random)};
  }
};
template <class... Ts>
struct maker<std::tuple<Ts...>> {
  static std::tuple<Ts...> make(std::mt19937_64& random) { return std::tuple<Ts...>{random_value<Ts>(random)...}; }
};
template <class A, class B>
struct maker<std::pair<A, B>> {
  static std::pair<A, B> make(std::mt19937_64& random) { return {random_value<A>(random), random_value<B>(random)}; }
};
template <class T, std::size_t N>
struct maker<std::array<T, N>> {
  static std::array<T, N> make(std::mt19937_64& random) {
    std::array<T, N> elements;
    for (T& element : elements) element = random_value<T>(random);
    return elements;
  }
};
template <>
struct maker<std::filesystem::path> {
  static std::filesystem::path make(std::mt19937_64& random) { return random_value<std::string>(random); }
};
template <class C>
struct container_maker {
  static C make(std::mt19937_64& random) {
    C elements;
    for (std::uint64_t i = random() % 8; i > 0; --i) {
      if constexpr (requires { typename C::mapped_type; }) {
        auto key = random_value<typename C::key_type>(random);
        elements.emplace(std::move(key), random_value<typename C::mapped_type>(random));
      } else {
        elements.insert(elements.end(), random_value<typename C::value_type>(random));
      }
    }
    return elements;
  }
};
template <detail::keyed_container C>
struct maker<C> : container_maker<C> {};
template <class T>
struct maker<std::deque<T>> : container_maker<std::deque<T>> {};
template <class T>
struct maker<std::list<T>> : container_maker<std::list<T>> {};
template <>
struct maker<std::u16string> : container_maker<std::u16string> {};
template <>
struct maker<customer> {
  static customer make(std::mt19937_64& random) {
    return {random_value<std::string>(random), random_value<std::map<std::string, std::vector<int>>>(random),
            random_value<std::filesystem::path>(random)};
  }
};
template <>
struct maker<with_array> {
  static with_array make(std::mt19937_64& random) {
    return {{random_value<std::string>(random), random_value<std::string>(random)}, random_value<std::int32_t>(random)};
  }
};
template <>
struct maker<account> {
  static account make(std::mt19937_64& random) {
    return {random_value<std::int32_t>(random), random_value<std::string>(random)};
  }
};
template <>
struct maker<savings> {
  static savings make(std::mt19937_64& random) { return {random_value<account>(random), random_value<double>(random)}; }
};
template <>
struct maker<tree> {
  static tree make(std::mt19937_64& random, int levels = 12) {
    tree made{static_cast<std::int16_t>(random()), {}, nullptr};
    if (levels == 0) return made;
    for (std::uint64_t i = random() % 4; i > 1; --i) made.children.push_back(make(random, levels - 1));
    if (random() % 3 == 0) made.next = std::make_unique<tree>(make(random, levels - 1));
    return made;
  }
};
template <>
struct maker<money> {
  static money make(std::mt19937_64& random) { return {random_value<std::string>(random), random_value<long>(random)}; }
};
template <class T>
T random_value(std::mt19937_64& random) {
  return maker<T>::make(random);
}

}  // namespace

template <>
struct wire<money> {
  static std::size_t size(const money& m) { return 1 + wire<std::string>::size(m.currency) + sizeof(m.amount); }
  static void write(wire_writer& writer, const money& m) {
    writer.write("m", 1);
    wire<std::string>::write(writer, m.currency);
    writer.write(&m.amount, sizeof(m.amount));
  }
  static money read(wire_reader& reader) {
    (void)reader.take(1);
    money m{wire<std::string>::read(reader), 0};
    reader.read(&m.amount, sizeof(m.amount));
    return m;
  }
};

namespace {

template <class T>
class hostile_wire : public testing::Test {};

using travelling_types = testing::Types<
    int, bool, std::uint8_t, double, colour, plain, std::string, std::vector<int>, std::vector<double>,
    std::vector<bool>, std::vector<std::string>, std::vector<std::vector<std::uint16_t>>, std::vector<plain>,
    std::vector<empty>, std::vector<std::tuple<empty, empty>>, std::optional<int>, std::optional<std::string>,
    std::vector<std::optional<std::string>>, std::vector<std::optional<std::array<std::uint64_t, 500>>>, std::tuple<>,
    std::tuple<int, std::string, bool>, std::pair<std::string, std::vector<int>>, std::array<std::string, 3>,
    std::tuple<std::vector<std::pair<int, std::string>>, std::optional<std::vector<double>>, char>,
    std::vector<std::array<std::vector<std::string>, 2>>, std::variant<int, std::string>, choosing,
    std::vector<choosing>, std::array<std::optional<int>, 3>, std::u16string, std::deque<std::string>, std::list<int>,
    std::map<std::string, std::vector<int>>, std::multimap<int, int>, std::set<std::string>, std::multiset<int>,
    std::unordered_map<std::string, double>, std::unordered_set<int>, std::filesystem::path, customer,
    std::vector<customer>, with_array, account, savings, std::vector<savings>, money, std::vector<money>,
    std::map<int, money>>;
TYPED_TEST_SUITE(hostile_wire, travelling_types);

// Of one allocation, for these bytes, with the error's text. A vector doubles as it grows, and its elements may be
// larger than what announces them: an empty std::optional is one byte on the wire.
template <class T>
constexpr std::size_t element_growth = 1;
template <class T>
constexpr std::size_t element_growth<std::vector<T>> = 4 * sizeof(T);
template <class... Ts>
constexpr std::size_t element_growth<std::tuple<Ts...>> = (1 + ... + element_growth<Ts>);
template <class T>
constexpr std::size_t element_growth<std::optional<T>> = element_growth<T>;
template <>
constexpr std::size_t element_growth<std::deque<std::string>> = 64;
template <class T>
constexpr std::size_t most_for(std::size_t bytes) {
  return 1000 + element_growth<T> * 16 * (bytes + 64);
}

TYPED_TEST(hostile_wire, values_come_back_as_they_were) {
  std::mt19937_64 random{test::test_seed()};
  for (int i = 0; i < test::rounds(500); ++i) {
    const auto value = random_value<TypeParam>(random);
    ASSERT_EQ(read_all<TypeParam>(written(value)), value);
  }
}

TYPED_TEST(hostile_wire, a_writer_with_too_little_room_counts) {
  if constexpr (detail::is_written_by_situ<TypeParam>()) {
    std::mt19937_64 random{test::test_seed()};
    for (int i = 0; i < test::rounds(100); ++i) {
      const auto value = random_value<TypeParam>(random);
      const std::vector<std::byte> whole = written(value);
      for (const std::size_t room : {std::size_t{0}, random() % (whole.size() + 1)}) (void)written_in(room, value);
      ASSERT_EQ(written_in(whole.size(), value), whole);
    }
  }
}

TYPED_TEST(hostile_wire, every_truncation_is_an_error) {
  std::mt19937_64 random{test::test_seed()};
  for (int i = 0; i < test::rounds(100); ++i) {
    const std::vector<std::byte> whole = written(random_value<TypeParam>(random));
    for (std::size_t length = 0; length < whole.size(); length += 1 + whole.size() / 500) {
      const std::vector<std::byte> part(
          whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));  // of its own, so that ASan sees its end
      wire_reader reader{part.data(), part.size()};
      ASSERT_EQ(test::error_of([&] { (void)wire<TypeParam>::read(reader); }).code, errc::bad_message)
          << length << " of " << whole.size();
    }
  }
}

// Reads what may be anything; true where it decodes.
template <class T>
bool survives(const std::vector<std::byte>& bytes) {
  wire_reader reader{bytes.data(), bytes.size()};
  test::largest_allocation.store(0);
  bool decoded = false;
  try {
    const T value = wire<T>::read(reader);
    decoded = true;
    EXPECT_LE(test::largest_allocation.load(), most_for<T>(bytes.size())) << "decoded " << bytes.size() << " bytes";
    // What decodes is a value like any other: it can be sent on, in as many bytes.
    EXPECT_EQ(written(value).size() + reader.left(), bytes.size());
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::bad_message) << e.what();
    EXPECT_LE(test::largest_allocation.load(), most_for<T>(bytes.size())) << "refused " << bytes.size() << " bytes";
  }
  return decoded;
}

TYPED_TEST(hostile_wire, flipped_bits_do_no_harm) {
  std::mt19937_64 random{test::test_seed()};
  for (int i = 0; i < test::rounds(3000); ++i) {
    std::vector<std::byte> bytes = written(random_value<TypeParam>(random));
    if (bytes.empty()) continue;
    for (std::uint64_t flips = 1 + random() % 4; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 << random() % 8);
    survives<TypeParam>(bytes);
  }
}

TYPED_TEST(hostile_wire, random_bytes_and_huge_counts_do_no_harm) {
  std::mt19937_64 random{test::test_seed()};
  const std::uint64_t counts[] = {0,
                                  1,
                                  2,
                                  UINT32_MAX,
                                  std::uint64_t{UINT32_MAX} + 1,
                                  std::uint64_t{1} << 61,
                                  (std::uint64_t{1} << 61) + 1,
                                  std::uint64_t{1} << 63,
                                  ~std::uint64_t{0}};
  for (int i = 0; i < test::rounds(3000); ++i) {
    std::vector<std::byte> bytes(random() % 100);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8)
      if (random() % 2 == 0) std::memcpy(bytes.data() + at, &counts[random() % std::size(counts)], 8);
    survives<TypeParam>(bytes);
  }
}

// Values that cannot be copied; and levels of nesting, which are bounded, since reading takes stack for each.
TEST(wire, of_a_class_that_contains_itself) {
  std::mt19937_64 random{test::test_seed()};
  for (int i = 0; i < test::rounds(300); ++i) {
    const tree value = random_value<tree>(random);
    const std::vector<std::byte> bytes = written(value);
    EXPECT_EQ(read_all<tree>(bytes), value);
    for (std::size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 50) {
      const std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      wire_reader reader{part.data(), part.size()};
      EXPECT_EQ(test::error_of([&] { (void)wire<tree>::read(reader); }).code, errc::bad_message);
    }
  }
}
TEST(wire, of_a_list_is_bounded_in_depth) {
  tree list;
  tree* last = &list;
  std::vector<std::byte> bytes;
  for (int levels = 1; levels <= 100; ++levels) {
    bytes = written(list);
    EXPECT_EQ(read_all<tree>(bytes), list) << levels;
    last->next = std::make_unique<tree>();
    last = last->next.get();
  }
  // Nobody writes one more, so it is made by hand: the last list of the bytes says that another one follows.
  EXPECT_EQ(test::error_of([&] { (void)written(list); }).code, errc::bad_argument);
  const std::vector<std::byte> end = written(tree{});
  ASSERT_EQ(bytes.back(), std::byte{0});
  bytes.back() = std::byte{1};
  bytes.insert(bytes.end(), end.begin(), end.end());
  EXPECT_EQ(test::error_of([&] { (void)read_all<tree>(bytes); }).code, errc::bad_message);
}
TEST(wire, of_a_program_s_own_goes_before_all_rules) {
  const std::vector<std::byte> bytes = written(money{"EUR", 3});
  EXPECT_EQ(static_cast<char>(bytes.front()), 'm');
  EXPECT_EQ(bytes.size(), 1 + 8 + 3 + sizeof(long));
  EXPECT_EQ(written(std::vector<money>(2)).size(), 8 + 2 * (1 + 8 + sizeof(long)));
}
TEST(wire, of_sets_refuses_repeated_keys) {
  const std::vector<std::byte> bytes = written(std::vector<int>{1, 2, 2});
  wire_reader reader{bytes.data(), bytes.size()};
  EXPECT_EQ(test::error_of([&] { (void)wire<std::set<int>>::read(reader); }).code, errc::bad_message);
}
TEST(wire, of_plain_elements_at_any_alignment) {
  for (std::size_t offset = 0; offset < 8; ++offset) {
    for (const std::size_t count : {0U, 1U, 511U, 512U, 513U, 5000U}) {
      std::vector<double> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i) + 0.5;
      const std::pair<std::string, std::vector<double>> both{std::string(offset, 'x'), values};
      EXPECT_EQ((read_all<std::pair<std::string, std::vector<double>>>(written(both))), both);
    }
  }
}

TEST(wire, counts_are_held_against_the_bytes_left) {
  std::vector<std::byte> bytes(16);
  const std::uint64_t count = std::uint64_t{1} << 40;
  std::memcpy(bytes.data(), &count, 8);
  EXPECT_FALSE(survives<std::string>(bytes));
  EXPECT_FALSE(survives<std::vector<int>>(bytes));
  EXPECT_FALSE(survives<std::vector<std::string>>(bytes));
  EXPECT_FALSE(survives<std::vector<empty>>(bytes));
  EXPECT_FALSE((survives<std::vector<std::tuple<empty, empty>>>(bytes)));
}

// --- shared objects ---

struct member {
  std::int32_t value = 0;
  std::shared_ptr<member> left;
  std::weak_ptr<member> back;
  std::vector<std::shared_ptr<member>> more;
  std::shared_ptr<const std::string> name;
};
struct web {
  std::weak_ptr<member> first;  // before what it is bound to
  std::vector<std::shared_ptr<member>> all;
  std::map<int, std::weak_ptr<member>> some;
};

// All that is reached, in the order of a walk.
std::vector<std::shared_ptr<member>> members_of(const web& w) {
  std::vector<std::shared_ptr<member>> found;
  const auto meet = [&](const std::shared_ptr<member>& m) {
    if (m && std::find(found.begin(), found.end(), m) == found.end()) found.push_back(m);
  };
  for (const auto& each : w.all) meet(each);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::shared_ptr<member> each = found[i];
    meet(each->left);
    for (const auto& other : each->more) meet(other);
  }
  return found;
}
// What w is, with numbers for addresses: of members, and of names by the first member that has each. Weak pointers to
// what is no part of it count as expired.
std::string description_of(const web& w) {
  const auto all = members_of(w);
  std::string text;
  const auto number = [&](const std::shared_ptr<member>& m) {
    const auto found = std::find(all.begin(), all.end(), m);
    return found == all.end() ? std::string{"- "} : std::to_string(found - all.begin()) + " ";
  };
  text += number(w.first.lock());
  for (const auto& each : w.all) text += number(each);
  for (const auto& [key, each] : w.some) text += std::to_string(key) + ":" + number(each.lock());
  for (const auto& each : all) {
    text += "| " + std::to_string(each->value) + " " + number(each->left) + number(each->back.lock());
    for (const auto& other : each->more) text += number(other);
    const auto with_name = std::find_if(all.begin(), all.end(), [&](const auto& m) { return m->name == each->name; });
    text += each->name ? std::to_string(with_name - all.begin()) + *each->name : "-";
  }
  return text;
}
// Of cycles, so that they go.
void unlink(const web& w) {
  for (const auto& each : members_of(w)) *each = {};
}
// `all` keeps the members that only weak pointers lead to, which so arrive expired.
web random_web(std::mt19937_64& random, std::vector<std::shared_ptr<member>>& all) {
  all.resize(1 + random() % 8);
  for (auto& each : all) each = std::make_shared<member>();
  const auto any = [&] { return random() % 4 == 0 ? nullptr : all[random() % all.size()]; };
  for (const auto& each : all) {
    each->value = static_cast<std::int32_t>(random());
    each->left = any();
    each->back = any();
    for (std::uint64_t i = random() % 3; i > 0; --i) each->more.push_back(any());
    each->name = random() % 2 == 0 ? all[random() % all.size()]->name
                                   : std::make_shared<std::string>(random_value<std::string>(random));
  }
  return {any(), {any(), any()}, {{1, any()}, {2, any()}}};
}

TEST(shared_objects, keep_their_sharing_cycles_and_weak_pointers) {
  std::mt19937_64 random{test::test_seed()};
  for (int i = 0; i < test::rounds(2000); ++i) {
    std::vector<std::shared_ptr<member>> all;
    const web w = random_web(random, all);
    const std::vector<std::byte> bytes = written(w);
    const web copy = read_all<web>(bytes);
    ASSERT_EQ(description_of(copy), description_of(w));
    ASSERT_EQ(written(copy), bytes);
    unlink(copy);
    for (const auto& each : all) *each = {};
  }
}
TEST(shared_objects, are_refused_where_the_bytes_lie) {
  std::mt19937_64 random{test::test_seed()};
  for (int i = 0; i < test::rounds(3000); ++i) {
    std::vector<std::shared_ptr<member>> all;
    const web w = random_web(random, all);
    std::vector<std::byte> bytes = written(w);
    if (random() % 3 == 0) bytes.resize(random() % bytes.size());
    for (std::uint64_t changes = random() % 4; changes > 0 && !bytes.empty(); --changes) {
      const std::size_t at = random() % bytes.size();
      if (random() % 2 == 0) {
        bytes[at] ^= static_cast<std::byte>(1 << random() % 8);
      } else {
        const auto number = static_cast<std::uint32_t>(random() % 2 == 0 ? random() % 12 : random());
        std::memcpy(bytes.data() + at, &number, std::min(sizeof number, bytes.size() - at));
      }
    }
    wire_reader reader{bytes.data(), bytes.size()};
    test::largest_allocation.store(0);
    try {
      const web copy = wire<web>::read(reader);
      EXPECT_EQ(written(copy).size() + reader.left(), bytes.size());
      unlink(copy);
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::bad_message) << e.what();
    }
    EXPECT_LE(test::largest_allocation.load(), 4000 + 64 * bytes.size());
    for (const auto& each : all) *each = {};
  }
}
std::string refusal_of(const std::vector<std::uint32_t>& words) {
  std::vector<std::byte> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  wire_reader reader{bytes.data(), bytes.size()};
  using pair = std::tuple<std::weak_ptr<std::int32_t>, std::shared_ptr<std::int32_t>, std::shared_ptr<std::uint32_t>>;
  try {
    (void)wire<pair>::read(reader);
    return "";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::bad_message);
    return e.what();
  }
}
TEST(shared_objects, of_a_wrong_number_or_type_are_refused) {
  EXPECT_EQ(refusal_of({1, 1, 7, 2, 8}), "");
  EXPECT_EQ(refusal_of({0, 0, 0}), "");
  EXPECT_NE(refusal_of({0, 2, 7, 0}).find("names object 2, where 0 have come"), std::string::npos);
  EXPECT_NE(refusal_of({0, 1, 7, 1}).find("names shared object 1, which is a int"), std::string::npos);
  EXPECT_NE(refusal_of({1, 0, 1, 8}).find("names shared object 1, which is a int"), std::string::npos);
  EXPECT_NE(refusal_of({2, 1, 7, 0, 9, 9}).find("names object 2, where 1 have come"), std::string::npos);
  EXPECT_NE(refusal_of({9, 1, 7, 0}).find("names object 9, where 0 have come"), std::string::npos);
}
TEST(shared_objects, of_which_a_part_is_shared_are_refused_by_the_sender) {
  const auto whole = std::make_shared<customer>(customer{"whole", {}, {}});
  const std::shared_ptr<std::string> part{whole, &whole->name};
  std::pair both{whole, part};
  EXPECT_EQ(test::error_of([&] { (void)wire<decltype(both)>::size(both); }).code, errc::bad_argument);
  EXPECT_EQ(*read_all<std::shared_ptr<std::string>>(written(part)), "whole");
}
TEST(shared_objects, are_bounded_in_depth) {
  auto list = std::make_shared<member>();
  for (int levels = 1; levels < 100; ++levels) {
    auto next = std::make_shared<member>();
    next->left = std::move(list);
    list = std::move(next);
  }
  EXPECT_TRUE(read_all<std::shared_ptr<member>>(written(list)));
  const auto longer = std::make_shared<member>();
  longer->left = list;
  EXPECT_EQ(test::error_of([&] { (void)wire<std::shared_ptr<member>>::size(longer); }).code, errc::bad_argument);
}
struct knows_itself : std::enable_shared_from_this<knows_itself> {
  knows_itself() = default;
  std::int32_t value = 0;
};
SITU_DESCRIBE(knows_itself, value)
TEST(shared_objects, find_themselves) {
  const auto copy = read_all<std::shared_ptr<knows_itself>>(written(std::make_shared<knows_itself>()));
  EXPECT_EQ(copy->shared_from_this(), copy);
}

}  // namespace
}  // namespace situ
