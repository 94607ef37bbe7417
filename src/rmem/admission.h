// Whom a server lets in before it knows who they are. A stranger is a connection that has not logged in; there is a
// bounded number of them, each with a short time in which nobody takes its place. Where there is no room, the server
// stops accepting, and the kernel's queue holds who comes; so nobody who is just logging in is pushed out, and who is
// silent keeps nobody out for longer than that time.
//
// Without sockets and clocks. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace situ::rmem::detail {

class admission {
 public:
  // How long a stranger keeps its place where others wait for one.
  static constexpr std::uint64_t grace_ns = 250'000'000;
  // How long accepting rests where no descriptor was to be had, unless one is given back before.
  static constexpr std::uint64_t rest_ns = 100'000'000;

  explicit admission(std::size_t most_strangers) noexcept : most_{most_strangers} {}

  // A connection is a stranger, or is none any more. pre: numbers grow with time.
  void enter(std::uint64_t number, std::uint64_t now_ns) { strangers_.try_emplace(number, now_ns); }
  void leave(std::uint64_t number) noexcept;
  [[nodiscard]] bool is_full() const noexcept { return strangers_.size() >= most_; }
  // The oldest stranger, where its time is over: it may make room for another one.
  [[nodiscard]] std::optional<std::uint64_t> overdue(std::uint64_t now_ns) const noexcept;

  // Accepting rests: for the lack of room, until a stranger leaves or the oldest one is overdue; for the lack of
  // descriptors, until a connection ends, the oldest one is overdue, or some time has passed.
  void rest_for_room(std::uint64_t now_ns) noexcept { rest(now_ns, ~std::uint64_t{0}); }
  void rest_for_descriptors(std::uint64_t now_ns) noexcept { rest(now_ns, now_ns + rest_ns); }
  // A connection has ended, so there is a descriptor.
  void connection_ended() noexcept { end_of_rest_ns_ = 0; }
  [[nodiscard]] bool is_resting() const noexcept { return is_resting_; }
  // Whether it is over, which ends it.
  [[nodiscard]] bool take_end_of_rest(std::uint64_t now_ns) noexcept;
  // How many milliseconds the server may sleep of `most_ms` (-1: without limit) until then.
  [[nodiscard]] int sleep_ms(std::uint64_t now_ns, int most_ms) const noexcept;

 private:
  void rest(std::uint64_t now_ns, std::uint64_t until_ns) noexcept;

  std::size_t most_;
  std::map<std::uint64_t, std::uint64_t> strangers_;  // by number, so the oldest first; since when
  bool is_resting_ = false;
  std::uint64_t end_of_rest_ns_ = 0;
};

// What a server needs of descriptors, and how the rest of them is divided.
struct descriptor_plan {
  std::uint64_t strangers = 0;
  std::uint64_t region_files = 0;
};
// Raises the soft limit of this process to its hard one. Throws bad_launch where that is not enough for so many clients
// and the fewest strangers and regions.
[[nodiscard]] descriptor_plan plan_descriptors(std::uint64_t most_clients);

}  // namespace situ::rmem::detail
