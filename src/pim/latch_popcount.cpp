// The ones of vertical elements, counted in latches: digit 0 in latch 1 or 7, digit k in latch k + 1.
//
// Two bits at a time go into digit 0: with t = x xor digit, the carry t ? y : digit stays where the digit was, and the
// digit is t xor y. The carry goes up through the other digits, in the free latch and the amplifiers by turns. Of 64
// ones the carry out of digit 5 is digit 6, which needs no latch.
#include <bit>
#include <utility>

#include "pim/latch_programs.h"

namespace situ::pim {
namespace {

using role = operand_role;
using op = micro_op;

class one_counter {
 public:
  explicit one_counter(latch_writer& to) : to_{to} {}

  void write() {
    to_.read(role::a, 0);
    to_.move(lowest_, sa);
    for (unsigned i = 1; i < to_.bits(); i += 2) {
      if (i + 1 < to_.bits())
        take_two(i);
      else
        take_one(i);
    }
    store();
  }

 private:
  [[nodiscard]] std::uint8_t latch_of(unsigned digit) const noexcept {
    return digit == 0 ? lowest_ : static_cast<std::uint8_t>(digit + 1);
  }

  // Adds a latch to the digits from `first` on. taken: the bits that are counted then.
  void ripple(unsigned first, std::uint8_t carry, unsigned taken) {
    const auto needed = static_cast<unsigned>(std::bit_width(taken));
    for (unsigned digit = first; digit < needed; ++digit) {
      if (digit == 6) {
        last_carry_ = carry;
        return;
      }
      if (digit >= digits_) {
        to_.move(latch_of(digit), carry);
        digits_ = digit + 1;
        return;
      }
      const std::uint8_t other = carry == sa ? free_ : sa;
      if (digit + 1 < needed) to_.gate(op::logic_and, other, latch_of(digit), carry);
      to_.gate(op::logic_xor, latch_of(digit), latch_of(digit), carry);
      carry = other;
    }
  }

  void take_one(unsigned i) {
    to_.read(role::a, i);
    ripple(0, sa, i + 1);
  }

  void take_two(unsigned i) {
    to_.read(role::a, i);
    to_.gate(op::logic_xor, free_, sa, lowest_);
    to_.read(role::a, i + 1);
    to_.gate(op::select, lowest_, free_, sa, lowest_);
    to_.gate(op::logic_xor, free_, free_, sa);
    std::swap(lowest_, free_);
    ripple(1, free_, i + 2);
  }

  // The mask needs a latch, which is free when the count is complete: unless there is a digit 6, which a row keeps.
  void store() {
    row_name kept;
    const bool has_last = last_carry_ != none;
    if (has_last && to_.masked()) {
      to_.move(sa, last_carry_);
      kept = to_.scratch();
      to_.write(kept);
    } else if (has_last) {
      to_.store(6, last_carry_);
    }
    if (to_.masked()) {
      to_.move(1, lowest_);
      lowest_ = 1;
      to_.load_mask();
    }
    for (unsigned digit = 0; digit < digits_; ++digit) to_.store(digit, latch_of(digit));
    if (has_last && to_.masked()) {
      to_.read(kept);
      to_.store(6, sa);
    }
    to_.store_constant(digits_ + (has_last ? 1 : 0), to_.bits(), false);
  }

  static constexpr std::uint8_t none = 255;
  latch_writer& to_;
  std::uint8_t lowest_ = 1;  // the latch of digit 0
  std::uint8_t free_ = 7;
  unsigned digits_ = 1;
  std::uint8_t last_carry_ = none;  // the latch of digit 6
};

}  // namespace

void write_popcount(latch_writer& to) { one_counter{to}.write(); }

}  // namespace situ::pim
