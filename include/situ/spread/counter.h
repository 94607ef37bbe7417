// counter: an integer shared by a team, which all members add to and read, and which hands out ranges of numbers.
//
//   situ::counter hits;                                       // spread: each place adds to a word of its own
//   hits.add();   long all = hits.read();
//
//   situ::counter work{situ::place{0}, {.end = 1'000'000}};   // at one place
//   while (const auto some = work.next(100))                  // each index goes to one caller
//     for (const long i : some) compute(i);
//
// A counter at one place has one word, and every operation is an atomic on it. In a spread counter, add() stores to
// this place's own word, and read() sums all words; next() hands out numbers from a block that the place has reserved
// in the common word. A block is half of the place's share of the remaining numbers (guided self-scheduling,
// Polychronopoulos and Kuck, 1987), or 64 times the requested count if there is no end, so that few calls access the
// common word. A spread counter is faster for items of equal work; if single items take long, a counter at one place
// balances better.
//
// Collective: the members of a team construct and destroy it together, in the same order. It belongs to the thread that
// made it. Errors: place_lost_error if an operation needs the word of a lost place; numbers that the lost place has
// added, or reserved and not used, stay counted.
#pragma once

#include <situ/memory/ptr.h>
#include <situ/runtime/team.h>
#include <situ/spread/detail/members.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace situ {

// The initial state of a counter.
struct counter_options {
  std::int64_t first = 0;                                       // the initial value
  std::int64_t end = std::numeric_limits<std::int64_t>::max();  // next() returns numbers below it
};

// The numbers in [first, last), for a range-based for. cost: that of two words.
struct number_range {
  // Iterates over the numbers.
  struct iterator {
    std::int64_t at;
    [[nodiscard]] std::int64_t operator*() const noexcept { return at; }
    iterator& operator++() noexcept {
      ++at;
      return *this;
    }
    friend bool operator==(const iterator&, const iterator&) = default;
  };

  std::int64_t first = 0;
  std::int64_t last = 0;
  // Returns true if the range has no numbers. cost: a comparison.
  [[nodiscard]] bool empty() const noexcept { return first == last; }
  // Returns how many numbers the range has. cost: a subtraction.
  [[nodiscard]] std::int64_t size() const noexcept { return last - first; }
  [[nodiscard]] explicit operator bool() const noexcept { return !empty(); }
  // Returns an iterator to `first`. cost: a copy.
  [[nodiscard]] iterator begin() const noexcept { return {first}; }
  // Returns an iterator to `last`. cost: a copy.
  [[nodiscard]] iterator end() const noexcept { return {last}; }
};

// An integer shared by the members of a team; see above.
class counter {
 public:
  // Makes a spread counter, with a word at each member. cost: an all_gather.
  explicit counter(const counter_options& options = {}, const team& members = world());
  // Makes a counter at one place. Throws bad_argument if `at` is not a member.
  explicit counter(place at, const counter_options& options = {}, const team& members = world());
  // Collective, unless an exception or a loss ends its scope. cost: a barrier.
  ~counter();
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;

  // Adds n to the counter. cost: a store if the counter is spread, else an atomic on one line shared by all.
  void add(std::int64_t n = 1);

  // Returns the counter's value: its initial value, plus all numbers added, plus how many numbers next() has handed
  // out. During concurrent updates, a counter at one place returns its value at one moment; a spread counter may
  // include some of the updates and miss others. cost: a load; of a spread counter a load for each member.
  [[nodiscard]] std::int64_t read() const;

  // Returns the next n numbers, which no other call gets. Returns fewer at the end, or (spread) at the end of a block,
  // and an empty range if all are handed out. Throws bad_argument for n < 1. cost: an atomic; spread some ns, and an
  // atomic for each block.
  [[nodiscard]] number_range next(std::int64_t n = 1);

 private:
  struct alignas(64) line {  // a word alone on its cache line
    std::int64_t value;
  };

  counter(bool is_spread, place at, const counter_options& options, const team& members);
  // Advances the common word by share(left), and returns the numbers that it passes.
  template <class Share>
  [[nodiscard]] number_range take(Share share);
  void add_here(std::int64_t n);

  detail::joint_end end_of_all_;
  bool is_spread_;
  place at_;  // the place of the common word
  std::int64_t end_;
  std::vector<ptr<line>> lines_;  // of each member, two lines: its own word, and the common word if the member is at_
  ptr<std::int64_t> common_;      // the counter's value is this plus the sum of all own words
  ptr<line> own_;
  std::int64_t block_first_ = 0;  // reserved from the common word, and not handed out yet
  std::int64_t block_last_ = 0;
};

}  // namespace situ
