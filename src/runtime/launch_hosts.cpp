#include "runtime/launch_hosts.h"

#include <situ/base/error.h>
#include <situ/fabric/detail/function_id.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "cluster/network.h"
#include "cluster/protocol.h"
#include "cluster/records.h"
#include "cluster/server_greeting.h"
#include "runtime/launch.h"

namespace situ::detail {
namespace {

using namespace cluster;

constexpr int server_start_ms = 20'000;  // on a machine that is very busy

std::string name_of_host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string{name.data()} : "a host without a name";
}

// A host's server as its first task has it until the job has begun.
class server_start {
 public:
  explicit server_start(const job& shared) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw_error(errc::bad_launch, fmt::format("no socket for the host's server: {}", ::strerrordesc_np(errno)));
    socket_ = above_standard(ends[0]);
    const int servers = ends[1];
    const std::string program = network_folder() + "/" + host_server_name;
    const int failed = spawn(program, shared.descriptor(), servers);
    ::close(servers);
    if (failed != 0)
      throw_error(errc::bad_launch, fmt::format("{} cannot be started: {}", program, ::strerrordesc_np(failed)));
  }
  ~server_start() {
    if (socket_ >= 0) ::close(socket_);  // who has not begun ends
  }
  server_start(const server_start&) = delete;
  server_start& operator=(const server_start&) = delete;

  [[nodiscard]] std::vector<std::byte> address() const {
    std::vector<std::byte> said(server_greeting::most_bytes);
    pollfd looked{.fd = socket_, .events = POLLIN, .revents = 0};
    const ssize_t got =
        ::poll(&looked, 1, server_start_ms) == 1 ? ::recv(socket_, said.data(), said.size(), 0) : ssize_t{-1};
    if (got < 1) throw_error(errc::bad_launch, "the host's server has ended before it could say how it is reached");
    said.resize(static_cast<std::size_t>(got));
    const auto what = static_cast<server_greeting::what>(said.front());
    said.erase(said.begin());
    if (what == server_greeting::what::refusal)
      throw_error(errc::bad_launch, std::string_view{reinterpret_cast<const char*>(said.data()), said.size()});
    if (said.size() > host_address::most_bytes)
      throw_error(errc::bad_launch,
                  fmt::format("the network's address of this host has {} bytes, more than the {} that "
                              "there is room for: name one network by UCX_TLS or UCX_NET_DEVICES",
                              said.size(), host_address::most_bytes));
    return said;
  }
  // It serves from now on.
  void begin() noexcept {
    const char byte = 1;
    (void)!::send(socket_, &byte, 1, MSG_NOSIGNAL);
    ::close(std::exchange(socket_, -1));
  }

 private:
  // An errno, or 0.
  static int spawn(const std::string& program, int job, int socket) {
    // Above all numbers that the server has them by.
    constexpr int servers_job = 3;
    constexpr int servers_socket = 4;
    const int job_copy = ::fcntl(job, F_DUPFD_CLOEXEC, 10);
    const int socket_copy = ::fcntl(socket, F_DUPFD_CLOEXEC, 10);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, job_copy, servers_job);
    ::posix_spawn_file_actions_adddup2(&files, socket_copy, servers_socket);
    posix_spawnattr_t how;
    ::posix_spawnattr_init(&how);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&how, &none);
    ::posix_spawnattr_setsigdefault(&how, &all);
    ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> environment;
    for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
    static char no_handlers[] = "UCX_HANDLE_ERRORS=none";
    static char no_events[] = "UCX_MEM_EVENTS=n";
    if (std::getenv("UCX_HANDLE_ERRORS") == nullptr) environment.push_back(no_handlers);
    if (std::getenv("UCX_MEM_EVENTS") == nullptr) environment.push_back(no_events);
    environment.push_back(nullptr);
    std::string words[] = {program, fmt::format("{}", servers_job), fmt::format("{}", servers_socket)};
    char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t child = -1;
    const int failed = ::posix_spawn(&child, program.c_str(), &files, &how, arguments, environment.data());
    ::posix_spawnattr_destroy(&how);
    ::posix_spawn_file_actions_destroy(&files);
    ::close(job_copy);
    ::close(socket_copy);
    // It goes on as nobody's child.
    if (failed == 0)
      while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
    return failed;
  }
  int socket_ = -1;
};

