// A client of remote memory: allocates regions at servers, reads and writes them by capabilities, and grants other
// applications access to parts of them.
//
//   situ::rmem::client client{"127.0.0.1:7070", situ::rmem::load_key("packages.key")};
//   situ::rmem::capability mine = client.allocate(1 << 20);
//   client.write(mine, 0, bytes);
//   client.read(mine, 4096, page);
//
// The server checks every operation and refuses one without the right to it with access_denied. Every call ends: if a
// server neither takes nor sends a byte for options.timeout, the call throws link_lost. After that error the operation
// may or may not have been done; the next call connects again.
//
// A client resolves a name once and caches the answer; it resolves the name again when a connection to the cached
// endpoint fails. If a server number has replicas, a call continues with the next replica, and its effect happens once.
// Such a call throws link_lost only if no replica has served for the timeout, or if the servers no longer know whether
// the call was done. A write of more than 256 KiB, or of several requests, may then have been done twice in part.
// Thread-safe: calls to one server run one after another. cost: a call is a round trip, some 20 us on one host.
#pragma once

#include <situ/rmem/capability.h>
#include <situ/rmem/keys.h>
#include <situ/rmem/statistics.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::rmem {

// Options of a client.
struct client_options {
  std::chrono::milliseconds timeout{10'000};  // the longest time that a call may go without progress
  // If set, the client sends a write's header, waits for the acknowledgment, and then sends the data: data that the
  // server would refuse is never sent, at the cost of a second round trip. Otherwise it sends header and data at once.
  bool two_steps = false;
};

// The time that a region lives.
enum class lifetime : std::uint8_t {
  until_freed,  // independent of connections
  connection,   // until the connection of the client that allocated the region ends
};

// A region, as client::list_regions returns it.
struct region_info {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t capabilities = 0;  // capabilities for the region or for parts of it
  std::string owner;               // the application that owns the region
};

// A name and the endpoint that it leads to.
struct name_info {
  std::string name;
  std::string endpoint;
};

// The servers that hold the memory of one server number (server_options::replicas).
struct replica_set {
  std::uint32_t index = 0;
  std::uint64_t epoch = 0;             // grows with each change
  std::uint32_t wanted = 0;            // number of servers that should hold the memory
  bool is_joining = false;             // a further server is receiving a copy
  std::vector<std::string> endpoints;  // the first one serves clients
};
// The replica sets and spare servers that a name server knows.
struct replica_list {
  std::vector<replica_set> sets;
  std::uint64_t spares = 0;  // spare servers that hold no memory yet
};

// A range of bytes, for gather and scatter.
struct remote_part {
  std::uint64_t offset = 0;  // from the beginning of the capability's range
  std::uint64_t bytes = 0;
};

namespace detail {
class file_mapping;
class page_cache;
}  // namespace detail

// The memory of a region whose server is on this host, mapped by client::map. Movable; the destructor unmaps it.
class mapped_region {
 public:
  mapped_region(mapped_region&&) noexcept;
  mapped_region& operator=(mapped_region&&) noexcept;
  ~mapped_region();
  // Returns the whole region, in memory that is shared with its server.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  friend class client;
  mapped_region();
  std::unique_ptr<detail::file_mapping> mapping_;
  std::span<std::byte> bytes_;
  std::uint32_t server_ = 0;
  std::uint64_t connection_ = 0;
};

// The memory of a region whose server is on this host, mapped for reading by client::map_to_read. Movable; the
// destructor unmaps it.
class read_only_region {
 public:
  read_only_region(read_only_region&&) noexcept;
  read_only_region& operator=(read_only_region&&) noexcept;
  ~read_only_region();
  // Returns the whole region. The bytes are the server's own until client::check reports otherwise. A forked child does
  // not inherit the mapping.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  friend class client;
  read_only_region();
  std::unique_ptr<detail::file_mapping> mapping_;
  std::span<const std::byte> bytes_;
  capability by_;
  std::uint64_t connection_ = 0;
};

// All calls throw link_lost if a server cannot be reached or is silent, access_denied if it refuses the operation, and
// bad_message if its answer is malformed.
class client {
 public:
  // Connects to `endpoint`: a server, or the name server of several. Throws access_denied if the server does not accept
  // the key, or cannot prove that it has the key itself.
  client(std::string_view endpoint, application_key key, client_options options = {});
  ~client();
  client(client&&) noexcept;
  client& operator=(client&&) noexcept;

  // Allocates a region of `bytes` zero bytes, owned by the client's application, at the server with the number
  // `server`. If `server` is empty, the client tries the servers in turn until one has room; if `replicas` is not 0, it
  // tries only those whose memory at least `replicas` servers hold now. Throws out_of_memory with the figures. cost: a
  // round trip, and system calls at the server.
  [[nodiscard]] capability allocate(std::uint64_t bytes, std::optional<std::uint32_t> server = {},
                                    lifetime until = lifetime::until_freed, std::uint32_t replicas = 0);
  // Frees the region that begins at `address`, with all capabilities for it. The application must own the region.
  void free(std::uint64_t address);
  void free(const capability& whole) { free(whole.address); }

