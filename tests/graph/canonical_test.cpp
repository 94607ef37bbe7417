// Equal graphs give equal messages, and equal arguments equal bytes: nothing but values leaves the process. Each value
// is made in memory full of different noise, and has been others before; whatever else is sent differs.
#include "graph/graph_message.h"
#include "support/places.h"

#include <situ/runtime/serialize.h>

#include <malloc.h>

#include <chrono>
#include <complex>

namespace situ {
namespace {

using test::message_bytes;
using test::message_of;
using test::node;

constexpr std::byte noises[] = {std::byte{0}, std::byte{0xa5}, std::byte{0x5a}, std::byte{0xff}};

// Memory from malloc is full of noise, too, while it lives.
class noisy_heap {
 public:
  explicit noisy_heap(std::byte noise) { ::mallopt(M_PERTURB, static_cast<int>(~noise)); }
  noisy_heap(const noisy_heap&) = delete;
  noisy_heap& operator=(const noisy_heap&) = delete;
  ~noisy_heap() { ::mallopt(M_PERTURB, 0); }
};

TEST(canonical, random_graphs_give_the_same_message_whatever_lay_in_their_memory) {
  const std::uint64_t seed = test::test_seed();
  for (int round = 0; round < test::rounds(60); ++round) {
    message_bytes expected;
    for (const std::byte noise : noises) {
      const noisy_heap heap{noise};
      test::graph_maker maker{test::mixed(seed, static_cast<std::uint64_t>(round)), noise};
      const node* const root = maker.make(1 + test::mixed(seed, static_cast<std::uint64_t>(round)) % 60);
      const message_bytes bytes = message_of(root);
      if (expected.empty()) expected = bytes;
      ASSERT_EQ(bytes, expected) << "round " << round << ", noise " << static_cast<int>(noise);
      const owned<node> read = test::read_one<node>(bytes);
      ASSERT_EQ(message_of(static_cast<const node*>(read.get())), expected);
      ASSERT_EQ(message_of(static_cast<const node*>(clone(root).get())), expected);
    }
  }
}

// --- each kind of gap ------------------------------------------------------------------------------------------------

struct padded {
  char c;
  long v;
  short s;
  friend bool operator==(const padded&, const padded&) = default;
};
struct twelve {
  std::int32_t a;
  char b;
  std::int32_t c;
};
struct three {
  std::int16_t a;
  char b;
};
struct with_nothing {
  struct {
  } nothing;
  char c;
  int i;
};
struct flags {
  std::uint32_t a : 3;
  std::uint32_t b : 7;
  long more;
};
class closed {
 public:
  void set(char c, double d) { c_ = c, d_ = d; }

