// The frames that `situ run --hosts` and its agents, one at each host, exchange by the agent's standard input and
// output (docs/design/cluster.md, "Launch"): 12 bytes and a payload, little-endian.
//
//   0 u32 bytes that follow, 4 u8 frame_kind, 5 u8 zero, 6 u16 zero, 8 u32 place or 0
//
// The bytes come from a program that another host's shell has started, so every length is checked; bytes that do not
// fit throw bad_message. Values; only a frame_reader has state, and belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::detail::cluster {

enum class frame_kind : std::uint8_t {
  hello,      // agent: agent_hello; its first
  start,      // launcher: agent_start
  address,    // agent: its host_record (records.h)
  addresses,  // launcher: a list of all records; the places are started
  output,     // agent: a byte that is 1 or 2, then what the place wrote to that stream
  ended,      // agent: place_end of a place's process
  signal,     // launcher: i32, to pass on to all places
  lost,       // either: a lost place, and the reason
  over,       // launcher: the time limit is over
  note,       // agent: text to the launcher's standard error
  row,        // agent: a piece of what an observed place shows (launch/shown_rows.h)
  clock,      // launcher: u64, its time; agent: the same, then its own
  goes_on,    // agent: its places have agreed to go on after the losses that it has told (survivors())
  look,       // launcher: u64, the number of the look; agent: host_look
  status,     // launcher: asks for those of all places; agent: of a place (standing_places.h)
};

struct host_frame {
  frame_kind what = frame_kind::hello;
  std::uint32_t place = 0;
  std::vector<std::byte> bytes;
};

// Room for the records of as many hosts as a job has places.
inline constexpr std::uint32_t most_frame_bytes = std::uint32_t{64} << 20;

// pre: at most most_frame_bytes.
[[nodiscard]] std::vector<std::byte> pack_frame(frame_kind what, std::uint32_t place, std::span<const std::byte> bytes);
[[nodiscard]] std::vector<std::byte> pack_frame(frame_kind what, std::uint32_t place, std::string_view text);

// Splits bytes that arrive in pieces into frames. Holds no more than has arrived.
class frame_reader {
 public:
  void take(std::span<const std::byte> bytes);
  // Returns the next frame, or nullopt if it is not complete yet. Throws bad_message, with the first bytes, if the
  // bytes are no frame.
  [[nodiscard]] std::optional<host_frame> next();

 private:
  std::vector<std::byte> come_;
  std::size_t used_ = 0;
};

struct agent_hello {
  static constexpr std::uint32_t current_version = 1;
  std::uint32_t version = current_version;  // of the frames
  std::uint64_t build = 0;                  // of the agent's program
  friend bool operator==(const agent_hello&, const agent_hello&) = default;
};

// The places that an agent starts, and the options of the job.
struct agent_start {
  enum flags : std::uint32_t { progress = 1, checked = 2, stats = 4, trace = 8 };
  std::uint16_t host = 0;            // the agent's
  std::vector<std::uint16_t> homes;  // the host of each place
  std::vector<std::string> arguments;
  std::string folder;
  std::string first_host;              // name of the first host, by which the network is chosen
  std::vector<std::string> variables;  // "NAME=value"
  std::string memory;                  // as job_options::memory
  std::string intent;                  // a name, or empty
  std::uint64_t memory_budget = 0;
  std::uint64_t stack_bytes = 0;
  std::uint64_t grace_ms = 0;
  std::uint64_t time_limit_ms = 0;
  std::uint32_t how = 0;      // flags
  std::uint32_t binding = 0;  // as launch/launch.h numbers them
  friend bool operator==(const agent_start&, const agent_start&) = default;
};

struct place_end {
  std::int32_t code = 0;
  std::int32_t signal = 0;
  friend bool operator==(const place_end&, const place_end&) = default;
};

// Says how the places of a host stand (hosts_watch.h).
struct host_look {
  enum flags : std::uint32_t {
    stands = 1,          // each place that has not ended has slept since the last look, in waits that only places end,
                         // and goes on after all ends so far
    has_progressed = 2,  // since the last look
    has_places = 4       // that have not ended
  };
  struct traffic_with {  // another host: messages to it, and from it
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;
    friend bool operator==(const traffic_with&, const traffic_with&) = default;
  };
  static constexpr std::uint64_t nothing_comes = ~std::uint64_t{0};  // as `taken`: the host is lost for this one
  std::uint64_t number = 0;                                          // of the look
  std::uint32_t ends = 0;                                            // of places, that are known there
  std::uint32_t how = 0;                                             // flags
  std::vector<traffic_with> traffic;                                 // by host
  friend bool operator==(const host_look&, const host_look&) = default;
};

[[nodiscard]] std::vector<std::byte> pack(const agent_hello& hello);
[[nodiscard]] std::vector<std::byte> pack(const agent_start& start);
[[nodiscard]] std::vector<std::byte> pack(const place_end& end);
[[nodiscard]] std::vector<std::byte> pack(const std::vector<std::vector<std::byte>>& list);
[[nodiscard]] std::vector<std::byte> pack(const host_look& look);
// Each throws bad_message for bytes of another form.
[[nodiscard]] agent_hello unpack_hello(std::span<const std::byte> bytes);
[[nodiscard]] agent_start unpack_start(std::span<const std::byte> bytes);
[[nodiscard]] place_end unpack_end(std::span<const std::byte> bytes);
[[nodiscard]] std::vector<std::vector<std::byte>> unpack_list(std::span<const std::byte> bytes);
[[nodiscard]] std::int32_t unpack_signal(std::span<const std::byte> bytes);
// hosts: the number of hosts of the job.
[[nodiscard]] host_look unpack_look(std::span<const std::byte> bytes, std::uint16_t hosts);
[[nodiscard]] std::uint64_t unpack_number(std::span<const std::byte> bytes);
[[nodiscard]] std::string_view text_of(const host_frame& frame) noexcept;

}  // namespace situ::detail::cluster
