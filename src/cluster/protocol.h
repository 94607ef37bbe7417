// The bytes of all messages between hosts (docs/design/cluster.md, "Bytes"), and the checks that need nothing but the
// bytes.
//
// Little-endian, as the processors that Situ runs on; the structs have the fields at their offsets, which is asserted.
// The receiver of a message checks every field before it uses it: the functions here check what can be seen from the
// message alone, operations checks everything about memory, and far_place checks that a caller waits for the answer.
#pragma once

#include <situ/fabric/detail/access.h>
#include <situ/fabric/detail/channel.h>
#include <situ/fabric/detail/word_operation.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cluster/host_set.h"
#include "cluster/place_set.h"
#include "os/bytes.h"

namespace situ::detail::cluster {

// The kinds of messages.
enum class wire_message : std::uint8_t { operation, answer, message, credit, host };

// The operations that a place asks of a host server.
enum class far_operation : std::uint8_t {
  put,
  get,
  put_signal,
  box_put,
  box_get,
  atomic,
  give_back,
  barrier,
  time,  // the server's steady clock
  shown  // bytes of what an observed place shows of itself (fabric/observe.h)
};
inline constexpr std::uint8_t far_operations = 10;

// Larger operations are cut into pieces of this size, several of which are outstanding at once: one end copies a piece
// while another piece is on its way. With this size 1 MiB is fastest over TCP (64 to 192 KiB were tried;
// docs/design/cluster.md).
inline constexpr std::uint64_t most_piece_bytes = std::uint64_t{128} << 10;
// Outstanding operations of one place, to all hosts together.
inline constexpr std::uint32_t most_outstanding = 1024;
// Data of a put, or of the answer to a get, of at most this size is copied when it is sent, and is in the message when
// it is received; longer data is written to its destination at once. Boxes and signals are no longer than that.
inline constexpr std::uint64_t most_copied_bytes = std::uint64_t{32} << 10;
// Returns true if data of that size is copied: the record of an active message always is.
[[nodiscard]] constexpr bool is_copied(wire_message kind, std::uint64_t bytes) noexcept {
  return kind == wire_message::message || bytes <= most_copied_bytes;
}
// The most that a put or get may reach, with the pieces that follow: longer than any slice.
inline constexpr std::uint64_t most_reach = std::uint64_t{1} << 48;
inline constexpr std::uint32_t most_box_dimensions = 16;
inline constexpr std::uint32_t most_error_text = 1000;

struct operation_head {
  static constexpr std::uint8_t adds = 1;