 private:
  char c_ = 0;
  double d_ = 0;
};

}  // namespace
template <>
inline constexpr bool is_data<closed> = true;
template <>
inline constexpr bool is_data<flags> = true;
namespace {

struct inner {
  char c;
  std::optional<padded> maybe;
  std::variant<std::monostate, char, situ::string, std::array<padded, 2>, std::optional<std::int64_t>> either;
};
struct data_fields {
  padded one;
  padded many[3];
  std::array<twelve, 5> more;
  std::pair<char, long> pair;
  std::tuple<char, std::int32_t, char> tuple;
  with_nothing empty;
  flags bits;
  closed hidden;
  std::complex<float> z;
  std::chrono::duration<double> time;
  bool truth;
};
struct long_doubles {
  char c;
  long double x;
  situ::vector<long double> more;
};
struct large {
  std::array<padded, 40> inline_data;
  large* self;
  char tail;
};
struct small_choice {
  std::optional<std::int32_t> m;
  std::int32_t k;
};
struct blocks {
  situ::vector<padded> padded_data;
  situ::array<twelve> twelves;
  situ::vector<three> threes;
  situ::vector<std::optional<char>> bytes;
  situ::vector<small_choice> choices;
  situ::vector<inner> inners;
  situ::vector<std::pair<char, situ::string>> pairs;
  situ::vector<std::variant<char, blocks*>> pointers;
  situ::transient<std::array<char, 24>> cache;
  char last;
};
struct based : derived<based> {
  char c = 0;
  SITU_DESCRIBE_DERIVED(based, (situ::object), c)
};
struct wider : derived<wider, based> {
  char d = 0;
  std::optional<char> e;
  SITU_DESCRIBE_DERIVED(wider, (based), d, e)
};
struct holder_of_bases {
  char c;
  wider part;
  based* elsewhere;
};

void set(padded& p, int i) { p.c = static_cast<char>(i), p.v = i * 7L, p.s = static_cast<short>(i * 3); }
void set(twelve& t, int i) { t.a = i, t.b = static_cast<char>(i), t.c = -i; }
void set(three& t, int i) { t.a = static_cast<std::int16_t>(i), t.b = static_cast<char>(-i); }
void set(inner& x, int i) {
  x.c = static_cast<char>(i);
  x.maybe.emplace();
  set(*x.maybe, i);
  if (i % 3 == 0) x.maybe.reset();
  x.either = std::array<padded, 2>{};
  set(std::get<3>(x.either)[1], i);
  switch (i % 5) {
    case 0: x.either = std::monostate{}; break;
    case 1: x.either = static_cast<char>(i); break;
    case 2: x.either = situ::string{"text"}; break;
    case 3: break;
    default: x.either = std::optional<std::int64_t>{0x5353'5245'5443'4553}; std::get<4>(x.either).reset();
  }
}
void set(data_fields& d, int i) {
  set(d.one, i);
  for (padded& each : d.many) set(each, ++i);
  for (twelve& each : d.more) set(each, ++i);
  d.pair.first = static_cast<char>(i), d.pair.second = i;
  std::get<0>(d.tuple) = 'a', std::get<1>(d.tuple) = i, std::get<2>(d.tuple) = 'b';
  d.empty.c = 'e', d.empty.i = i;
  d.bits.a = 5, d.bits.b = 99, d.bits.more = i;
  d.hidden.set('h', i);
  d.z = {1, 2};
  d.time = std::chrono::duration<double>{1.5};
  d.truth = true;
}
void set(long_doubles& d, int i) {
  d.c = static_cast<char>(i);
  d.x = i;
  d.more.clear();
  for (int n = 0; n < 40; ++n) d.more.push_back(n);
}
void set(large& l, int i) {
  for (padded& each : l.inline_data) set(each, ++i);
  l.self = &l;
  l.tail = static_cast<char>(i);
}
template <class T>
void set_elements(situ::vector<T>& v, std::size_t n) {
  v.resize(n);
  for (std::size_t i = 0; i < n; ++i) set(v[i], static_cast<int>(i));
}
void set(blocks& b, int n) {
  const auto count = static_cast<std::size_t>(n);
  set_elements(b.padded_data, count);
  b.twelves = situ::array<twelve>(count);
  for (std::size_t i = 0; i < count; ++i) set(b.twelves[i], static_cast<int>(i));
  set_elements(b.threes, count);
  b.bytes.resize(count);
  for (std::size_t i = 0; i < count; ++i) b.bytes[i] = 'x';
  for (std::size_t i = 0; i < count; i += 3) b.bytes[i].reset();
  b.choices.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    b.choices[i].m = static_cast<std::int32_t>(i);
    if (i % 3 == 0) b.choices[i].m.reset();
    b.choices[i].k = 7;
  }
  set_elements(b.inners, count);
  b.pairs.resize(count);
  for (std::size_t i = 0; i < count; ++i) b.pairs[i].first = static_cast<char>(i), b.pairs[i].second = "some text";
  for (std::size_t i = 0; i < count; i += 2) b.pairs[i].second.clear();
  b.pointers.resize(count);
  for (std::size_t i = 0; i < count; ++i) b.pointers[i] = &b;
  for (std::size_t i = 0; i < count; i += 2) b.pointers[i] = static_cast<char>(i);
  std::memset(b.cache.value.data(), 's', b.cache.value.size());
  b.last = static_cast<char>(n);
}
void set(holder_of_bases& h, int i) {
  h.c = static_cast<char>(i);
  h.part.c = 'c', h.part.d = 'd', h.part.e = 'e';
  if (i % 2 == 0) h.part.e.reset();
  h.elsewhere = &h.part;
}

struct choosing {
  char c;
  std::optional<std::int64_t> maybe;
  std::variant<char, padded, std::array<char, 32>> either[2];
  padded p;
};
void set(choosing& x, int i) {
  x.c = static_cast<char>(i);
  x.maybe = i;
  if (i % 2 == 0) x.maybe.reset();
  x.either[0] = padded{};
  x.either[1] = std::array<char, 32>{"passwordpassword"};
  set(std::get<1>(x.either[0]), i);
  if (i % 3 != 0) x.either[1] = 'c';
  set(x.p, i);
}
struct large_plain {
  std::array<padded, 5000> many;
};
void set(large_plain& l, int i) {
  for (padded& each : l.many) set(each, ++i);
}
using plain_tuple =
    std::tuple<padded, std::optional<padded>, std::vector<padded>, std::array<choosing, 2>, std::vector<choosing>>;
void set(plain_tuple& t, int i) {
  set(std::get<0>(t), i);
  std::get<1>(t).emplace();
  set(*std::get<1>(t), i);
  std::get<2>(t).resize(5);
  for (padded& each : std::get<2>(t)) set(each, ++i);
  for (choosing& each : std::get<3>(t)) set(each, ++i);
  std::get<4>(t).resize(3);
  for (choosing& each : std::get<4>(t)) set(each, ++i);
}

// Bytes of a T that had one value after another, the last one being `last`.
template <class T, class Write>
void expect_one_form(const std::vector<int>& lives, int last, Write write) {
  decltype(write(std::declval<const T&>())) expected;
  for (const std::byte noise : noises) {
    const noisy_heap heap{noise};
    test::noisy_pool<T> pool{noise};
    pool.emplace_back();
    T& object = pool[0];
    if (noise != std::byte{0})
      for (const int life : lives) set(object, life);
    set(object, last);
    const auto bytes = write(static_cast<const T&>(object));
    if (expected.empty()) expected = bytes;
    const auto differs = std::mismatch(bytes.begin(), bytes.end(), expected.begin(), expected.end());
    ASSERT_TRUE(bytes == expected) << detail::type_name<T>() << ", noise " << static_cast<int>(noise) << ", value "
                                   << last << ": byte " << differs.first - bytes.begin();
  }
}
template <class T>
message_bytes message_of_copies(const T& object) {
  message_bytes bytes = message_of(&object);
  EXPECT_EQ(message_of(static_cast<const T*>(clone(object).get())), bytes);
  EXPECT_EQ(message_of(static_cast<const T*>(test::read_one<T>(bytes).get())), bytes);
  return bytes;
}
template <class T>
void expect_one_message(int last) {
  expect_one_form<T>({3, 1, 40, 2}, last, &message_of_copies<T>);
}

TEST(canonical, padding_of_data) {
  for (int i = 0; i < 10; ++i) {
    expect_one_message<padded>(i);
    expect_one_message<data_fields>(i);
    expect_one_message<long_doubles>(i);
    expect_one_message<large>(i);
    expect_one_message<inner>(i);
    expect_one_message<holder_of_bases>(i);
  }
}

TEST(canonical, padding_and_choices_in_blocks) {
  for (int n = 0; n < 70; n += test::or_modelled(1, 5)) expect_one_message<blocks>(n);
  expect_one_message<blocks>(test::or_modelled(3000, 600));  // more than is looked at in one piece
}

TEST(canonical, messages_hold_no_text_that_was) {
  inner x{};
  x.either = situ::string{"a long and secret text"};
  set(x, 3);
  std::memcpy(&std::get<3>(x.either), "passwordpassword", 16);
  asm volatile("" : : "r"(&x) : "memory");  // else the compiler leaves out what is overwritten
  x.either = 'c';
  const message_bytes bytes = message_of(&x);
  const std::string_view sent{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  for (const char* secret : {"secret", "password", "ssword"})
    EXPECT_EQ(sent.find(secret), std::string_view::npos) << secret;
}

// Elements whose size is no multiple of 8 were scanned 8 bytes apart: not at all to the end, or for ever.
TEST(canonical, small_choices_in_blocks_are_copied) {
  blocks b{};
  set(b, 20);
  const owned<blocks> copy = clone(b);
  ASSERT_EQ(copy->choices.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(copy->choices[i].m, b.choices[i].m);
    EXPECT_EQ(copy->choices[i].k, 7);
    EXPECT_EQ(copy->bytes[i], b.bytes[i]);
  }
}

// --- arguments -------------------------------------------------------------------------------------------------------

template <class T>
std::vector<std::byte> wire_bytes(const T& value) {
  std::vector<std::byte> bytes(wire<T>::size(value));
  wire_writer writer{bytes.data()};
  wire<T>::write(writer, value);
  EXPECT_EQ(writer.skip(0), bytes.data() + bytes.size());
  return bytes;
}

TEST(canonical, arguments_of_calls) {
  for (int i = 0; i < 7; ++i) {
    expect_one_form<padded>({1, 2}, i, &wire_bytes<padded>);
    expect_one_form<twelve>({1, 2}, i, &wire_bytes<twelve>);
    expect_one_form<choosing>({1, 2}, i, &wire_bytes<choosing>);
    expect_one_form<large_plain>({1, 2}, i, &wire_bytes<large_plain>);
    expect_one_form<plain_tuple>({1, 2}, i, &wire_bytes<plain_tuple>);
  }
  choosing x{};
  set(x, 1);
  const std::vector<std::byte> bytes = wire_bytes(x);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).find("password"),
            std::string_view::npos);
}

TEST(canonical, has_padding_where_there_is_some) {
  using detail::has_padding;
  static_assert(!has_padding<double>() && !has_padding<std::array<double, 3>>() &&
                !has_padding<std::complex<double>>() && !has_padding<bool[3]>());
  struct full {
    double a;
    float b[2];
    std::array<std::int16_t, 4> c;
  };
  static_assert(!has_padding<full>() && has_padding<padded>() && has_padding<twelve>() && has_padding<long double>() &&
                has_padding<closed>());
}

// Whose bytes are addresses, or may be.
union either_or {
  int i;
  double d;
};
struct with_pointer {
  int* p;
};
struct with_view {
  std::string_view text;
};
struct with_union {
  either_or u;
};
static_assert(!travels<either_or> && !travels<with_union> && !travels<with_pointer> && !travels<with_view>);
static_assert(!travels<std::array<int*, 2>> && !travels<std::array<with_pointer, 2>> &&
              !travels<std::vector<with_pointer>> && !travels<std::optional<with_view>>);
static_assert(travels<choosing> && travels<std::array<choosing, 2>> && travels<std::variant<int, std::string>>);

}  // namespace
}  // namespace situ
