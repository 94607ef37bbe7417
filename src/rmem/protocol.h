// The bytes between clients and servers, as structures: docs/formats/rmem.md has them as a grammar. Numbers are
// little-endian, as on every machine that Situ runs on; a structure is sent as it lies in memory, so it has no padding.
// No receiver trusts the bytes: session.h checks them.
#pragma once

#include <situ/rmem/capability.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "os/bytes.h"

namespace situ::rmem::detail {

static_assert(std::endian::native == std::endian::little, "the bytes of the protocol are little-endian");

inline constexpr std::uint32_t protocol_magic = 0x314d5253;  // "SRM1"
inline constexpr std::uint16_t protocol_version = 2;

// An address: the server's number in the top bits, the offset in the others.
inline constexpr unsigned offset_bits = 56;
[[nodiscard]] constexpr std::uint32_t server_of(std::uint64_t address) noexcept {
  return static_cast<std::uint32_t>(address >> offset_bits);
}

// Bounds a request's body, and with it the memory that a client takes at a server.
inline constexpr std::size_t most_body_bytes = 16384;
// The longest time that a client leaves a replica without a message: a fifth of a server's default patience with an
// absent client (client::keep_alive).
inline constexpr int longest_silence_ms = 2000;
inline constexpr std::size_t most_ranges = 1024;             // of one scatter or gather: 16 bytes each, a body
inline constexpr std::uint64_t most_transfer = 16ULL << 20;  // bytes of memory in a request; clients split longer ones
inline constexpr std::size_t most_text_bytes = 1024;         // of an answer's error text

// Bytes of the notice, which follows a region's bytes, rounded up to whole pages, in its memory file. It begins with a
// u32 that is not 0 once the file no longer holds a region: the file then keeps the bytes of that moment.
inline constexpr std::size_t notice_bytes = 4096;

enum class operation : std::uint16_t {
  allocate = 1,
  free,
  read,
  write,
  fetch_add,
  compare_swap,
  grant,
  revoke,
  statistics,
  list_regions,
  link_name,
  unlink_name,
  resolve_name,
  list_names,
  enroll,       // a client of a replicated server gives its number
  beat,         // a replica's server to the name server
  follow,       // a replica to the one before it
  list_views,   // at the name server
  drain,        // an operator to the name server
  map_memory,   // over a Unix socket: the answer passes the region's memory file
  map_to_read,  // as map_memory, for reading only
  leave,        // the client's last request: it ends the connection in order, and gets no answer
};

enum class status : std::uint16_t {
  ok,
  denied,         // no such capability, or one for another application, range or operation
  bad_argument,   // a value outside its domain
  misaligned,     // an atomic on an address that is no multiple of 8
  full,           // no room for memory, regions, capabilities or names; the text has the figures
  unknown_name,   // no connection has linked the name
  bad_message,    // bytes that are no request; the connection ends
  not_supported,  // an operation of a later version
  not_serving,    // another server serves these addresses now: the name server knows which
  outcome_lost,   // the servers no longer know whether an earlier request was done
};

// Flags of a request.
inline constexpr std::uint16_t flag_two_steps = 1;     // write: the client sends the data after the server's leave
inline constexpr std::uint16_t flag_with_session = 2;  // allocate: freed when this connection ends
inline constexpr std::uint16_t flag_known = 1;         // enroll: this client has enrolled before
// Flags of an answer.
inline constexpr std::uint16_t flag_more = 1;   // read: another answer follows, with the next bytes
inline constexpr std::uint16_t flag_go_on = 2;  // write: send the data now

struct request_head {
  std::uint32_t body_bytes;
  std::uint16_t operation;
  std::uint16_t flags;
  std::uint64_t id;       // comes back in the answer
  std::uint64_t address;  // of the first byte
  std::uint64_t bytes;    // of memory; in a write so many bytes of data follow the body
  std::uint64_t grant;    // the capability's number
  capability_secret secret;
  std::uint64_t operand;
};
static_assert(sizeof(request_head) == 64 && std::is_trivially_copyable_v<request_head>);

struct answer_head {
  std::uint32_t body_bytes;
  std::uint16_t status;
  std::uint16_t flags;
  std::uint64_t id;
  std::uint64_t value;
  std::uint64_t second;
};
static_assert(sizeof(answer_head) == 32 && std::is_trivially_copyable_v<answer_head>);

// A part of a scatter or gather, in a body.
struct range {
  std::uint64_t address;
  std::uint64_t bytes;
};
static_assert(sizeof(range) == 16);

// Text within structures: characters, then zeroes to the end, at least one.
template <std::size_t n>
using fixed_text = std::array<char, n>;
inline constexpr std::size_t application_bytes = 24;
using application_text = fixed_text<application_bytes>;
using name_text = fixed_text<48>;
using endpoint_text = fixed_text<208>;

// The names of servers: the prefix, then the server's number.
inline constexpr std::string_view server_name_prefix = "rmem.";
[[nodiscard]] inline std::string server_name(std::uint32_t index) {
  return std::string{server_name_prefix} + std::to_string(index);
}

template <std::size_t n>
[[nodiscard]] std::string_view text_of(const fixed_text<n>& text) noexcept {
  return {text.data(), ::strnlen(text.data(), n)};
}
// pre: the text is shorter than n.
template <std::size_t n>
[[nodiscard]] fixed_text<n> fixed(std::string_view text) noexcept {
  fixed_text<n> made{};
  std::memcpy(made.data(), text.data(), text.size() < n ? text.size() : n - 1);
  return made;
}
// Returns true for printable text, not empty, without spaces, and followed by zeroes only.
template <std::size_t n>
[[nodiscard]] bool is_word(const fixed_text<n>& text) noexcept {
  const std::string_view word = text_of(text);
  if (word.empty() || word.size() == n) return false;
  for (std::size_t i = 0; i < n; ++i)
    if (i < word.size() ? text[i] <= ' ' || text[i] > '~' : text[i] != 0) return false;
  return true;
}

struct name_entry {
  name_text name;
  endpoint_text endpoint;
};
static_assert(sizeof(name_entry) == 256);

struct region_entry {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t capabilities;
  std::uint32_t zero;
  application_text owner;
};
static_assert(sizeof(region_entry) == 48);

// --- replicas: docs/formats/rmem.md, src/rmem/views.h ---

inline constexpr std::size_t most_replicas = 3;
inline constexpr std::size_t most_members = most_replicas + 1;  // of a chain; one more while a member is drained
inline constexpr std::uint32_t any_server = ~0U;

struct member_entry {
  std::uint64_t node;  // a server process, by a random number
  endpoint_text endpoint;
};
static_assert(sizeof(member_entry) == 216);

// A view: the processes that have the memory of one server number. The first serves; each sends its changes to the next
// one.
struct view_entry {
  std::uint64_t epoch;    // 0: there is no view
  std::uint64_t joining;  // the node that receives a full copy from the last member, to be appended; 0: none
  std::uint32_t index;
  std::uint32_t replicas;    // number of members wanted
  std::uint32_t members;     // of `chain`
  std::uint32_t lease_ms;    // how long the server that receives this may serve
  std::uint64_t is_drained;  // 1: the server that receives this has been drained, and may end
  std::array<member_entry, most_members> chain;
};
static_assert(sizeof(view_entry) == 40 + most_members * sizeof(member_entry));

// A replica's report about itself.
struct beat_entry {
  std::uint64_t node;
  std::uint64_t capacity;
  std::uint64_t synced;    // the joining node, once it has everything; 0: none
  std::uint64_t lost;      // the next node, if it takes nothing any more; 0: none
  std::uint32_t index;     // the server number that it wants; any_server: any
  std::uint32_t replicas;  // number of members wanted; 0: as many as its chain has
  endpoint_text endpoint;
  view_entry holds;
};
static_assert(sizeof(beat_entry) == 40 + sizeof(endpoint_text) + sizeof(view_entry));

// A node's request to receive the changes.
struct follow_entry {
  std::uint64_t node;
  std::uint64_t epoch;
  std::uint64_t position;  // the last batch that it has; ignored for a joining node, which receives everything
};
static_assert(sizeof(follow_entry) == 24);

// Heads of messages from a replica to the next one, and the answers.
enum class stream_kind : std::uint32_t { batch = 1, snapshot, complete };
struct stream_head {
  std::uint32_t bytes;
  std::uint32_t kind;
  std::uint64_t position;  // the batch's own; otherwise that of the last batch before the message
};
static_assert(sizeof(stream_head) == 16);
struct stream_answer {
  std::uint64_t position;     // all members from this one to the end of the chain have done it
  std::uint64_t is_complete;  // 1: the member has everything
};
static_assert(sizeof(stream_answer) == 16);

// One change of a server's state; bytes of `data_bytes` follow.
enum class change_kind : std::uint32_t { bytes = 1, allocate, free, grant, revoke, client, done, begin, slots };
struct change_head {
  std::uint32_t kind;
  std::uint32_t data_bytes;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t number;   // of a capability
  std::uint64_t parent;   // the parent capability's number
  std::uint64_t client;   // the client of the request, or of the region
  std::uint64_t request;  // the request's number
  std::uint64_t may;      // rights
  capability_secret secret;
  application_text owner;  // the owner of a region; the maker of a capability
  application_text whom;   // the application that a capability is for; empty: any
};
static_assert(sizeof(change_head) == 128);
inline constexpr std::size_t most_stream_bytes = std::size_t{1} << 20;  // of a message, except that of a table
inline constexpr std::size_t most_table_bytes = std::size_t{1} << 30;

// --- how a connection begins ---

using nonce = std::array<std::byte, 32>;
using proof = std::array<std::byte, 32>;

struct hello {  // the server's
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t zero;
  detail::nonce nonce;
};
struct login {  // the client's
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t zero;
  application_text application;
  detail::nonce nonce;
  detail::proof proof;
};
struct welcome {  // the server's
  std::uint32_t magic;
  std::uint16_t status;
  std::uint16_t server;    // the number in the top bits of its addresses
  std::uint64_t capacity;  // 0: the server keeps names only
  detail::proof proof;
};
static_assert(sizeof(hello) == 40 && sizeof(login) == 96 && sizeof(welcome) == 48);

using os::bytes_of;

}  // namespace situ::rmem::detail
