// A server of remote memory: it holds regions of bytes that clients allocate, read and write by capabilities, over
// sockets. It checks each operation against its own tables, whatever a client sends. It also keeps names: one server,
// which may have no memory, is the name server of the others.
//
//   situ::rmem::server server{options};   // listens from here on
//   server.run();                         // serves until stop()
//
// One thread serves all clients and sleeps while it has no work. A client takes some 20 KiB of the server's memory
// besides its regions, and never more than 350 KiB; the kernel's buffers for a client take at most 1.1 MiB. A
// connection that has not logged in takes 1 KiB. cost: an operation is two system calls and a wake-up; the accessors
// here read a few words.
#pragma once

#include <situ/pages/memory_kind.h>
#include <situ/rmem/keys.h>
#include <situ/rmem/statistics.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace situ::rmem {

// Options of a server.
struct server_options {
  // Endpoints that the server listens at: "HOST:PORT" (port 0: any free port), "[ADDRESS]:PORT", "unix:/path".
  std::vector<std::string> listen = {"127.0.0.1:0"};
  std::uint64_t capacity_bytes = 0;   // of memory for regions; 0: the server keeps names only
  memory_kind memory;                 // the kind of memory that its pages come from
  std::uint32_t index = 0;            // 0 to 255, in the top bits of its addresses
  std::vector<application_key> keys;  // applications that may be clients
  std::string names;       // the name server, at which it links "rmem.INDEX" by its first operator's key; empty: none
  std::string advertised;  // the endpoint that this name leads to; empty: the first of `listen`
  // 1 to 3: the number of servers of the same index that hold this server's memory, in a chain that the name server
  // keeps. The first of the chain serves. If it is lost, the next one serves, and another server of that index, or a
  // spare one, receives a copy. 0: the server has no replicas.
  std::uint32_t replicas = 0;
  bool is_spare = false;  // replaces any lost server, whatever its index, if its capacity is enough
  // For a name server with replicas: a server that is not heard for this long is replaced, and stops serving.
  std::chrono::milliseconds lease{400};
  // The largest region that readers on this host may map (client::map_to_read). When a reader is revoked the server
  // copies the region, and all clients wait for that, more than a second for each GiB.
  std::uint64_t most_mapped_bytes = std::uint64_t{256} << 20;
  // The most clients at a time; one application may have half as many. The process needs a file descriptor for each,
  // and 160 more.
  std::uint32_t most_clients = 256;
  // How long a client may take to send a message, or 256 KiB of a longer one, from its first byte on, and to receive as
  // much of an answer. With replicas also how long regions of lifetime::connection outlive their client's connection.
  std::chrono::milliseconds patience{10'000};
};

// Listens until it is destroyed. One thread calls run(); the other members are thread-safe.
class server {
 public:
  // Raises the process's soft limit of file descriptors to the hard one. Throws bad_argument for options outside their
  // domain, out_of_memory if the machine has less than the capacity, bad_launch if the server cannot listen, or if the
  // process may not have enough file descriptors. At the path of a Unix socket the server replaces only a socket at
  // which nobody answers.
  explicit server(server_options options);
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // Serves until stop(); then closes all connections. An error that a client causes ends only that client's connection.
  void run();
  // Makes run() return soon; may be called before run().
  void stop() noexcept;
  // Returns the endpoints that the server listens at, in the order of the options, with the ports it got.
  [[nodiscard]] const std::vector<std::string>& endpoints() const noexcept;
  // Returns the counters. pre: run() is not under way.
  [[nodiscard]] statistics counted() const;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace situ::rmem
