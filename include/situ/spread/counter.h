// counter: a number of a team, which all add to and read, and which hands out numbers.
//
//   situ::counter hits;                                       // spread: each place adds to a word of its own
//   hits.add();   long all = hits.read();
//
//   situ::counter work{situ::place{0}, {.end = 1'000'000}};   // at one place
//   while (const auto some = work.next(100))                  // each index once, to whoever asks
//     for (const long i : some) compute(i);
//
// At one place every operation is an atomic on its word. Spread, add() is a store into this place's own word, and
// read() adds all of them up; next() hands out what the place has taken in a block: half of its share of what is left
// (guided self-scheduling, Polychronopoulos and Kuck, 1987; without an end 64 times what is asked for), so few take
// from the common word. For items of equal work
// that is faster; where single ones take long, a counter at one place balances better.
//
// Collective: the members of a team construct and destroy it together, in the same order. Belongs to the thread that
// made it. Errors: place_lost_error where a place whose word is needed is lost; what that has added, or taken and not
// used, stays counted.
#pragma once

#include <situ/memory/ptr.h>
#include <situ/runtime/team.h>
#include <situ/spread/detail/members.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace situ {

// What a counter begins with.
struct counter_options {
  std::int64_t first = 0;                                       // its value
  std::int64_t end = std::numeric_limits<std::int64_t>::max();  // next() gives numbers below it
};

// The numbers from `first` up to, but without, `last`; goes into a range-based for. cost: two words'.
struct number_range {
  // Goes through them.
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
  // Whether there are none. cost: a comparison.
  [[nodiscard]] bool empty() const noexcept { return first == last; }
  // How many there are. cost: a subtraction.
  [[nodiscard]] std::int64_t size() const noexcept { return last - first; }
  [[nodiscard]] explicit operator bool() const noexcept { return !empty(); }
  // Where a loop begins. cost: a copy.
  [[nodiscard]] iterator begin() const noexcept { return {first}; }
  // Where it ends. cost: a copy.
  [[nodiscard]] iterator end() const noexcept { return {last}; }
};

// A number of all members; see above.
class counter {
 public:
  // Spread over the members. cost: an all_gather.
  explicit counter(const counter_options& options = {}, const team& members = world());
  // At one place. Throws bad_argument where that is no member.
  explicit counter(place at, const counter_options& options = {}, const team& members = world());
  // Collective, unless an exception or a loss ends its scope. cost: a barrier.
  ~counter();
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;

  // Adds to it. cost: a store where it is spread, else an atomic on one line for all.
  void add(std::int64_t n = 1);

  // What all have added and taken. Where others do so meanwhile: at one place its value at that moment, spread one that
  // may hold some of that and not the rest. cost: a load; spread one for each member.
  [[nodiscard]] std::int64_t read() const;

  // The next n numbers, which nobody else gets: fewer at the end, or (spread) at the end of a block, none where all are
  // handed out. Throws bad_argument for n < 1. cost: an atomic; spread some ns, and an atomic for each block.
  [[nodiscard]] number_range next(std::int64_t n = 1);

 private:
  struct alignas(64) line {  // a word that nothing else shares a line with
    std::int64_t value;
  };

  counter(bool is_spread, place at, const counter_options& options, const team& members);
  // Advances the common word by what share(left) gives.
  template <class Share>
  [[nodiscard]] number_range take(Share share);
  void add_here(std::int64_t n);

  detail::joint_end end_of_all_;
  bool is_spread_;
  place at_;  // of the common word
  std::int64_t end_;
  std::vector<ptr<line>> lines_;  // of each member: its own word, and one that is the common word where it lies
  ptr<std::int64_t> common_;      // the number is this and the sum of all own words
  ptr<line> own_;
  std::int64_t block_first_ = 0;  // taken from the common word, and not handed out yet
  std::int64_t block_last_ = 0;
};

}  // namespace situ
