// The parts of a job over several hosts that other libraries provide: a network, and the launcher's exchange between
// all tasks.
//
// They are UCX and PMIx. A program of one host neither links nor opens them: they are loaded with libsitu_network.so
// (network_library.cpp), which is in the same folder as the host server's program. That folder is the one that
// SITU_LIBEXEC names, else ../lib/situ next to the program, else the one where Situ was configured to be installed.
// `situ run --hosts` sets SITU_LIBEXEC for its places, at each host to the folder that the agent finds there: a program
// may be anywhere, the agent is a `situ` of an install or a build. Called by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace situ::detail::cluster {

class network_wire;

// The exchange between the tasks of a launcher before there is a job: each publishes, all cross a fence, each reads.
class task_exchange {
 public:
  virtual ~task_exchange() = default;
  [[nodiscard]] virtual std::uint32_t rank() const noexcept = 0;
  // Returns the ranks on this host, this one included, in order. Throws bad_launch if the launcher does not tell them.
  [[nodiscard]] virtual std::vector<std::uint32_t> ranks_here() = 0;
  // Throws bad_launch, as the following do.
  virtual void publish(const std::string& key, std::span<const std::byte> bytes) = 0;
  // Blocks until all tasks of the job have called it; then values that were published before can be read.
  virtual void fence() = 0;
  [[nodiscard]] virtual std::vector<std::byte> read(const std::string& key, std::uint32_t rank) = 0;
};

// The functions of libsitu_network.so.
struct network_functions {
  std::uint32_t version;                           // of Situ
  std::unique_ptr<network_wire> (*make_wire)();    // throws bad_launch
  std::unique_ptr<task_exchange> (*join_tasks)();  // the same
};
inline constexpr const char* network_library_name = "libsitu_network.so";
inline constexpr const char* network_entry_name = "situ_network_functions";
inline constexpr const char* host_server_name = "situ_host_server";
inline constexpr const char* network_folder_variable = "SITU_LIBEXEC";

// Opens the library, once a process. Throws bad_launch if there is none, version_mismatch if it is of another version.
[[nodiscard]] const network_functions& open_network();
// Returns the folder of the library and the server. Throws as open_network().
[[nodiscard]] const std::string& network_folder();

}  // namespace situ::detail::cluster

// The library's one symbol.
extern "C" const situ::detail::cluster::network_functions* situ_network_functions() noexcept;
