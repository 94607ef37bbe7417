// Serialised values against bytes that are anything: what does not decode is bad_message, and reading never allocates
// much beyond the bytes that are there, whatever counts they announce.
#include "support/places.h"

#include <situ/runtime/serialize.h>

#include "fuzz/allocation_watch.h"

namespace situ {
namespace {

using test::mixed;

template <class T>
std::vector<std::byte> written(const T& value) {
  std::vector<std::byte> bytes(wire<T>::size(value));
  wire_writer writer{bytes.data()};
  wire<T>::write(writer, value);
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
template <class T>
T random_value(std::mt19937_64& random) {
  return maker<T>::make(random);
}

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
    std::vector<choosing>, std::array<std::optional<int>, 3>>;
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

}  // namespace
}  // namespace situ
