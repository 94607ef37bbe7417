// A set of places of a job, by their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace situ::detail::cluster {

class place_set {
 public:
  place_set() = default;
  // An empty set, of places 0 to count - 1.
  explicit place_set(std::uint32_t count) : words_(words_for(count)), count_{count} {}

  [[nodiscard]] static constexpr std::size_t words_for(std::uint32_t count) noexcept {
    return (std::size_t{count} + 63) / 64;
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  // pre for the next two: place < size().
  [[nodiscard]] bool has(std::uint32_t place) const noexcept { return (words_[place / 64] >> place % 64 & 1) != 0; }
  void add(std::uint32_t place) noexcept { words_[place / 64] |= std::uint64_t{1} << place % 64; }
  // pre for the next two: `others` has the same size.
  void add(const place_set& others) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= others.words_[i];
  }
  void keep(const place_set& others) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= others.words_[i];
  }
  [[nodiscard]] bool is_empty() const noexcept {
    for (const std::uint64_t each : words_)
      if (each != 0) return false;
    return true;
  }
  friend bool operator==(const place_set&, const place_set&) = default;

  // Place p is bit p % 64 of word p / 64: the form in which messages carry the set.
  [[nodiscard]] std::span<std::uint64_t> words() noexcept { return words_; }
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_; }

 private:
  std::vector<std::uint64_t> words_;
  std::uint32_t count_ = 0;
};

}  // namespace situ::detail::cluster
