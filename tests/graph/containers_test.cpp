// The travelling containers against std's, and their memory.
#include <situ/graph/clone.h>

#include "support/places.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

namespace situ {
namespace {

template <class T>
void expect_same(const situ::vector<T>& ours, const std::vector<T>& expected) {
  ASSERT_EQ(ours.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_TRUE(ours[i] == expected[i]) << i;
}

TEST(containers, vector_does_what_std_vector_does) {
  const std::uint64_t seed = test::test_seed();
  std::mt19937_64 random{seed};
  situ::vector<std::uint64_t> ours;
  std::vector<std::uint64_t> model;
  for (int step = 0; step < test::rounds(20000); ++step) {
    const std::uint64_t value = random();
    switch (random() % 8) {
      case 0:
        ours.push_back(value);
        model.push_back(value);
        break;
      case 1:
        ours.emplace_back(value);
        model.emplace_back(value);
        break;
      case 2:
        if (!model.empty()) {
          ours.pop_back();
          model.pop_back();
        }
        break;
      case 3: {
        const std::size_t n = value % 40;
        ours.resize(n);
        model.resize(n);
        break;
      }
      case 4: {
        const std::size_t at = model.empty() ? 0 : value % model.size();
        ours.insert(ours.begin() + at, value);
        model.insert(model.begin() + static_cast<std::ptrdiff_t>(at), value);
        break;
      }
      case 5:
        if (!model.empty()) {
          const std::size_t at = value % model.size();
          ours.erase(ours.begin() + at);
          model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
        }
        break;
      case 6: {
        situ::vector<std::uint64_t> copy = ours;
        ours = std::move(copy);
        break;
      }
      default:
        if (value % 50 == 0) {
          ours.clear();
          model.clear();
        } else {
          ours.reserve(value % 60);
        }
    }
    expect_same(ours, model);
  }
}

TEST(containers, vector_of_strings_moves_its_elements) {
  situ::vector<situ::string> words;
  for (int i = 0; i < 100; ++i) words.push_back(situ::string{std::to_string(i)});
  words.push_back(words[3]);  // an element of its own
  EXPECT_EQ(words[100], "3");
  situ::vector<situ::string> moved = std::move(words);
  EXPECT_EQ(words.size(), 0U);
  EXPECT_EQ(moved.size(), 101U);
  EXPECT_EQ(moved.front(), "0");
  moved.erase(moved.begin(), moved.begin() + 99);
  EXPECT_EQ(moved[0], "99");
}

TEST(containers, string_appends_and_compares) {
  situ::string text;
  std::string model;
  EXPECT_STREQ(text.c_str(), "");
  for (int i = 0; i < 300; ++i) {
    const std::string more(static_cast<std::size_t>(i % 7), static_cast<char>('a' + i % 26));
    text.append(more);
    model.append(more);
    ASSERT_EQ(text.view(), model);
    ASSERT_EQ(std::strlen(text.c_str()), model.size());
  }
  text += text.view().substr(0, 5);  // part of itself
  model += model.substr(0, 5);
  EXPECT_EQ(text.view(), model);
  EXPECT_TRUE(situ::string{"a"} < situ::string{"b"});
  situ::string copy = text;
  copy.clear();
  EXPECT_TRUE(copy.empty());
  EXPECT_EQ(text.view(), model);
}

TEST(containers, string_takes_a_standard_string) {
  const std::string model = "some text";
  const situ::string from_model = model;
  situ::string assigned;
  assigned = model + "!";
  EXPECT_TRUE(from_model == model && model == from_model);
  EXPECT_TRUE(assigned != model && assigned > model);
}

TEST(containers, array_is_as_long_as_it_was_made) {
  situ::array<double> none;
  EXPECT_TRUE(none.empty());
  situ::array<int> numbers(5);
  EXPECT_EQ(numbers.size(), 5U);
  EXPECT_EQ(numbers[4], 0);
  numbers = {3, 1, 2};
  EXPECT_EQ(numbers.size(), 3U);
  EXPECT_EQ(numbers.back(), 2);
  EXPECT_THROW((void)numbers.at(3), error);
}

// Counts whose bytes do not fit 64 bits, or come near: nothing is changed.
template <class T>
void expect_refusal_of_too_many() {
  const auto refuses = [](auto body) { EXPECT_EQ(test::error_of(body).code, errc::out_of_memory); };
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t n : {most, most / sizeof(T), most / sizeof(T) + 1, most / sizeof(T) + 2, most / 2 / sizeof(T),
                              most / 2 / sizeof(T) + 1, std::size_t{1} << 58}) {
    SCOPED_TRACE(n);
    refuses([n] { const situ::array<T> elements(n); });
    refuses([n] { const situ::vector<T> elements(n); });
    refuses([n] { const situ::vector<T> elements(n, T{}); });
    situ::vector<T> some(3);
    refuses([&] { some.reserve(n); });
    refuses([&] { some.resize(n); });
    EXPECT_EQ(some.size(), 3U);
    EXPECT_GE(some.capacity(), 3U);
    EXPECT_LT(some.capacity(), 100U);
    refuses([n] { (void)clone(situ::vector<T>(n)); });
  }
}

TEST(containers, refuse_counts_that_no_memory_holds) {
  const auto all = [] {
    expect_refusal_of_too_many<double>();
    expect_refusal_of_too_many<std::uint16_t>();
    expect_refusal_of_too_many<situ::string>();
    expect_refusal_of_too_many<std::array<char, 100>>();
  };
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  all();  // on the heap. Sanitizers end the program instead
#endif
  const launch_result result = test::launch_on({launch_mode::threads, 1}, [&] {
    all();
    for (std::size_t less = 0; less < 64; ++less)
      EXPECT_EQ(test::error_of([&] { (void)allocate_bytes(std::numeric_limits<std::size_t>::max() - less); }).code,
                errc::out_of_memory);
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

TEST(containers, append_nothing_to_nothing) {
  situ::string text;
  text += "";
  text += std::string_view{};
  EXPECT_STREQ(text.c_str(), "");
  text.append(text.view());
  text.push_back('a');
  EXPECT_EQ(text, "a");
}

TEST(containers, lie_in_the_segment_inside_a_runtime) {
  const launch_result result = test::launch_on({launch_mode::threads, 1}, [] {
    const std::uint64_t blocks = memory_statistics().live_blocks;
    {
      situ::vector<int> numbers{1, 2, 3};
      situ::string text{"some text"};
      EXPECT_TRUE(ptr<int>{numbers.data()}.is_here());
      EXPECT_TRUE(ptr<char>{text.data()}.is_here());
    }
    EXPECT_EQ(memory_statistics().live_blocks, blocks);
  });
  EXPECT_TRUE(result.ok()) << result.message();
}

}  // namespace
}  // namespace situ
