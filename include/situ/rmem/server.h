// A server of remote memory: regions of bytes that clients allocate, read and write by capabilities, over sockets. It
// checks each operation against its own tables, whatever a client sends. It also keeps names: one server, which may
// have no memory, is the name server of the others.
//
//   situ::rmem::server server{options};   // listens from here on
//   server.run();                         // serves until stop()
//
// One thread serves all clients and sleeps while there is nothing to do. A client costs it some 20 KiB beside its
// regions, and never more than 350 KiB; and the kernel, which keeps what is on its way, at most 1.1 MiB. A connection
// that has not logged in costs 1 KiB. cost: an operation is two system calls and a wake-up; what asks the server here
// reads a few words.
#pragma once

#include <situ/memory/memory_kind.h>
#include <situ/rmem/keys.h>
#include <situ/rmem/statistics.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace situ::rmem {

// How a server is set up.
struct server_options {
  // Where it listens: "HOST:PORT" (port 0: any that is free), "[ADDRESS]:PORT", "unix:/path".
  std::vector<std::string> listen = {"127.0.0.1:0"};
  std::uint64_t capacity_bytes = 0;   // of memory for regions; 0: it has names only
  memory_kind memory;                 // where its pages come from
  std::uint32_t index = 0;            // 0 to 255, in the top bits of its addresses
  std::vector<application_key> keys;  // who may be a client
  std::string names;                  // the name server, where it links "rmem.INDEX" by its first operator's key
  std::string advertised;             // what that name leads to; empty: where it listens first
  // 1 to 3: this server's memory lies at so many servers of the same index, a chain that the name server keeps. The
  // first of them serves; where it is lost, the next one does, and another one of that index, or a spare one, gets what
  // it has. 0: it has no replicas.
  std::uint32_t replicas = 0;
  bool is_spare = false;  // takes the place of any that is lost, whatever its index, where its capacity is enough
  // Of a name server with replicas: whoever is not heard for so long is replaced, and serves no more.
  std::chrono::milliseconds lease{400};
  // The largest region that readers on this host map (client::map_to_read): where one of them is revoked it is copied,
  // and all clients wait for that, more than a second for each GiB.
  std::uint64_t most_mapped_bytes = std::uint64_t{256} << 20;
  // At a time; half as many of one application. The process needs a file descriptor for each, and 160 more.
  std::uint32_t most_clients = 256;
  // How long a client may take for a message, or for 256 KiB of a longer one, from its first byte on, and for taking as
  // much of an answer; how long the regions of one of replicas that is not there are kept, which end with its
  // connection.
  std::chrono::milliseconds patience{10'000};
};

// Listens while it lives. One thread calls run(); the others are thread-safe.
class server {
 public:
  // Raises the process's soft limit of file descriptors to the hard one. Throws bad_argument for options outside their
  // domain, out_of_memory where the machine has less than the capacity, bad_launch where it cannot listen, or where the
  // process may not have enough file descriptors. A Unix socket replaces one that nobody answers, and nothing else.
  explicit server(server_options options);
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // Serves until stop(); then all connections are closed. Whatever clients do ends them alone.
  void run();
  // Makes run() return soon; also before it is called.
  void stop() noexcept;
  // Where it listens, in the order of the options, with the ports that it has.
  [[nodiscard]] const std::vector<std::string>& endpoints() const noexcept;
  // What it has done so far. pre: run() is not under way.
  [[nodiscard]] statistics counted() const;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace situ::rmem
