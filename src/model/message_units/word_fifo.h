// One lane of a FIFO: words with the mark of a packet's last one. All who use it see it as it was at the cycle's start.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "model/message_units/formats.h"

namespace situ::model {

// The units that step in the next cycle. A unit whose step changed nothing sleeps until a FIFO at its ends changes.
class awake_units {
 public:
  explicit awake_units(unsigned units = 0) : bits_((units + 63) / 64) {}
  void wake(unsigned unit) noexcept { bits_[unit / 64] |= std::uint64_t{1} << unit % 64; }
  [[nodiscard]] std::vector<std::uint64_t>& bits() noexcept { return bits_; }

 private:
  std::vector<std::uint64_t> bits_;
};

struct fifo_word {
  std::uint32_t word = 0;
  bool is_last = false;
};

// At most one word is put, and one taken, in a cycle. `now` never decreases.
class word_fifo {
 public:
  static constexpr unsigned usual_depth = 16;

  explicit word_fifo(unsigned depth = usual_depth)
      : words_(std::bit_ceil(depth)), mask_{std::bit_ceil(depth) - 1}, depth_{depth} {}
  [[nodiscard]] unsigned depth() const noexcept { return depth_; }

  // The reader is woken by the first word, the writer by the first place; a writer that counts places by every one.
  void connect(awake_units& units, unsigned writer, unsigned reader, bool writer_counts = false) noexcept {
    units_ = &units;
    writer_ = writer;
    reader_ = reader;
    wakes_writer_at_ = writer_counts ? 0 : depth_;
    wakes_reader_at_ = 0;
  }

  [[nodiscard]] unsigned held(cycle now) const noexcept {
    return size() - (put_at_ == now ? 1U : 0U) + (taken_at_ == now ? 1U : 0U);
  }
  [[nodiscard]] bool has_word(cycle now) const noexcept { return size() > (put_at_ == now ? 1U : 0U); }
  [[nodiscard]] bool has_room(cycle now) const noexcept { return held(now) < depth_; }
  [[nodiscard]] bool is_empty() const noexcept { return put_ == taken_; }
  // Returns how many words were taken before `now`, modulo 2^32.
  [[nodiscard]] std::uint32_t taken_before(cycle now) const noexcept { return taken_ - (taken_at_ == now ? 1U : 0U); }

  // Returns whether a word was put, or taken, in this cycle.
  [[nodiscard]] bool was_put(cycle now) const noexcept { return put_at_ == now; }
  [[nodiscard]] bool was_taken(cycle now) const noexcept { return taken_at_ == now; }

  // pre: not empty
  [[nodiscard]] const fifo_word& back() const noexcept { return words_[(put_ - 1) & mask_]; }
  // pre: has_word
  [[nodiscard]] const fifo_word& front() const noexcept { return words_[taken_ & mask_]; }
  // pre: has_word(now)
  fifo_word take(cycle now) noexcept {
    if (size() >= wakes_writer_at_) units_->wake(writer_);
    taken_at_ = now;
    const fifo_word& first = words_[taken_++ & mask_];
    return {first.word, first.is_last};
  }
  // pre: has_room(now)
  void put(fifo_word word, cycle now) noexcept {
    if (size() == wakes_reader_at_) units_->wake(reader_);
    put_at_ = now;
    fifo_word& place = words_[put_++ & mask_];
    place.word = word.word;  // one by one: GCC copies a whole fifo_word by way of the stack
    place.is_last = word.is_last;
  }

 private:
  static constexpr cycle never = ~cycle{0};
  static constexpr unsigned nobody = ~0U;  // held by no FIFO: nobody is woken
  [[nodiscard]] unsigned size() const noexcept { return put_ - taken_; }

  std::vector<fifo_word> words_;
  std::uint32_t put_ = 0;    // words so far, modulo 2^32
  std::uint32_t taken_ = 0;  // likewise
  cycle put_at_ = never;
  cycle taken_at_ = never;
  std::uint32_t mask_;
  unsigned depth_;
  unsigned wakes_writer_at_ = nobody;  // as many words as the FIFO holds before one is taken, or more
  unsigned wakes_reader_at_ = nobody;  // as many as it holds before one is put
  awake_units* units_ = nullptr;
  unsigned writer_ = 0;
  unsigned reader_ = 0;
};

using two_lanes = std::array<word_fifo, lanes>;
[[nodiscard]] inline two_lanes lanes_of(unsigned depth) { return {word_fifo{depth}, word_fifo{depth}}; }

// The lanes in the order in which a wire takes them: a reply goes before a request.
inline constexpr std::array<unsigned, lanes> replies_first = {1, 0};

}  // namespace situ::model