// The first task of a host, until the job has begun.
class host_start {
 public:
  host_start(const foreign_task& self, task_exchange& tasks, unsigned turn) : self_{self}, tasks_{tasks}, turn_{turn} {}

  // Each task has published the first rank of its host. Hosts are numbered by these.
  job make() {
    const std::vector<std::uint32_t> firsts = read_firsts();
    std::map<std::uint32_t, std::uint16_t> numbers;
    for (const std::uint32_t first : firsts) numbers.try_emplace(first, static_cast<std::uint16_t>(numbers.size()));
    std::vector<std::uint16_t> places(numbers.size());
    std::vector<place_home> homes;
    for (const std::uint32_t first : firsts) homes.push_back({numbers[first], places[numbers[first]]++});
    host_record own{.name = name_of_host()};
    std::optional<job> made;
    try {
      made.emplace(job::create({.place_count = self_.size,
                                .memory = memory_by_environment(),
                                .homes = homes,
                                .host = homes[self_.rank].host}));
      if (numbers.size() > 1) own.address = server_.emplace(*made).address();
      const job_control& control = made->control();
      own.build = executable_id();
      own.layout = control.layout;
      own.page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
      own.slice_shift = control.slice_shift;
    } catch (const error& e) {
      own.refusal = e.message();  // said by all hosts, once all have met
    }
    const std::string key = fmt::format("situ.host.{}", turn_);
    tasks_.publish(key, pack(own));
    tasks_.fence();
    std::vector<host_record> records(numbers.size());
    for (const auto& [first, number] : numbers) records[number] = unpack(tasks_.read(key, first));
    check_records(records);
    for (const auto& [first, number] : numbers) {
      if (numbers.size() == 1) break;
      host_address& to = made->control().address_of(number);
      const std::vector<std::byte>& address = records[number].address;
      std::copy(address.begin(), address.end(), to.text);
      to.bytes = static_cast<std::uint32_t>(address.size());
    }
    return std::move(*made);
  }
  // All processes here are known.
  void begin() noexcept {
    if (server_) server_->begin();
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> read_firsts() {
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t rank = 0; rank < self_.size; ++rank) {
      const std::vector<std::byte> said = tasks_.read(fmt::format("situ.first.{}", turn_), rank);
      if (said.size() != sizeof(std::uint32_t)) throw_error(errc::bad_launch, "a task of another version of Situ");
      firsts.push_back(read_wire<std::uint32_t>(said));
      if (firsts.back() > rank) throw_error(errc::bad_launch, fmt::format("task {} is on no host", rank));
    }
    return firsts;
  }

  const foreign_task& self_;
  task_exchange& tasks_;
  const unsigned turn_;
  std::optional<server_start> server_;
};

std::unique_ptr<task_exchange> join_tasks(const foreign_task& self) {
  try {
    return open_network().join_tasks();
  } catch (const error& e) {
    refuse_tasks(self, fmt::format("they run on several hosts ({})", e.message()));
  }
}

}  // namespace

job meet_over_hosts(const foreign_task& task) {
  static unsigned turn = 0;
  foreign_task self = task;
  const std::unique_ptr<task_exchange> tasks = join_tasks(self);
  self.ranks_here = tasks->ranks_here();
  std::sort(self.ranks_here.begin(), self.ranks_here.end());
  if (tasks->rank() != self.rank || !std::binary_search(self.ranks_here.begin(), self.ranks_here.end(), self.rank))
    throw_error(errc::bad_launch, fmt::format("{} says that this is task {}, and PMIx that it is task {}",
                                              self.launcher, self.rank, tasks->rank()));
  host_start start{self, *tasks, turn};
  tasks->publish(fmt::format("situ.first.{}", turn), wire_bytes_of(self.ranks_here.front()));
  ++turn;
  tasks->fence();
  return meet_tasks(self, {.make = [&start] { return start.make(); },
                           .made = [&start] { start.begin(); },
                           .meanwhile = [&tasks] { tasks->fence(); }});
}

}  // namespace situ::detail
