// A client's connection as its server sees it, without the socket: bytes that came in, bytes to be sent. So a test or a
// fuzzer can be the client.
//
// Invariants
//   1. Nothing is kept of a client but `in_` (a head and the longest body), `out_` (answers that wait) and `ranges_`:
//      while `out_` is long, or a read's bytes wait, no further request is looked at, and then none is taken in.
//   2. Bytes of a write go straight to the region, and those of a read come straight from it. Each piece is checked
//      anew (memory_table::reach), so whoever loses the capability, or the region, loses it in the middle.
//   3. Only between two calls may a region end: `detach` first copies what `output` has shown of one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rmem/service.h"

namespace situ::rmem::detail {

class session {
 public:
  session(service& of, std::uint64_t number);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // Where the next bytes of the client go; empty: none are wanted until it has taken some of the output.
  [[nodiscard]] std::span<std::byte> room();
  // So many have come there.
  void received(std::size_t bytes);
  // What is to be sent next, the one before the other.
  using pieces = std::array<std::span<const std::byte>, 2>;
  [[nodiscard]] pieces output() const noexcept;
  void sent(std::size_t bytes);
  // Of these bytes of a region, what output() has shown and has not been sent is copied.
  void detach(std::span<const std::byte> from);

  // The connection is to be closed once there is no output.
  [[nodiscard]] bool has_ended() const noexcept { return step_ == step::ended; }
  [[nodiscard]] bool is_logged_in() const noexcept { return application_ != any_application; }
  // Whether the client owes something: the rest of a message, or taking an answer.
  [[nodiscard]] bool is_awaited() const noexcept;
  // Whether it is within a message: an end of the connection here has cut it.
  [[nodiscard]] bool is_within_message() const noexcept;

 private:
  enum class step : std::uint8_t { login, request, data, ended };
  static constexpr std::size_t most_waiting = 16384;      // bytes of out_ at which requests wait
  static constexpr std::size_t piece_bytes = 256 * 1024;  // of a read, and of a write at a time
  static constexpr std::size_t copied_bytes = 4096;       // shorter ones are copied, to go out with their heads

  void take_requests();
  bool take_login();
  bool take_request();
  void end(bool is_bad);
  void begin_read(std::span<const std::byte> body);
  void begin_write(std::span<const std::byte> body);
  [[nodiscard]] answer check_ranges(std::span<const std::byte> body, rights use);
  [[nodiscard]] std::byte* reach(std::uint64_t at, std::uint64_t bytes, rights use) const noexcept;
  void next_piece();
  std::size_t copy_short_ranges();
  void data_arrived(std::size_t bytes);
  void end_write();
  void advance(std::uint64_t bytes) noexcept;
  void reply(const answer& with, std::uint16_t flags = 0);
  std::size_t append(std::span<const std::byte> bytes);  // to out_; where they begin there
  void forget_sent();
  [[nodiscard]] std::span<std::byte> data_room();
  [[nodiscard]] bool is_blocked() const noexcept {
    return is_reading_ || !piece_.empty() || out_.size() - out_begin_ >= most_waiting;
  }

  service& service_;
  std::uint64_t number_;
  step step_ = step::login;
  application_index application_ = any_application;
  hello hello_;

  std::vector<std::byte> in_;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
  std::vector<std::byte> out_;
  std::size_t out_begin_ = 0;
  std::span<const std::byte> piece_;  // of a region, behind out_

  request_head head_{};  // of the read or write under way
  bool is_reading_ = false;
  std::vector<range> ranges_;  // what of it is left: from `range_` on
  std::size_t range_ = 0;
  std::uint64_t left_ = 0;  // bytes of the client's data, or of the regions
  answer failed_;           // why a write's data is thrown away
};

}  // namespace situ::rmem::detail
