// Collectives of spans against a sequential reference: elements of several types, lengths around the fragments that
// large spans are cut into, random teams and roots, in place and asynchronous.
#include "runtime/collective_values.h"

#include <algorithm>
#include <optional>

namespace situ {
namespace {

using test::combine;
using test::mixed;
using test::reduced;
using test::value_of;

class collective_spans : public test::on_places {};

// Element k of member i is the value of (seed + k, i).
template <class T>
T element(std::uint64_t seed, std::size_t k, std::uint64_t member) {
  return value_of<T>::make(seed + k, member);
}
template <class T>
std::vector<T> elements_of(std::uint64_t seed, std::size_t length, std::uint64_t member) {
  std::vector<T> made;
  for (std::size_t k = 0; k < length; ++k) made.push_back(element<T>(seed, k, member));
  return made;
}
template <class T>
std::vector<T> reduced_elements(std::uint64_t seed, std::size_t length, std::uint32_t end) {
  std::vector<T> made;
  for (std::size_t k = 0; k < length; ++k) made.push_back(reduced<T>(seed + k, 0, end));
  return made;
}

enum class span_kind : std::uint32_t {
  broadcast,
  reduce,
  all_reduce,
  inclusive_scan,
  exclusive_scan,
  gather,
  gather_in_place,
  scatter,
  all_gather,
  all_gather_in_place,
  all_to_all,
  all_to_all_in_place,
  count
};

// A call under way: what it works on, and what must be there at its end.
template <class T>
struct under_way {
  std::vector<T> values, others;
  std::vector<T> expected;  // of `others`, if there are some, else of `values`; empty where nothing is said of them
  future<> ready;
  void check() {
    ready.get();
    if (!expected.empty()) {
      ASSERT_TRUE((others.empty() ? values : others) == expected);
    }
  }
};

template <class T>
std::vector<T> everyones(std::uint64_t seed, std::size_t length, std::uint32_t members) {
  std::vector<T> all;
  for (std::uint32_t i = 0; i < members; ++i)
    for (T& each : elements_of<T>(seed, length, i)) all.push_back(std::move(each));
  return all;
}
// Run `to` of what member `from` sends.
template <class T>
std::vector<T> run_between(std::uint64_t seed, std::size_t length, std::uint32_t from, std::uint32_t to) {
  return elements_of<T>(mixed(seed, to), length, from);
}

template <class T>
void begin_all_to_all(under_way<T>& call, std::uint64_t seed, std::size_t length, const team& t, bool in_place) {
  for (std::uint32_t i = 0; i < t.size(); ++i) {
    for (T& each : run_between<T>(seed, length, t.index(), i)) call.values.push_back(std::move(each));
    for (T& each : run_between<T>(seed, length, i, t.index())) call.expected.push_back(std::move(each));
  }
  if (!in_place) call.others.resize(call.values.size());
  call.ready = all_to_all_async(std::span{call.values}, std::span{in_place ? call.values : call.others}, t);
}

template <class T>
void begin_collecting(under_way<T>& call, span_kind kind, std::uint64_t seed, std::size_t length, const team& t,
                      std::uint32_t root) {
  const std::vector<T> all = everyones<T>(seed, length, t.size());
  const auto own_in = [&](std::vector<T>& in) { return std::span{in}.subspan(t.index() * length, length); };
  call.values = elements_of<T>(seed, length, t.index());
  if (kind == span_kind::scatter) {
    call.others = t.index() == root ? all : std::vector<T>{};
    call.expected = call.others.empty() ? call.values : all;
    std::fill(call.values.begin(), call.values.end(), T{});
    call.ready = scatter_async(std::span{call.others}, std::span{call.values}, root, t);
    return;
  }
  const bool everywhere = kind == span_kind::all_gather || kind == span_kind::all_gather_in_place;
  const bool in_place = kind == span_kind::gather_in_place || kind == span_kind::all_gather_in_place;
  if (everywhere || t.index() == root) {
    call.others.resize(all.size());
    call.expected = all;
    if (in_place) std::copy(call.values.begin(), call.values.end(), own_in(call.others).begin());
  }
  const std::span<const T> own = in_place && !call.others.empty() ? own_in(call.others) : std::span{call.values};
  call.ready = everywhere ? all_gather_async(own, std::span{call.others}, t)
                          : gather_async(own, std::span{call.others}, root, t);
}

template <class T>
void begin(under_way<T>& call, span_kind kind, std::uint64_t seed, std::size_t length, const team& t) {
  const std::uint32_t n = t.size();
  const std::uint32_t me = t.index();
  const auto root = static_cast<std::uint32_t>(mixed(seed, 5) % n);
  if (kind == span_kind::all_to_all || kind == span_kind::all_to_all_in_place)
    return begin_all_to_all(call, seed, length, t, kind == span_kind::all_to_all_in_place);
  if (kind >= span_kind::gather) return begin_collecting(call, kind, seed, length, t, root);
  call.values = elements_of<T>(seed, length, me);
  const std::span<T> values{call.values};
  switch (kind) {
    case span_kind::broadcast:
      call.expected = elements_of<T>(seed, length, root);
      call.ready = broadcast_async(values, root, t);
      break;
    case span_kind::reduce:
      if (me == root) call.expected = reduced_elements<T>(seed, length, n);
      call.ready = reduce_async(values, combine{}, root, t);
      break;
    case span_kind::all_reduce:
      call.expected = reduced_elements<T>(seed, length, n);
      call.ready = all_reduce_async(values, combine{}, t);
      break;
    case span_kind::inclusive_scan:
      call.expected = reduced_elements<T>(seed, length, me + 1);
      call.ready = inclusive_scan_async(values, combine{}, t);
      break;
    default: {
      const T first = value_of<T>::make(seed, 999);
      call.expected.assign(length, first);
      for (std::size_t k = 0; me != 0 && k < length; ++k)
        call.expected[k] = combine{}(first, reduced<T>(seed + k, 0, me));
      call.ready = exclusive_scan_async(values, combine{}, first, t);
    }
  }
}

template <class T>
void check_all(std::uint64_t seed, std::size_t length, const team& t) {
  for (std::uint32_t kind = 0; kind < static_cast<std::uint32_t>(span_kind::count); ++kind) {
    under_way<T> call;
    begin(call, static_cast<span_kind>(kind), mixed(seed, kind), length, t);
    ASSERT_NO_FATAL_FAILURE(call.check()) << "kind " << kind << ", length " << length;
  }
}

// Lengths of none, one, a few, about a fragment, and several rounds that do not come out even.
template <class T>
std::size_t length_of(std::uint64_t seed) {
  const std::size_t fragment = detail::fragment_length<T>;
  const std::size_t lengths[] = {
      0, 1, 1 + seed % 50, fragment - 1, fragment, fragment + 1, 7 * fragment + seed % fragment};
  return lengths[mixed(seed, 3) % std::size(lengths)];
}

TEST_P(collective_spans, agree_with_a_sequential_reference) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    for (std::uint64_t round = 0; round < 7; ++round) {
      const std::uint64_t salt = mixed(seed, round);
      const team some = world().split(static_cast<std::uint32_t>(mixed(salt, here().index()) % 2),
                                      static_cast<std::uint32_t>(mixed(salt, 100 + here().index()) % 1000));
      check_all<std::int64_t>(salt, length_of<std::int64_t>(salt), round % 2 == 0 ? world() : some);
      check_all<test::matrix>(mixed(salt, 1), length_of<test::matrix>(mixed(salt, 1)), some);
      check_all<std::string>(mixed(salt, 2), mixed(salt, 4) % 40, world());
    }
  });
}

