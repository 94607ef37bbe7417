// Finds which loads wait for which: a load that needs a value from another load cannot begin before that value arrives.
// The executor sees addresses and values, not registers, so a dependence is found by value.
//
// 1. A pointer: the address is in an object of up to 1 KiB at a value of 8 bytes that a recent load returned (or up to
//    64 bytes before the value). If several loads returned the value, the last of them counts: a copy of the pointer
//    that was stored and loaded again does not arrive earlier than its own load.
// 2. An index: a load in code whose addresses have followed the values of another load as base + scale * value, learnt
//    as by the indirect memory prefetcher of Yu et al. (MICRO 2015): two pairs give scale (1 to 256 bytes) and base,
//    and from the third pair on the dependence counts. A load with a constant stride needs no index.
//
// Blind spots: values that the program computes on (hashed, masked, added to one another) before they become an
// address; pointers that were loaded more than `remembered` loads ago; base addresses that change every time. Such
// loads begin too early. With an array of equally spaced pointers or of indices into itself, loads wait without need.
// Conditions are not seen.
//
// Worked example: `i = next[i]` is at one place in the code, next at 1000 with 4 bytes each. Values 7, 3, 9 give
// addresses 1028, 1012, 1036: (1012 - 1028) / (3 - 7) = 4 and 1012 - 4 * 3 = 1000; the third address is 1000 + 4 * 9.
// So that load, and each load that follows, waits for the load that returned the value, here 9.
//
// Not thread-safe. cost: linear in `remembered` for each load.
#pragma once

#include "model/parts/small_hash.h"
#include "model/parts/time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace situ::model {

class load_dependence {
 public:
  static constexpr std::size_t remembered = 16;  // loads whose values may become addresses

  // Returns when the address of an access by this code is known, if the access is executed at `now`.
  [[nodiscard]] time_ps known(std::uint64_t address, std::uint64_t code, time_ps now) noexcept {
    time_ps at = std::max(now, by_pointer(address, now));
    if (code == 0) return at;
    consumer& c = consumer_of(code);
    if (last_ready_ > at && c.agreed != 0 && !c.is_stream) at = by_index(c, address, at);
    follow(c, address);
    return at;
  }
  // Returns when all loads after the first `before` ones have arrived, as far back as loads are remembered.
  [[nodiscard]] time_ps ready_since(std::uint64_t before, time_ps now) const noexcept {
    for (std::uint64_t n = count_; n > before && n + remembered > count_; --n)
      now = std::max(now, loads_[(n - 1) % remembered].ready);
    return now;
  }
  // Returns the number of loads so far.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  // Records a load that returned `value`, which arrives at `ready`.
  void loaded(std::uint64_t value, std::uint32_t bytes, std::uint64_t code, time_ps ready) noexcept {
    const std::size_t i = count_++ % remembered;
    loads_[i] = {code, value, ready, bytes == 8 && value >= first_page};
    blocks_[i / 8][i % 8] = block_of(value - before_bytes);
    last_ready_ = std::max(last_ready_, ready);
  }

 private:
  static constexpr std::uint64_t object_bytes = 1024;
  static constexpr std::uint64_t before_bytes = 64;
  static constexpr std::uint64_t first_page = 4096;  // no objects are at addresses below it
  static constexpr std::int64_t most_scale = 256;
  static constexpr std::size_t producers = 4;  // number of newest loads that are searched for an index
  static constexpr std::uint8_t tries = 64;    // failures after which code is taken to have no index
  struct load {
    std::uint64_t code = 0;
    std::uint64_t value = 0;
    time_ps ready = 0;
    bool may_point = false;
  };
  struct pair {
    std::uint64_t code = 0;
    std::uint64_t value = 0;
  };
  // The history of the addresses of one place in the code.
  struct consumer {
    std::uint64_t code = 0;
    std::uint64_t last = 0;
    std::int64_t stride = 0;
    bool is_stream = false;
    std::array<pair, producers> before;  // newest loads when the code was last executed
    std::uint64_t producer = 0;          // 0: none found
    std::uint64_t base = 0;
    std::int64_t scale = 0;
    std::uint8_t agreed = 0;
    std::uint8_t failed = 0;
  };

