// What a call may run: lambdas with captures, function objects with state, members, bound values; and what its function
// may take: views of the message.
#include "support/places.h"

#include <situ/graph.h>
#include <situ/situ.h>

#include <map>
#include <numeric>
#include <span>
#include <string_view>

namespace situ {
namespace {

class bodies : public test::on_places {};

struct lookup {
  std::string prefix;
  std::map<std::string, int> table;
  int operator()(const std::string& key) const { return table.at(prefix + key); }
};
class scaled {
  double by_ = 1;
  std::vector<double> values_;
  SITU_DESCRIBE(scaled, by_, values_)
 public:
  scaled() = default;
  scaled(double by, std::vector<double> values) : by_{by}, values_{std::move(values)} {}
  double operator()() const { return by_ * std::accumulate(values_.begin(), values_.end(), 0.0); }
};
struct node {
  int value = 0;
  node* next = nullptr;
  [[nodiscard]] int sum() const { return value + (next != nullptr ? next->sum() : 0); }
  int add(int n) noexcept { return value += n; }
};
struct shape {
  std::string name;
  [[nodiscard]] std::size_t length(std::size_t more) const { return name.size() + more; }
};
double total(std::span<const double> values, std::string_view name) {
  return std::accumulate(values.begin(), values.end(), static_cast<double>(name.size()));
}

TEST_P(bodies, capture_plain_data) {
  run([] {
    const ptr<long> word = allocate<long>();
    *word.local() = 5;
    const place home = here();
    for (const place p : places()) {
      const double factor = 2.5;
      EXPECT_EQ(
          at(
              p, [factor, home, word](int n) { return factor * n + static_cast<double>(home.index()) * 0 + get(word); },
              2),
          10);
      std::array<int, 40> many{};
      many[39] = 7;
      EXPECT_EQ(async_at(p, [many, i = 1]() mutable { return many[39] + i++; }).get(), 8);
      const auto inner = [factor](int n) { return factor * n; };
      EXPECT_EQ(at(p, [inner](int n) { return inner(n); }, 4), 10);
    }
    deallocate(word);
  });
}

TEST_P(bodies, have_state) {
  run([] {
    for (const place p : places()) {
      EXPECT_EQ(at(p, lookup{"a", {{"ab", 3}}}, "b"), 3);
      EXPECT_EQ(async_at(p, scaled{2, {1, 2, 3}}).get(), 12);
      EXPECT_THROW(at(p, lookup{}, "b"), remote_error);
    }
  });
}

TEST_P(bodies, are_members) {
  run([] {
    node last{3, nullptr};
    node first{1, &last};
    for (const place p : places()) {
      EXPECT_EQ(at(p, &node::sum, &first), 4);
      EXPECT_EQ(at(p, &node::add, &first, 5), 6);
      EXPECT_EQ(at(p, &node::value, &first), 1);
      EXPECT_EQ(async_at(p, &shape::length, shape{"round"}, std::size_t{2}).get(), 7U);
    }
  });
}

TEST_P(bodies, carry_bound_values) {
  run([] {
    const auto body = bind_values([](const std::string& name, const std::vector<int>& numbers,
                                     int n) { return name + std::to_string(numbers.at(static_cast<std::size_t>(n))); },
                                  "x", std::vector<int>{4, 5});
    const auto plain = bind_values(&total, std::vector<double>{1, 2});
    for (const place p : places()) {
      EXPECT_EQ(at(p, body, 1), "x5");
      EXPECT_EQ(async_at(p, body, 0).get(), "x4");
      EXPECT_EQ(at(p, plain, "abc"), 6);
    }
  });
}

// In a cell, in the ring, in a buffer; behind text that leaves the message at every alignment.
TEST_P(bodies, view_their_arguments) {
  run([] {
    for (const std::size_t count : {0U, 1U, 3U, 20U, 1000U, 40000U}) {
      std::vector<double> numbers(count);
      std::iota(numbers.begin(), numbers.end(), 0.0);
      const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
      const std::string name(count % 7, 'n');
      for (const place p : places()) {
        EXPECT_EQ(at(p, &total, numbers, name), sum + static_cast<double>(name.size()));
        EXPECT_EQ(at(p, &total, std::span<const double>{numbers}, "abc"), sum + 3);
        EXPECT_EQ(async_at(p, &total, numbers, std::string_view{name}).get(), sum + static_cast<double>(name.size()));
        EXPECT_TRUE(at(
            p,
            [](const std::string&, std::span<const double> v) {
              return reinterpret_cast<std::uintptr_t>(v.data()) % alignof(double) == 0;
            },
            name, numbers));
      }
    }
  });
}

// The message's room has been given back meanwhile: others have used it.
TEST_P(bodies, keep_their_views_while_they_wait) {
  run([] {
    const place other{(here().index() + 1) % place_count()};
    for (const std::size_t count : {1U, 30U, 600U, 40000U}) {
      const std::vector<int> sent(count, 7);
      const bool same = at(
          other,
          [](std::span<const int> numbers, std::string_view text, place back) {
            for (int i = 0; i < 50; ++i)
              at(back, [](std::span<const int> v) { return v.size(); }, std::vector<int>(100, i));
            return std::ranges::all_of(numbers, [](int n) { return n == 7; }) && text == "text";
          },
          sent, "text", here());
      EXPECT_TRUE(same) << count;
    }
    barrier();
  });
}

TEST_P(bodies, return_futures_of_what_they_view) {
  run([] {
    for (const place p : places())
      EXPECT_EQ(
          at(
              p, [](std::string_view text) { return async([text] { return text.size(); }); }, std::string(1000, 'x')),
          1000U);
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, bodies, testing::ValuesIn(test::all_layouts()), test::layout_name);

}  // namespace
}  // namespace situ
