#include "launch/host_part.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cluster/host_words.h"
#include "cluster/server_greeting.h"
#include "launch/network.h"
#include "os/bytes.h"
#include "os/child.h"
#include "os/descriptor.h"
#include "os/local_socket.h"

namespace situ::detail {
namespace {

using namespace cluster;

constexpr int server_start_ms = 20'000;  // enough on a very busy machine

}  // namespace

std::string name_of_host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string{name.data()} : "a host without a name";
}

class host_part::server_start {
 public:
  explicit server_start(const job& shared) {
    os::socket_pair ends = os::socket_pair::make(SOCK_SEQPACKET);
    if (!ends)
      throw_error(errc::bad_launch, fmt::format("no socket for the host's server: {}", ::strerrordesc_np(errno)));
    // The server ends if it has not begun when the other end is closed.
    const os::descriptor servers = std::move(ends.other);
    socket_ = std::move(ends.one);
    const std::string program = network_folder() + "/" + host_server_name;
    if (const int failed = start(program, shared.descriptor(), servers.number()); failed != 0)
      throw_error(errc::bad_launch, fmt::format("{} cannot be started: {}", program, ::strerrordesc_np(failed)));
  }
  server_start(const server_start&) = delete;
  server_start& operator=(const server_start&) = delete;

  [[nodiscard]] std::vector<std::byte> address() const {
    std::vector<std::byte> said(server_greeting::most_bytes);
    await_word();
    ssize_t got = -1;
    do got = ::recv(socket_.number(), said.data(), said.size(), 0);
    while (got < 0 && errno == EINTR);
    if (got < 1) throw_error(errc::bad_launch, "the host's server has ended before it could say how it is reached");
    said.resize(static_cast<std::size_t>(got));
    const auto what = static_cast<server_greeting::what>(said.front());
    said.erase(said.begin());
    if (what == server_greeting::what::refusal) throw_error(errc::bad_launch, os::text_of(said));
    if (said.size() > host_address::most_bytes)
      throw_error(errc::bad_launch,
                  fmt::format("the network's address of this host has {} bytes, more than the {} that "
                              "there is room for: name one network by UCX_TLS or UCX_NET_DEVICES",
                              said.size(), host_address::most_bytes));
    return said;
  }
  void begin(server_greeting::begin how) noexcept {
    (void)!::send(socket_.number(), &how, 1, MSG_NOSIGNAL);
    if (how == server_greeting::begin::alone) socket_.close();
  }

 private:
  // Waits for a message of the server. A signal of the program ends a single poll, not the wait.
  void await_word() const {
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + std::chrono::milliseconds{server_start_ms};
    pollfd looked{.fd = socket_.number(), .events = POLLIN, .revents = 0};
    for (int found = -1; found != 1;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
      found = ::poll(&looked, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
      if (found < 0 && errno != EINTR)
        throw_error(errc::bad_launch, fmt::format("the host's server is not heard: {}", ::strerrordesc_np(errno)));
      if (found == 0)
        throw_error(errc::bad_launch, fmt::format("the host's server has not said within {} s how it is reached",
                                                  server_start_ms / 1000));
    }
  }
  // Returns an errno, or 0.
  static int start(const std::string& program, int job, int socket) {
    std::vector<std::string> variables = os::own_environment();
    if (std::getenv("UCX_HANDLE_ERRORS") == nullptr) variables.emplace_back("UCX_HANDLE_ERRORS=none");
    if (std::getenv("UCX_MEM_EVENTS") == nullptr) variables.emplace_back("UCX_MEM_EVENTS=n");
    const os::exec_texts arguments{{program, fmt::format("{}", job), fmt::format("{}", socket)}};
    const os::exec_texts environment{std::move(variables)};
    sigset_t none;
    ::sigemptyset(&none);
    os::child server = os::child::start({.file = program.c_str(),
                                         .arguments = arguments,
                                         .environment = &environment,
                                         .input = os::program::nothing,
                                         .output = os::program::nothing,
                                         .kept = {job, socket},
                                         .mask = &none,
                                         .has_default_signals = true});
    if (!server) return errno;
    (void)server.wait();  // it leaves the server running without a parent here
    return 0;
  }
  os::descriptor socket_;
};

host_part::host_part(job_options options, std::uint64_t build) {
  record_.name = name_of_host();
  const std::uint16_t hosts = 1 + std::max_element(options.homes.begin(), options.homes.end(), [](auto a, auto b) {
                                    return a.host < b.host;
                                  })->host;
  try {
    made_.emplace(job::create(options));
    if (hosts > 1) {
      server_ = std::make_unique<server_start>(*made_);
      record_.address = server_->address();
    }
    const job_control& control = made_->control();
    record_.build = build;
    record_.layout = control.layout;
    record_.page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    record_.slice_shift = control.slice_shift;
  } catch (const error& e) {
    record_.refusal = e.message();
  }
}

host_part::~host_part() = default;

job& host_part::meet(std::span<const host_record> records) {
  check_records(records);
  for (std::uint16_t host = 0; server_ && host < records.size(); ++host) {
    host_address& to = address_of(made_->control(), host);
    const std::vector<std::byte>& address = records[host].address;
    std::copy(address.begin(), address.end(), to.text);
    to.bytes = static_cast<std::uint32_t>(address.size());
  }
  return *made_;
}

void host_part::begin() noexcept {
  if (server_) server_->begin(server_greeting::begin::alone);
}

void host_part::begin_watching() noexcept {
  if (server_) server_->begin(server_greeting::begin::watching);
}

}  // namespace situ::detail
