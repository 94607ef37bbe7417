// A client's connection as its server sees it, without the socket: it takes received bytes and provides bytes to send.
// So a test or a fuzzer can be the client.
//
// Invariants
//   1. The server keeps nothing of a client but `in_` (a login; then a head and the longest body), `out_` (answers to
//      send), `ranges_` and, on a member of a chain, `gathered_`. While `out_` is long, or bytes of a read wait, the
//      session does not look at the next request, and then receives none. `gathered_` and a long `out_` never exist at
//      the same time.
//   2. Bytes of a write go straight to the region, and those of a read come straight from it. Each piece is checked
//      again (memory_table::reach), so a client that loses the capability, or the region, loses it in the middle.
//   3. On a member of a chain, pieces of a write are gathered, done at once and published, and pieces of a read are
//      copied; no output is shown before all members have the changes that it tells of.
//   4. A descriptor is sent with the bytes of its answer, or with earlier ones; there is one at a time.
//   5. A region may end only between two calls: `detach` first copies its bytes that `output` has shown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rmem/party.h"
#include "rmem/service.h"

namespace situ::rmem::detail {

class session : public party {
 public:
  // peer: the address or process of the client, for the log.
  session(service& of, std::uint64_t number, std::string peer = {});
  ~session() override;

  [[nodiscard]] std::span<std::byte> room() override;
  void received(std::size_t bytes) override;
  [[nodiscard]] pieces output() const noexcept override;
  void sent(std::size_t bytes) override;
  [[nodiscard]] int passing() const noexcept override { return passing_.number(); }
  void passed() noexcept override { passing_.close(); }
  // Allows the session to pass descriptors, since its socket can.
  void allow_memory() noexcept { may_pass_ = true; }
  // Copies the part of these bytes of a region that output() has shown and that has not been sent.
  void detach(std::span<const std::byte> from);

  // Ends the session and discards all output that has not been sent.
  void cut() noexcept;
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::uint64_t client() const noexcept { return client_; }
  [[nodiscard]] bool has_left() const noexcept { return has_left_; }

  [[nodiscard]] bool has_ended() const noexcept override;
  [[nodiscard]] bool is_logged_in() const noexcept override { return application_ != any_application; }
  [[nodiscard]] debt owes_bytes() const noexcept override;
  [[nodiscard]] debt owes_taking() const noexcept override;
  [[nodiscard]] bool is_within_message() const noexcept override;
  [[nodiscard]] bool is_held() const noexcept override;
  [[nodiscard]] std::uint64_t stream() const noexcept override { return step_ == step::stream ? stream_ : 0; }
  void lost(std::string_view why) override;

 private:
  enum class step : std::uint8_t { login, request, data, stream, ended };
  static constexpr std::size_t most_waiting = 16384;      // bytes of out_ at which requests wait
  static constexpr std::size_t piece_bytes = 256 * 1024;  // of a read, and of a write at a time
  static constexpr std::size_t copied_bytes = 4096;       // shorter ranges are copied, to be sent with their heads

  void take_requests();
  // Returns the bytes that were received and not taken yet.
  [[nodiscard]] std::span<const std::byte> arrived() const noexcept {
    return std::span{in_}.subspan(in_begin_, in_end_ - in_begin_);
  }
  bool take_login();
  bool take_request();
  void end(bool is_bad);
  void note_server(std::span<const std::byte> body);
  void begin_read(std::span<const std::byte> body);
  void begin_write(std::span<const std::byte> body);
  [[nodiscard]] answer check_ranges(std::span<const std::byte> body, rights use);
  [[nodiscard]] std::byte* reach(std::uint64_t at, std::uint64_t bytes, rights use) const noexcept;
  void next_piece();
  std::size_t copy_short_ranges();
  void data_arrived(std::size_t bytes);
  void gathered();
  void end_write();
  void begin_stream(std::span<const std::byte> body);
  void take_stream_answers();
  [[nodiscard]] bool is_gathering() const noexcept {
    return is_replicated() && failed_.status == status::ok && !is_repeated_;
  }
  [[nodiscard]] bool is_replicated() const noexcept { return service_.member() != nullptr; }
  [[nodiscard]] asker who() const noexcept { return {number_, application_, client_}; }
  void hold() noexcept;
  void advance(std::uint64_t bytes) noexcept;
  void reply(const answer& with, std::uint16_t flags = 0);
  std::size_t append(std::span<const std::byte> bytes);  // appends to out_; returns the position there
  void forget_sent();
  [[nodiscard]] std::span<std::byte> data_room();
  [[nodiscard]] bool is_blocked() const noexcept {
    return is_reading_ || !piece_.empty() || passing_ || out_.size() - out_begin_ >= most_waiting;
  }

  service& service_;
  std::uint64_t number_;
  step step_ = step::login;
  application_index application_ = any_application;
  std::uint64_t client_ = 0;  // the enrolled client's number
  std::string peer_;
  std::string server_;     // the name of the server whose connection this is; empty: another client's
  bool has_left_ = false;  // the client has ended the connection in order
  hello hello_;

  std::vector<std::byte> in_;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
  std::vector<std::byte> out_;
  std::size_t out_begin_ = 0;
  std::span<const std::byte> piece_;  // of a region, behind out_
  bool may_pass_ = false;
  os::descriptor passing_;  // requests wait until it has been sent

  request_head head_{};  // of the current read or write
  bool is_reading_ = false;
  std::vector<range> ranges_;  // the rest of the request: from `range_` on
  std::size_t range_ = 0;
  std::uint64_t left_ = 0;           // bytes of the client's data, or of the regions
  answer failed_;                    // the reason for which a write's data is discarded
  bool is_repeated_ = false;         // the write's data is discarded, since the write was done before
  std::vector<std::byte> gathered_;  // a piece of a write, until it is complete
  std::size_t gathered_bytes_ = 0;
  std::uint64_t parts_in_ = 0;  // debt::step of the input, and of the output
  std::uint64_t parts_out_ = 0;
  std::uint64_t part_bytes_ = 0;  // bytes of the current part of a write's data
  std::uint64_t hold_ = 0;        // the position that all members must have before output is shown
  std::uint64_t stream_ = 0;      // the number of the stream, if this connection goes to the next member
  std::uint64_t next_ = 0;        // the node of that member
};

}  // namespace situ::rmem::detail