  std::uint8_t what = 0;  // far_operation
  std::uint8_t how = 0;   // atomic: word_operation; put_signal: 0 sets, `adds` adds
  std::uint8_t type = 0;  // atomic, put_signal: word_type
  std::uint8_t zero = 0;
  std::uint32_t source = 0;  // place
  std::uint64_t tag = 0;     // | use:32 | index in the source's table:32 |
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;   // of the data, there or back; atomic: the operand
  std::uint64_t second = 0;  // put, get: bytes of the same operation that follow these, checked with them; boxes:
                             // begin of the whole range; put_signal: its word; compare_exchange: the desired
                             // value; barrier: which (host_barrier); shown: offset in the part
  std::uint64_t third = 0;   // put_signal: the value; boxes: bytes of the whole range; barrier: the round; shown: which
                             // part (shown_part)
};
static_assert(sizeof(operation_head) == 48 && offsetof(operation_head, source) == 4 &&
              offsetof(operation_head, tag) == 8 && offsetof(operation_head, address) == 16 &&
              offsetof(operation_head, bytes) == 24 && offsetof(operation_head, second) == 32 &&
              offsetof(operation_head, third) == 40);

// Follows the head of a box; after it come the extents, and then the strides, of each dimension.
struct box_head {
  std::uint32_t dimensions = 0;
  std::uint32_t element_bytes = 0;
};
static_assert(sizeof(box_head) == 8);

struct answer_head {
  std::uint64_t tag = 0;
  std::uint32_t status = 0;      // 0, or 1 + situ::errc
  std::uint32_t text_bytes = 0;  // of the error's text, which follows
  std::uint64_t value = 0;       // atomic: the bits found; time: nanoseconds
};
static_assert(sizeof(answer_head) == 24 && offsetof(answer_head, status) == 8 &&
              offsetof(answer_head, text_bytes) == 12 && offsetof(answer_head, value) == 16);

// An active message, to the server of its target's host. After the head come the used words of its cell; its record is
// sent as data.
struct message_head {
  std::uint32_t target = 0;  // places
  std::uint32_t source = 0;
  std::uint32_t sequence = 0;  // of that pair's channel, from 1 on
  std::uint8_t channel = 0;    // requests 0, replies 1
  std::uint8_t kind = 0;       // message_kind
  std::uint8_t arguments = 0;
  std::uint8_t payload_in_cell = 0;
  std::uint64_t handler = 0;  // as in a cell
};
static_assert(sizeof(message_head) == 24 && offsetof(message_head, sequence) == 8 &&
              offsetof(message_head, channel) == 12 && offsetof(message_head, payload_in_cell) == 15 &&
              offsetof(message_head, handler) == 16);

// A credit: how many of the messages that a place has sent have gone into the target's channel, in the sender's count,
// from the beginning. From a place, with zeros, it is a request: the server sends a credit as soon as the count has
// grown since its last credit.
struct credit_head {
  std::uint32_t source = 0;  // the pair; source is the receiver of a credit, or the place that asks for it
  std::uint32_t target = 0;
  std::uint32_t channel = 0;
  std::uint32_t zero = 0;
  std::uint64_t cells = 0;
  std::uint64_t data = 0;
};
static_assert(sizeof(credit_head) == 32 && offsetof(credit_head, channel) == 8 && offsetof(credit_head, cells) == 16 &&
              offsetof(credit_head, data) == 24);

// The kinds of news that host servers send each other.
enum class host_news : std::uint8_t {
  beat,
  state,
  verdict = 3,
  votes,
  bye = 6,
  // Messages on the next verdict, which is a decision of Paxos.
  prepare = 8,
  promise,
  accept,
  accepted,
  // Says how far the places of a host have come in survivors(), and the last team that the host knows.
  rest
};

// News consist of a head alone; only `rest` has data.
struct host_head {
  std::uint8_t what = 0;  // host_news
  std::uint8_t zero = 0;
  std::uint16_t host = 0;      // the sender
  std::uint32_t verdicts = 0;  // verdicts that the sender knows; in a state, votes, a bye: 0
  std::uint64_t number = 0;    // beat, rest: which; state: the place; verdict: which, from 1 on; votes: | round:32 |
                               // accepted:32 |; of the next verdict: the ballot
};
static_assert(sizeof(host_head) == 16 && offsetof(host_head, host) == 2 && offsetof(host_head, verdicts) == 4 &&
              offsetof(host_head, number) == 8);
// Follows the head of a state; the reason comes after it.
struct state_head {
  std::uint32_t state = 0;  // place_state
  std::uint32_t text_bytes = 0;
};
static_assert(sizeof(state_head) == 8);
// Follows the head of a beat, a verdict, or a message on the next verdict; words of a host_set come after it.
struct alive_head {
  static constexpr std::uint8_t asks = 1;       // flags, of a beat: the receiver must answer at once,
  static constexpr std::uint8_t is_voting = 2;  // and the sender has accepted a value that may become a verdict

