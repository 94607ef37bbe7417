// A client of remote memory: allocates regions at servers, reads and writes them by capabilities, and hands parts of
// them to others.
//
//   situ::rmem::client client{"127.0.0.1:7070", situ::rmem::load_key("packages.key")};
//   situ::rmem::capability mine = client.allocate(1 << 20);
//   client.write(mine, 0, bytes);
//   client.read(mine, 4096, page);
//
// The server checks every operation; who may not do it gets access_denied. Every call ends: where a server takes no
// bytes and sends none for as long as options.timeout, with link_lost. After that error the operation may or may not
// have been done; the next call connects anew.
//
// A client resolves names once and keeps the answers; one that leads nowhere any more is resolved anew. Where a server
// number has replicas, a call carries on with the next of them, and what it does is done once; then link_lost comes
// only where none has served for as long as the timeout, or where it is not known any more whether the call was done.
// A write of more than 256 KiB, or of several requests, may then have been done twice in part.
// Thread-safe: calls to one server go one after another. cost: a call is a round trip, some 20 us on one host.
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

// How a client behaves.
struct client_options {
  std::chrono::milliseconds timeout{10'000};  // without any progress of a call
  // Writes go as header, acknowledgment, data: data that the server would refuse is never sent, for a second round
  // trip. Else header and data go at once.
  bool two_steps = false;
};

// How long a region lives.
enum class lifetime : std::uint8_t {
  until_freed,  // whoever is connected
  connection,   // as long as the connection of the client that allocated it
};

// A region as `list_regions` tells of it.
struct region_info {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t capabilities = 0;  // that give access to it or parts of it
  std::string owner;               // the application
};

// A name, and where it leads.
struct name_info {
  std::string name;
  std::string endpoint;
};

// The servers that have the memory of one server number (server_options::replicas).
struct replica_set {
  std::uint32_t index = 0;
  std::uint64_t epoch = 0;             // grows with each change
  std::uint32_t wanted = 0;            // so many shall have it
  bool is_joining = false;             // another one is being sent it
  std::vector<std::string> endpoints;  // the first one serves
};
// What a name server knows of replicas.
struct replica_list {
  std::vector<replica_set> sets;
  std::uint64_t spares = 0;  // servers that wait to be needed
};

// Bytes of a region, for scatter and gather.
struct remote_part {
  std::uint64_t offset = 0;  // within the capability
  std::uint64_t bytes = 0;
};

namespace detail {
class file_mapping;
class pager;
}  // namespace detail

// The memory of a region whose server is on this host, mapped (client::map). Movable; unmaps itself.
class mapped_region {
 public:
  mapped_region(mapped_region&&) noexcept;
  mapped_region& operator=(mapped_region&&) noexcept;
  ~mapped_region();
  // All of the region, shared with its server.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  friend class client;
  mapped_region();
  std::unique_ptr<detail::file_mapping> mapping_;
  std::span<std::byte> bytes_;
  std::uint32_t server_ = 0;
  std::uint64_t connection_ = 0;
};

// The memory of a region whose server is on this host, mapped to be read (client::map_to_read). Movable; unmaps itself.
class read_only_region {
 public:
  read_only_region(read_only_region&&) noexcept;
  read_only_region& operator=(read_only_region&&) noexcept;
  ~read_only_region();
  // All of the region: what its server has, until client::check says otherwise. A forked child does not have it.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  friend class client;
  read_only_region();
  std::unique_ptr<detail::file_mapping> mapping_;
  std::span<const std::byte> bytes_;
  capability by_;
  std::uint64_t connection_ = 0;
};

// All calls throw link_lost where a server cannot be reached or is silent, access_denied where it refuses, and
// bad_message where what it sends is no answer.
class client {
 public:
  // Connects to `endpoint`: a server, or the name server of several. Throws access_denied where one does not accept the
  // key, or does not have it itself.
  client(std::string_view endpoint, application_key key, client_options options = {});
  ~client();
  client(client&&) noexcept;
  client& operator=(client&&) noexcept;

  // A region of so many bytes, all zero, at the server of that number or (none) at one that has room, in turns; the
  // application owns it. replicas: at a server number whose memory lies at so many servers or more, where none is
  // named. Throws out_of_memory with the figures. cost: a round trip, and system calls at the server.
  [[nodiscard]] capability allocate(std::uint64_t bytes, std::optional<std::uint32_t> server = {},
                                    lifetime until = lifetime::until_freed, std::uint32_t replicas = 0);
  // Ends a region that the application owns: its bytes and all capabilities for it. address: where it begins.
  void free(std::uint64_t address);
  void free(const capability& whole) { free(whole.address); }

  // Bytes from, and to, `offset` of what the capability is for. Not atomic: others may see parts of a write. A range
  // that is not all within it is access_denied, and nothing is written. From 16 MiB on it is several requests. After an
  // error `to` holds anything.
  void read(const capability& from, std::uint64_t offset, std::span<std::byte> to);
  void write(const capability& to, std::uint64_t offset, std::span<const std::byte> from);
  // The parts one behind another, by one round trip for each 1024 of them: all are checked before any is touched.
  // bytes: as many as the parts have together.
  void gather(const capability& from, std::span<const remote_part> parts, std::span<std::byte> to);
  void scatter(const capability& to, std::span<const remote_part> parts, std::span<const std::byte> from);

