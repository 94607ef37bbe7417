// situ_host_server JOB SOCKET: the server of a host in a job over several hosts, as the first task of the host starts
// it (src/launch/foreign_hosts.cpp). JOB is the descriptor of the job's memory, SOCKET the connection to that task:
// the server sends its address, or the reason why there is none; the task sends a byte once all addresses are known.
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/memory/detail/losses.h>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/print.h"
#include "cluster/host_server.h"
#include "cluster/server_greeting.h"
#include "cluster/ucx_wire.h"
#include "os/child.h"
#include "os/descriptor.h"

namespace {

using namespace situ::detail;
using namespace situ::detail::cluster;

int number_of(const char* text) {
  int number = -1;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

void say(int socket, server_greeting::what what, std::span<const std::byte> bytes) {
  const std::vector<std::byte> greeting = server_greeting::pack(what, bytes);
  (void)!::send(socket, greeting.data(), greeting.size(), MSG_NOSIGNAL);
}

// socket: set to -1 once the server has nothing more to send.
void serve(int descriptor, int& socket) {
  const job shared = job::attach(descriptor);
  ucx_wire wire;
  say(socket, server_greeting::what::address, wire.address());
  auto begin = server_greeting::begin::alone;
  if (::recv(socket, &begin, 1, 0) != 1) return;  // no job starts
  situ::os::descriptor starter{std::exchange(socket, -1)};
  if (begin != server_greeting::begin::watching) starter.close();
  try {
    host_server server{shared, wire, std::move(starter)};
    server.run();
  } catch (const std::exception& e) {
    // The places here cannot go on without a server.
    job_control& control = shared.control();
    for (std::uint32_t place = 0; place < control.place_count; ++place)
      if (control.is_here(place)) mark_lost(control, place, fmt::format("its host's server has ended: {}", e.what()));
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    tell_text("situ_host_server is started by a job over several hosts\n");
    return 125;
  }
  // Leave the program that starts it without a child: that program may wait for its own children.
  situ::os::continue_in_child();
  ::prctl(PR_SET_NAME, "situ_server");
  standard_streams_filled::for_good();
  // One or two descriptors for each far place, and one for each place here.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  int socket = number_of(argv[2]);
  try {
    serve(number_of(argv[1]), socket);
    return 0;
  } catch (const situ::error& e) {
    say(socket, server_greeting::what::refusal, std::as_bytes(std::span{e.message()}));
    situ::log(situ::log_level::error, fmt::format("a host's server ends: {}", e.message()));
  } catch (const std::exception& e) {
    situ::log(situ::log_level::error, fmt::format("a host's server ends: {}", e.what()));
  }
  return 1;
}