  std::uint8_t flags = 0;
  std::uint8_t zero = 0;
  std::uint16_t words = 0;
  std::uint32_t also_zero = 0;
  std::uint64_t second = 0;  // beat: the last beat of its receiver that has come; promise: the ballot under which the
                             // hosts were accepted, 0 if none were
};
static_assert(sizeof(alive_head) == 16 && offsetof(alive_head, words) == 2 && offsetof(alive_head, second) == 8);
// Follows the head of `rest`. The data are two sets of all places of the job, as words: those of the sender's host that
// live, and the team of round `agreed`.
struct rest_head {
  std::uint64_t round = 0;   // of survivors(), that all live places of the sender's host have come to
  std::uint64_t agreed = 0;  // the last whose team the sender knows
};
static_assert(sizeof(rest_head) == 16 && offsetof(rest_head, agreed) == 8);

inline constexpr std::size_t most_head_bytes = 2048;  // of any message, without its data
static_assert(sizeof(operation_head) + sizeof(box_head) + 2 * 8 * most_box_dimensions <= most_head_bytes);
static_assert(sizeof(answer_head) + most_error_text <= most_head_bytes);

struct box_shape {
  std::uint32_t dimensions = 0;
  std::uint32_t element_bytes = 0;
  std::array<std::size_t, most_box_dimensions> extents{};
  std::array<std::ptrdiff_t, most_box_dimensions> strides{};
  std::uint64_t bytes = 0;  // of all elements
};

struct parsed_operation {
  operation_head head;
  box_shape box;  // set for boxes
};
struct parsed_answer {
  answer_head head;
  std::string_view text;
};

struct parsed_message {
  message_head head;
  message_form form;
  std::span<const std::byte> words;
};

// A message between hosts on the hosts that live (hosts_alive.h).
struct alive_news {
  host_news what = host_news::beat;
  bool asks = false;
  bool is_voting = false;
  std::uint32_t verdicts = 0;
  std::uint64_t number = 0;
  std::uint64_t second = 0;
  host_set hosts{};  // beat: the hosts that its sender does not hear; otherwise the hosts that are to go on
};
[[nodiscard]] constexpr bool is_of_living(host_news what) noexcept {
  return what == host_news::beat || what == host_news::verdict ||
         (what >= host_news::prepare && what <= host_news::accepted);
}

struct parsed_news {
  host_head head;
  state_head state;       // of a state
  std::string_view text;  // of a state
  alive_news alive;       // set if is_of_living()
  rest_head rest;         // of `rest`
};

// The news of a host on its places in survivors() (survivors_agreement.h).
struct rest_news {
  std::uint32_t verdicts = 0;
  std::uint64_t number = 0;  // the sender's news count from 1 on: late news are recognized
  std::uint64_t round = 0;
  std::uint64_t agreed = 0;
  place_set living{};
  place_set team{};
  friend bool operator==(const rest_news&, const rest_news&) = default;
};

// Returns the reason why `head` and `data_bytes` are not of that form, or null. If null, `parsed` is set, and
// everything that does not concern memory is valid. Without a whole operation_head nothing is known, not even which
// place waits: parsed.head stays as it was.
[[nodiscard]] const char* parse_operation(std::span<const std::byte> head, std::uint64_t data_bytes,
                                          parsed_operation& parsed) noexcept;
[[nodiscard]] const char* parse_answer(std::span<const std::byte> head, std::uint64_t data_bytes,
                                       parsed_answer& parsed) noexcept;
[[nodiscard]] const char* parse_message(std::span<const std::byte> head, std::uint64_t data_bytes,
                                        parsed_message& parsed) noexcept;
[[nodiscard]] const char* parse_credit(std::span<const std::byte> head, std::uint64_t data_bytes,
                                       credit_head& parsed) noexcept;
[[nodiscard]] const char* parse_news(std::span<const std::byte> head, std::uint64_t data_bytes,
                                     parsed_news& parsed) noexcept;

// Packs news on the hosts that live, as host `from` sends them in a job of `hosts` hosts.
inline constexpr std::size_t most_alive_bytes = sizeof(host_head) + sizeof(alive_head) + sizeof(host_set);
using packed_news = os::short_bytes<most_alive_bytes>;
[[nodiscard]] packed_news pack_news(const alive_news& news, std::uint16_t from, std::uint16_t hosts) noexcept;

// Packs news on survivors(), as host `from` sends them: head and data.
struct packed_rest {
  os::short_bytes<sizeof(host_head) + sizeof(rest_head)> head;
  std::vector<std::byte> data;
};
[[nodiscard]] packed_rest pack_rest(const rest_news& news, std::uint16_t from);
// Returns the reason why the data of `rest` does not fit a job of so many places, or null. If null, `parsed` is set.
[[nodiscard]] const char* parse_rest(const parsed_news& news, std::span<const std::byte> data, std::uint32_t places,
                                     rest_news& parsed);

}  // namespace situ::detail::cluster
