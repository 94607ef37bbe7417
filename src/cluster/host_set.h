// A set of hosts of a job, by their numbers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace situ::detail::cluster {

class host_set {
 public:
  // The most hosts of a job: a larger set would not fit the head of a message together with other fields.
  static constexpr std::uint16_t most_hosts = 1024;
  static constexpr std::size_t most_words = most_hosts / 64;
  static constexpr std::uint16_t none = most_hosts;

  host_set() = default;
  // Hosts 0 to count - 1.
  static host_set first_hosts(std::uint16_t count) noexcept {
    host_set made;
    for (std::uint16_t h = 0; h < count; ++h) made.add(h);
    return made;
  }

  [[nodiscard]] bool has(std::uint16_t host) const noexcept { return (words[host / 64] >> host % 64 & 1) != 0; }
  void add(std::uint16_t host) noexcept { words[host / 64] |= std::uint64_t{1} << host % 64; }
  void remove(std::uint16_t host) noexcept { words[host / 64] &= ~(std::uint64_t{1} << host % 64); }
  void remove(const host_set& others) noexcept {
    for (std::size_t i = 0; i < most_words; ++i) words[i] &= ~others.words[i];
  }
  void keep(const host_set& others) noexcept {
    for (std::size_t i = 0; i < most_words; ++i) words[i] &= others.words[i];
  }
  [[nodiscard]] std::uint16_t count() const noexcept {
    int sum = 0;
    for (const std::uint64_t each : words) sum += std::popcount(each);
    return static_cast<std::uint16_t>(sum);
  }
  // Returns the lowest host of the set, or `none` if the set is empty.
  [[nodiscard]] std::uint16_t first() const noexcept {
    for (std::size_t i = 0; i < most_words; ++i)
      if (words[i] != 0)
        return static_cast<std::uint16_t>(64 * i + static_cast<std::size_t>(std::countr_zero(words[i])));
    return none;
  }
  [[nodiscard]] bool is_empty() const noexcept { return first() == none; }
  // Returns true if all hosts of this set are in `others`.
  [[nodiscard]] bool is_part_of(const host_set& others) const noexcept {
    for (std::size_t i = 0; i < most_words; ++i)
      if ((words[i] & ~others.words[i]) != 0) return false;
    return true;
  }
  friend bool operator==(const host_set&, const host_set&) = default;

  // Host h is bit h % 64 of word h / 64: the form in which messages carry the set.
  std::array<std::uint64_t, most_words> words{};
};

}  // namespace situ::detail::cluster