  // An object is in the block of its first byte or in the next one. A block is known by its number's last bits.
  static constexpr std::uint64_t block_bytes = 2048;
  static_assert(block_bytes >= object_bytes + before_bytes);
  using blocks [[gnu::vector_size(16)]] = std::uint16_t;
  using words [[gnu::vector_size(16)]] = std::uint64_t;
  [[nodiscard]] static std::uint16_t block_of(std::uint64_t address) noexcept {
    return static_cast<std::uint16_t>(address / block_bytes);
  }
  // Returns false if the address is in no object of a remembered load. Looks at all loads at once, as vectors.
  [[nodiscard]] bool may_be_in_object(std::uint64_t address) const noexcept {
    const std::uint16_t here = block_of(address);
    const std::uint16_t before = block_of(address - block_bytes);
    std::uint64_t any = 0;
    for (const blocks& some : blocks_) {
      const auto is_near = reinterpret_cast<words>((some == here) | (some == before));
      any |= is_near[0] | is_near[1];
    }
    return any != 0;
  }
  [[nodiscard]] time_ps by_pointer(std::uint64_t address, time_ps now) const noexcept {
    if (last_ready_ <= now || !may_be_in_object(address)) return now;
    for (const load& l : loads_)
      if (l.ready > now && l.may_point && address - l.value + before_bytes < object_bytes + before_bytes) now = l.ready;
    return now;
  }
  [[nodiscard]] consumer& consumer_of(std::uint64_t code) noexcept {
    consumer& c = consumers_[small_hash(code)];
    if (c.code != code) c = {.code = code, .before = {}};
    return c;
  }
  // Returns the n-th newest load.
  [[nodiscard]] const load& newest(std::size_t n) const noexcept {
    return loads_[(count_ + remembered - 1 - n) % remembered];
  }
  // pre: the consumer's index is known.
  [[nodiscard]] time_ps by_index(const consumer& c, std::uint64_t address, time_ps now) const noexcept {
    for (std::size_t n = 0; n < remembered; ++n) {
      const load& l = newest(n);
      if (l.code == c.producer && c.base + static_cast<std::uint64_t>(c.scale) * l.value == address)
        return std::max(now, l.ready);
    }
    return now;
  }
  // Learns from an access, after known() has used the older state.
  void follow(consumer& c, std::uint64_t address) noexcept {
    const auto stride = static_cast<std::int64_t>(address - c.last);
    c.is_stream = stride == c.stride;
    c.stride = stride;
    if (c.failed < tries && !c.is_stream) {
      if (c.producer != 0) {
        confirm(c, address);
      } else if (c.last != 0) {
        look_for_index(c, address);
      }
    }
    c.last = address;
    if (c.producer == 0 && c.failed < tries)
      for (std::size_t n = 0; n < producers; ++n) c.before[n] = {newest(n).code, newest(n).value};
  }
  void confirm(consumer& c, std::uint64_t address) noexcept {
    for (std::size_t n = 0; n < remembered; ++n) {
      const load& l = newest(n);
      if (l.code != c.producer || c.base + static_cast<std::uint64_t>(c.scale) * l.value != address) continue;
      c.agreed = 1;
      c.failed = 0;
      return;
    }
    c.producer = 0;
    c.agreed = 0;
    ++c.failed;
  }
  void look_for_index(consumer& c, std::uint64_t address) noexcept {
    const auto moved = static_cast<std::int64_t>(address - c.last);
    for (std::size_t n = 0; n < producers; ++n)
      for (const pair& old : c.before) {
        const load& l = newest(n);
        const auto change = static_cast<std::int64_t>(l.value - old.value);
        if (old.code != l.code || l.code == 0 || change == 0 || moved % change != 0) continue;
        const std::int64_t scale = moved / change;
        if (scale < 1 || scale > most_scale) continue;
        c.producer = l.code;
        c.scale = scale;
        c.base = address - static_cast<std::uint64_t>(scale) * l.value;
        return;
      }
    ++c.failed;
  }

  std::array<load, remembered> loads_{};
  std::array<blocks, remembered / 8> blocks_{};  // of their values, the i-th in i / 8 at i % 8
  std::size_t count_ = 0;
  time_ps last_ready_ = 0;
  std::array<consumer, 256> consumers_{};
};

}  // namespace situ::model
