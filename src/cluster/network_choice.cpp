#include "cluster/network_choice.h"

#include <situ/base/error_code.h>
#include <situ/base/log.h>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "os/network_socket.h"

namespace situ::detail::cluster {
namespace {

struct own_interface {
  std::string name;
  std::string address;  // as text
  bool is_loopback = false;
};

std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const from = address->sa_family == AF_INET
                               ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(address)->sin_addr)
                               : &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return ::inet_ntop(address->sa_family, from, text.data(), text.size()) == nullptr ? std::string{} : text.data();
}

// Returns the interfaces that are up, once for each of their addresses.
std::vector<own_interface> own_interfaces() {
  std::vector<own_interface> found;
  ifaddrs* all = nullptr;
  // Fail rather than return none: with no interface known, UCX would use all networks.
  if (::getifaddrs(&all) != 0)
    throw_error(errc::bad_launch,
                fmt::format("the networks of this host are not told: {}; name one by {}, or by UCX_NET_DEVICES",
                            ::strerrordesc_np(errno), network_variable));
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned{all, &::freeifaddrs};
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next)
    if (each->ifa_addr != nullptr && (each->ifa_flags & IFF_UP) != 0 &&
        (each->ifa_addr->sa_family == AF_INET || each->ifa_addr->sa_family == AF_INET6))
      found.push_back({each->ifa_name, text_of(each->ifa_addr), (each->ifa_flags & IFF_LOOPBACK) != 0});
  return found;
}

[[noreturn]] void fail_to_look(const std::string& host, int reason) {
  throw_error(errc::bad_launch, fmt::format("the network that leads to \"{}\" cannot be looked for: {}; name one by {}",
                                            host, ::strerrordesc_np(reason), network_variable));
}

// Returns the address that this host would use towards that host; empty if there is no route, or if only the remote
// shell knows the name. Sends nothing. Throws if that cannot be found out.
std::string address_towards(const std::string& host) {
  const os::found_addresses found = os::find_addresses(host, "9", SOCK_DGRAM);  // any port
  if (found.failure == EAI_SYSTEM || found.failure == EAI_MEMORY)
    fail_to_look(host, found.failure == EAI_MEMORY ? ENOMEM : errno);
  for (const os::socket_address& each : found.all) {
    const os::descriptor socket = os::open_socket(each.family(), SOCK_DGRAM);
    if (!socket && (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT)) continue;
    if (!socket) fail_to_look(host, errno);
    if (os::connect_to(socket, each) != 0) continue;
    if (const os::socket_address own = os::address_of_socket(socket)) return text_of(own.get());
  }
  return {};
}

}  // namespace

void choose_network(const std::string& first_host) {
  for (const char* const each : {network_variable, "UCX_NET_DEVICES", "UCX_TLS"})
    if (std::getenv(each) != nullptr) return;
  const std::string address = address_towards(first_host.substr(first_host.rfind('@') + 1));
  for (const own_interface& each : own_interfaces())
    if (!each.is_loopback && each.address == address) {
      ::setenv(network_variable, each.name.c_str(), 1);
      return;
    }
  log(log_level::info,
      fmt::format("no one network leads to \"{}\", so all are used; {} names one", first_host, network_variable));
}

std::string chosen_network() {
  const char* const name = std::getenv(network_variable);
  if (name == nullptr || *name == '\0') return {};
  std::vector<std::string> there;
  for (const own_interface& each : own_interfaces()) {
    if (each.name == name) return name;
    there.push_back(fmt::format("{} ({})", each.name, each.address));
  }
  throw_error(errc::bad_launch,
              fmt::format("{}={}: there is no such interface, but {}", network_variable, name, fmt::join(there, ", ")));
}

}  // namespace situ::detail::cluster