TEST_P(collective_spans, of_long_strings_go_in_fragments_too) {
  run([] {
    const std::size_t length = 2 * detail::fragment_length<std::string> + 3;
    std::vector<std::string> words(length, std::to_string(here().index()) + " ");
    all_reduce(std::span{words}, std::plus<>{});
    std::string expected;
    for (const place p : places()) expected += std::to_string(p.index()) + " ";
    EXPECT_EQ(words, std::vector<std::string>(length, expected));
  });
}

// Many of all kinds at once on several teams, ended in another order than begun.
TEST_P(collective_spans, any_number_may_be_under_way) {
  const std::uint64_t seed = test::test_seed();
  run([seed] {
    const team halves = world().split(here().index() % 2), reversed = world().split(0, place_count() - here().index());
    const team* const teams[] = {&world(), &halves, &reversed};
    for (std::uint64_t round = 0; round < 5; ++round) {
      std::vector<under_way<std::int64_t>> calls(24);
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::uint64_t salt = mixed(seed, 100 * round + i);
        begin(calls[i], static_cast<span_kind>(mixed(salt, 1) % static_cast<std::uint32_t>(span_kind::count)), salt,
              i % 6 == 0 ? 9000 : mixed(salt, 2) % 100, *teams[mixed(salt, 3) % 3]);
        if (mixed(salt, here().index()) % 5 == 0) progress();
      }
      EXPECT_EQ(all_reduce(1U, std::plus<>{}), place_count()) << "beside those that are under way";
      for (std::size_t i = calls.size(); i-- > 0;) ASSERT_NO_FATAL_FAILURE(calls[i].check());
    }
  });
}

TEST_P(collective_spans, leave_no_memory_behind) {
  run([] {
    const std::uint64_t live = test::settled_memory().live_bytes;
    std::vector<double> values(50'000, 1.0);
    for (int i = 0; i < 5; ++i) all_reduce(std::span{values}, [](double a, double b) { return a < b ? b : a; });
    EXPECT_EQ(values, std::vector<double>(50'000, 1.0));
    EXPECT_EQ(test::settled_memory().live_bytes, live);
    EXPECT_TRUE(detail::current->runtime != nullptr);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, collective_spans, testing::ValuesIn(test::layouts({1, 2, 3, 4, 7})),
                         test::layout_name);

}  // namespace
}  // namespace situ
