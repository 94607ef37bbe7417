// The program's own count of what moves between places: one row a place, kept by it and read by place 0 at the end.
// What the runtime adds for its collectives is not in here; `situ run --stats` counts everything. Not thread-safe (a
// place is one thread).
#pragma once

#include <situ/situ.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace package_rank {

struct flow {
  std::uint64_t bytes = 0;     // of user data
  std::uint64_t messages = 0;  // active messages and both ways of an `at`; puts and gets need none
  flow& operator+=(const flow& other) noexcept {
    bytes += other.bytes;
    messages += other.messages;
    return *this;
  }
};

class traffic {
 public:
  traffic();  // outside any phase
  ~traffic();
  traffic(const traffic&) = delete;
  traffic& operator=(const traffic&) = delete;

  // What is counted from now on belongs to this phase.
  void start_phase(std::size_t phase);
  // Bytes written at a place by put; fetched from it by get.
  void put(situ::place to, std::size_t bytes) { count(to, outbound, {bytes, 0}); }
  void get(situ::place from, std::size_t bytes) { count(from, inbound, {bytes, 0}); }
  void message(situ::place to, std::size_t bytes) { count(to, outbound, {bytes, 1}); }
  // An `at`: the arguments' bytes there, the result's bytes back.
  void call(situ::place to, std::size_t there, std::size_t back) {
    count(to, outbound, {there, 1});
    count(to, inbound, {back, 1});
  }

  static constexpr std::size_t phase_count = 5;
  struct table {
    std::uint32_t places = 0;
    std::vector<flow> flows;     // [from * places + to]
    std::vector<flow> of_phase;  // [phase]
    [[nodiscard]] const flow& at(std::uint32_t from, std::uint32_t to) const {
      return flows[from * std::size_t{places} + to];
    }
  };
  // Collective: the table is complete at place 0 and empty elsewhere. Its own gets are not counted.
  [[nodiscard]] table collect() const;

 private:
  enum direction : std::size_t { outbound, inbound };
  void count(situ::place other, direction d, flow what);
  [[nodiscard]] std::size_t row_length() const noexcept { return phase_count * 2 * places_; }

  std::uint32_t places_;
  std::size_t phase_ = 0;
  situ::ptr<flow> row_;  // [phase][direction][place]
};

}  // namespace package_rank
