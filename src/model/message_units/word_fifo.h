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
      : words_(std::bit_ceil(depth)), mask_{std::bit_ceil(depth) - 1}, depth_{depth}, wakes_writer_at_{depth} {}
  [[nodiscard]] unsigned depth() const noexcept { return depth_; }

  // Whoever reads is woken by the first word, whoever writes by the first place; a writer that counts the places by every one.
  void connect(awake_units& units, unsigned writer, unsigned reader, bool writer_counts = false) noexcept {
    units_ = &units;
    writer_ = writer;
    reader_ = reader;
    wakes_writer_at_ = writer_counts ? 0 : depth_;
  }

  [[nodiscard]] unsigned held(cycle now) const noexcept {
    return size_ - (put_at_ == now ? 1U : 0U) + (taken_at_ == now ? 1U : 0U);
  }
  [[nodiscard]] bool has_word(cycle now) const noexcept { return size_ > (put_at_ == now ? 1U : 0U); }
  [[nodiscard]] bool has_room(cycle now) const noexcept { return held(now) < depth_; }
  [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }
  // Returns how many words were taken before `now`.
  [[nodiscard]] std::uint64_t taken_before(cycle now) const noexcept { return taken_ - (taken_at_ == now ? 1U : 0U); }

  // Whether a word was put, or taken, in this cycle.
  [[nodiscard]] bool was_put(cycle now) const noexcept { return put_at_ == now; }
  [[nodiscard]] bool was_taken(cycle now) const noexcept { return taken_at_ == now; }

  // pre: not empty
  [[nodiscard]] const fifo_word& back() const noexcept { return words_[(first_ + size_ - 1) & mask_]; }
  // pre: has_word
  [[nodiscard]] const fifo_word& front() const noexcept { return words_[first_]; }
  // pre: has_word(now)
  fifo_word take(cycle now) noexcept {
    if (units_ != nullptr && held(now) >= wakes_writer_at_) units_->wake(writer_);
    const fifo_word word = words_[first_];
    first_ = (first_ + 1) & mask_;
    --size_;
    ++taken_;
    taken_at_ = now;
    return word;
  }
  // pre: has_room(now)
  void put(fifo_word word, cycle now) noexcept {
    if (units_ != nullptr && held(now) == 0) units_->wake(reader_);
    words_[(first_ + size_) & mask_] = word;
    ++size_;
    put_at_ = now;
  }

 private:
  static constexpr cycle never = ~cycle{0};
  std::vector<fifo_word> words_;
  unsigned mask_;
  unsigned depth_;
  unsigned first_ = 0;
  unsigned size_ = 0;
  cycle put_at_ = never;
  cycle taken_at_ = never;
  std::uint64_t taken_ = 0;
  awake_units* units_ = nullptr;
  unsigned writer_ = 0;
  unsigned reader_ = 0;
  unsigned wakes_writer_at_;
};

using two_lanes = std::array<word_fifo, lanes>;
[[nodiscard]] inline two_lanes lanes_of(unsigned depth) { return {word_fifo{depth}, word_fifo{depth}}; }

// The lanes in the order in which a wire takes them: a reply goes before a request.
inline constexpr std::array<unsigned, lanes> replies_first = {1, 0};

}  // namespace situ::model
