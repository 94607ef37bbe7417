// What a job over several hosts needs beside Situ: a network, and the launcher's way of telling all tasks what each
// has.
//
// Both are of other libraries, UCX and PMIx, which a program of one host neither links nor opens: they come by
// libsitu_network.so (network_library.cpp), beside which the host server's program lies. Looked for in the folder that
// SITU_LIBEXEC names, else in ../lib/situ beside the program, else where Situ is installed. Called by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cluster/wire.h"

namespace situ::detail::cluster {

// What the tasks of a launcher tell each other before there is a job: each publishes, all cross a fence, each reads.
class task_exchange {
 public:
  virtual ~task_exchange() = default;
  [[nodiscard]] virtual std::uint32_t rank() const noexcept = 0;
  // The ranks on this host, this one among them, in order. Throws bad_launch where the launcher does not tell.
  [[nodiscard]] virtual std::vector<std::uint32_t> ranks_here() = 0;
  // Throws bad_launch, as the following do.
  virtual void publish(const std::string& key, std::span<const std::byte> bytes) = 0;
  // Until all tasks of the job have called it; what was published before can be read then.
  virtual void fence() = 0;
  [[nodiscard]] virtual std::vector<std::byte> read(const std::string& key, std::uint32_t rank) = 0;
};

// What libsitu_network.so gives.
struct network_functions {
  std::uint32_t version;                           // of Situ
  std::unique_ptr<network_wire> (*make_wire)();    // throws bad_launch
  std::unique_ptr<task_exchange> (*join_tasks)();  // the same
};
inline constexpr const char* network_library_name = "libsitu_network.so";
inline constexpr const char* network_entry_name = "situ_network_functions";
inline constexpr const char* host_server_name = "situ_host_server";

// Throws bad_launch where there is none, or one of another version. Opens it once a process.
[[nodiscard]] const network_functions& open_network();
// The folder of the library and the server. Throws as open_network().
[[nodiscard]] const std::string& network_folder();

}  // namespace situ::detail::cluster

// The library's one symbol.
extern "C" const situ::detail::cluster::network_functions* situ_network_functions() noexcept;