  // The region that this client has allocated with lifetime::connection, mapped: loads and stores there do what reads
  // and writes do, without a message. Once for a region. None where its server passes no memory: over TCP, with
  // replicas, of a device or file, of a region that readers have mapped. From then on other clients can neither free
  // the region nor revoke `whole`; what is granted from it they use as before. As long as it is mapped after its end it
  // counts as a region of the server. Throws access_denied for any other region or capability.
  // cost: a round trip; then the first touch of each page.
  [[nodiscard]] std::optional<mapped_region> map(const capability& whole);
  // Throws link_lost where the server is gone by which the region was mapped, or the connection: what was read or
  // written since the last check is lost then. So check after a read, before it is believed. cost: a system call.
  void check(const mapped_region& at);
  // A region, mapped to be read: loads there see what its server has, without a message, each naturally aligned word as
  // a whole. with: a capability for all of it, with the right to read; throws access_denied for any other one. None
  // where its server passes no memory to readers, which read by messages then: over TCP, with replicas, of a device or
  // file, of a region that is mapped by `map` or larger than server_options::most_mapped_bytes, where the server has no
  // room for the region once more (see revoke), with a kernel before 5.1 or without /proc. cost: a round trip; then the
  // first touch of each page.
  [[nodiscard]] std::optional<read_only_region> map_to_read(const capability& with);
  // Whether what has been read there was the region's, as of this call. False where the region lies elsewhere by now,
  // as any reader's capability for it was revoked, or where the client has connected anew: it is mapped there, at the
  // same addresses, and has to be read again. Throws access_denied where `with` was revoked or the region freed,
  // link_lost where the server is gone, not_supported where the server passes it no more; then bytes() are what they
  // were when that happened. cost: a system call; where it is false, a round trip.
  [[nodiscard]] bool check(read_only_region& at);

  // On 8 bytes at a multiple of 8, atomic for all clients. Both return what was there before.
  std::uint64_t fetch_add(const capability& at, std::uint64_t offset, std::uint64_t addend);
  std::uint64_t compare_swap(const capability& at, std::uint64_t offset, std::uint64_t expected, std::uint64_t desired);

  // A capability for a part of what `from` is for, with no more rights; for one application, or (empty) whoever has it.
  // It ends with `from`. Throws out_of_memory where the server keeps no more of them.
  [[nodiscard]] capability grant(const capability& from, std::uint64_t offset, std::uint64_t bytes, rights may,
                                 std::string_view application = {});
  // Ends a capability, and all that were made from it: operations that begin later are denied, and those under way
  // stop. By the application that made it or that owns the region. Where one of them has been used to map the region
  // (map_to_read), the region moves, and whoever has it mapped sees what it was before. cost: a round trip; of a region
  // that moves, a copy of it, for which all clients of the server wait.
  void revoke(const capability& which);

  // Lets the replicas that this client has used know that it is still there. One that asks for nothing does not learn
  // that another of them serves now, and what it allocated with lifetime::connection ends once that one's patience is
  // over (server_options): so call it a few times within that. A region does, by its thread. Throws nothing: whoever
  // needs a server that is lost is told. cost: a round trip to each chain; without replicas nothing.
  void keep_alive();
  // What the server of that number has and has counted; (none) the one at `endpoint`.
  [[nodiscard]] statistics server_statistics(std::optional<std::uint32_t> server = {});
  // Regions of the application; of all if it is an operator.
  [[nodiscard]] std::vector<region_info> list_regions(std::optional<std::uint32_t> server = {});

  // Names at `endpoint`. One is there as long as the connection that linked it, which alone may change or unlink it;
  // those of servers ("rmem.0") only operators link. Throws access_denied where another has it; resolving throws
  // bad_argument where nobody has.
  void link_name(std::string_view name, std::string_view endpoint);
  void unlink_name(std::string_view name);
  [[nodiscard]] std::string resolve_name(std::string_view name);
  [[nodiscard]] std::vector<name_info> list_names();

  // What the name server at `endpoint` knows of replicas; the first 15 of them.
  [[nodiscard]] replica_list list_replicas();
  // For operators: the server of replicas that listens there goes when another one has its memory; it ends then. Throws
  // bad_argument where none is there. cost: a round trip; what follows is seen in list_replicas().
  void drain(std::string_view server);

 private:
  friend class detail::pager;
  // A read of bytes that lie one behind the other, whose answer is taken in by finish_read(), or before the next
  // request goes to that server; `to` lives until then. Throws link_lost where it cannot be sent. finish_read: whether
  // its bytes are there; where not, a read says why.
  void start_read(const capability& from, std::uint64_t offset, std::span<std::byte> to);
  [[nodiscard]] bool finish_read(const capability& from) noexcept;

  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace situ::rmem
