// Bounds the connections that have not logged in: the strangers. Each stranger has a short time, its grace, in which no
// other stranger takes its place. When the table is full, the server stops accepting, and the kernel's queue holds the
// new connections. So a client that is logging in is not pushed out, and a silent stranger blocks its place only for
// the grace.
//
// Uses no sockets and no clocks. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace situ::rmem::detail {

class admission {
 public:
  // A stranger keeps its place for this time while others wait.
  static constexpr std::uint64_t grace_ns = 250'000'000;
  // Accepting rests for this time when no descriptor is left, unless a descriptor is released before.
  static constexpr std::uint64_t rest_ns = 100'000'000;

  explicit admission(std::size_t most_strangers) noexcept : most_{most_strangers} {}

  // Notes that a connection is a stranger, or no longer one. pre: numbers grow with time.
  void enter(std::uint64_t number, std::uint64_t now_ns) { strangers_.try_emplace(number, now_ns); }
  void leave(std::uint64_t number) noexcept;
  [[nodiscard]] bool is_full() const noexcept { return strangers_.size() >= most_; }
  // Returns the oldest stranger if its grace is over: it may make room for another stranger.
  [[nodiscard]] std::optional<std::uint64_t> overdue(std::uint64_t now_ns) const noexcept;

  // Suspend accepting. Without room: until a stranger leaves or the oldest one is overdue. Without descriptors: until a
  // connection ends, the oldest stranger is overdue, or rest_ns has passed.
  void rest_for_room(std::uint64_t now_ns) noexcept { rest(now_ns, ~std::uint64_t{0}); }
  void rest_for_descriptors(std::uint64_t now_ns) noexcept { rest(now_ns, now_ns + rest_ns); }
  // Ends the rest, since a connection has ended and released a descriptor.
  void connection_ended() noexcept { end_of_rest_ns_ = 0; }
  [[nodiscard]] bool is_resting() const noexcept { return is_resting_; }
  // Returns true, once, when the rest is over.
  [[nodiscard]] bool take_end_of_rest(std::uint64_t now_ns) noexcept;
  // Shortens a sleep of `most_ms` (-1: without limit) to the end of the rest.
  [[nodiscard]] int sleep_ms(std::uint64_t now_ns, int most_ms) const noexcept;

 private:
  void rest(std::uint64_t now_ns, std::uint64_t until_ns) noexcept;

  std::size_t most_;
  std::map<std::uint64_t, std::uint64_t> strangers_;  // by number, so the oldest first; value: the time of entry, in ns
  bool is_resting_ = false;
  std::uint64_t end_of_rest_ns_ = 0;
};

// The descriptors that clients do not need, divided by use.
struct descriptor_plan {
  std::uint64_t strangers = 0;
  std::uint64_t region_files = 0;
};
// Raises the soft limit of this process to its hard one. Throws bad_launch if that is not enough for `most_clients` and
// the fewest strangers and regions.
[[nodiscard]] descriptor_plan plan_descriptors(std::uint64_t most_clients);

}  // namespace situ::rmem::detail