  // Reads into `to`, or writes from `from`, at `offset` of the capability's range. Not atomic: other clients may see
  // parts of a write. If the range does not lie within the capability's, the call throws access_denied and writes
  // nothing. Transfers of more than 16 MiB take several requests. After an error the contents of `to` are unspecified.
  void read(const capability& from, std::uint64_t offset, std::span<std::byte> to);
  void write(const capability& to, std::uint64_t offset, std::span<const std::byte> from);
  // Reads the parts into `to`, or writes them from `from`, one after another. Takes a round trip for each 1024 parts;
  // the server checks all parts of a request before it touches any. pre: the buffer has as many bytes as the parts
  // together.
  void gather(const capability& from, std::span<const remote_part> parts, std::span<std::byte> to);
  void scatter(const capability& to, std::span<const remote_part> parts, std::span<const std::byte> from);

  // Maps a region that this client has allocated with lifetime::connection: loads and stores then act like reads and
  // writes, without a message. Call it at most once per region. Returns nullopt if the server cannot share the memory:
  // over TCP, with replicas, for memory of a device or file, and for a region that readers have mapped. From then on
  // other clients can neither free the region nor revoke `whole`; they keep using capabilities granted from it. A
  // region that is freed but still mapped counts as a region of the server. Throws access_denied for any other region
  // or capability. cost: a round trip; then the first touch of each page.
  [[nodiscard]] std::optional<mapped_region> map(const capability& whole);
  // Checks that the connection by which the region was mapped still stands. Throws link_lost if the server or that
  // connection is gone: bytes read or written since the last check are then lost. So call it after a read, before using
  // the bytes. cost: a system call.
  void check(const mapped_region& at);
  // Maps a region for reading: loads see the server's bytes without a message, each naturally aligned word as a whole.
  // `with` must be a capability for the whole region with the right to read; any other one throws access_denied.
  // Returns nullopt if the server does not share the memory with readers, which then read by messages: over TCP, with
  // replicas, for memory of a device or file, for a region that is mapped by `map` or larger than
  // server_options::most_mapped_bytes, if the server has no room for a second copy of the region (see revoke), and with
  // a kernel before 5.1 or without /proc. cost: a round trip; then the first touch of each page.
  [[nodiscard]] std::optional<read_only_region> map_to_read(const capability& with);
  // Checks that the mapping is still current. Returns false if the region has moved, because some reader's capability
  // was revoked, or if the client has reconnected; the region is then mapped again at the same addresses and must be
  // read again. Throws access_denied if the capability was revoked or the region freed, link_lost if the server is
  // gone, and not_supported if the server no longer shares the memory; bytes() then keeps the contents of that moment.
  // cost: a system call; if it returns false, a round trip.
  [[nodiscard]] bool check(read_only_region& at);

  // Operate on 8 bytes at a multiple of 8, atomically for all clients. Both return the previous value.
  std::uint64_t fetch_add(const capability& at, std::uint64_t offset, std::uint64_t addend);
  std::uint64_t compare_swap(const capability& at, std::uint64_t offset, std::uint64_t expected, std::uint64_t desired);

  // Makes a capability for a sub-range of `from`, with the same rights or fewer. If `application` is set, only that
  // application may use it; otherwise any holder may. It ends when `from` ends. Throws out_of_memory if the server has
  // no room for another capability.
  [[nodiscard]] capability grant(const capability& from, std::uint64_t offset, std::uint64_t bytes, rights may,
                                 std::string_view application = {});
  // Ends a capability, and all that were made from it: the server denies operations that begin later and stops those
  // under way. Only the application that made the capability or that owns the region may revoke it. If one of the
  // capabilities has been used to map the region (map_to_read), the region moves, and the readers that have it mapped
  // keep the old contents. cost: a round trip; if the region moves, a copy of it, for which all clients of the server
  // wait.
  void revoke(const capability& which);

  // Tells the replicas that this client has used that it is alive. A client that sends no request does not learn that
  // another replica serves now, and its regions of lifetime::connection end when that replica's patience is over
  // (server_options::patience): so call this a few times within that time. The thread of a `region` does so by itself.
  // Throws nothing: the next operation that needs a lost server reports it. cost: a round trip to each chain; none
  // without replicas.
  void keep_alive();
  // Returns the counters of the server with the number `server`, or of the one at `endpoint` if it is empty.
  [[nodiscard]] statistics server_statistics(std::optional<std::uint32_t> server = {});
  // Returns the regions of the application, or of all applications if the key is an operator's.
  [[nodiscard]] std::vector<region_info> list_regions(std::optional<std::uint32_t> server = {});

  // Operate on names at `endpoint`. A name lasts as long as the connection that linked it, and only that connection may
  // change or unlink it; names of servers ("rmem.0") only operators may link. Throws access_denied if another
  // connection has the name; resolve_name throws bad_argument if the name is not linked.
  void link_name(std::string_view name, std::string_view endpoint);
  void unlink_name(std::string_view name);
  [[nodiscard]] std::string resolve_name(std::string_view name);
  [[nodiscard]] std::vector<name_info> list_names();

  // Returns the replicas that the name server at `endpoint` knows; the first 18 sets.
  [[nodiscard]] replica_list list_replicas();
  // Asks the name server to retire the replica that listens at `server`: once another server has its memory, the
  // replica ends. For operators. Throws bad_argument if no replica listens there. cost: a round trip; list_replicas()
  // shows the progress.
  void drain(std::string_view server);

 private:
  friend class detail::page_cache;
  // Sends a read of a contiguous range, and returns before the answer comes. The answer is received by finish_read(),
  // or before the next request to that server; `to` must live until then. Throws link_lost if the request cannot be
  // sent. finish_read() returns true if the bytes have arrived; if not, a plain read reports the reason.
  void start_read(const capability& from, std::uint64_t offset, std::span<std::byte> to);
  [[nodiscard]] bool finish_read(const capability& from) noexcept;

  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace situ::rmem
