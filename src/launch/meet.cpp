// The tasks of another launcher meet, and watch each other.
#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/memory/detail/losses.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/foreign.h"
#include "launch/launch.h"
#include "launch/own_report.h"
#include "launch/standstill.h"
#include "os/host.h"
#include "os/local_socket.h"
#include "os/worker.h"

namespace situ::detail {
namespace {

using clock = std::chrono::steady_clock;
constexpr std::chrono::seconds between_warnings{10};
constexpr std::chrono::milliseconds between_tries{5};
constexpr int look_ms = 200;

[[noreturn]] void throw_cannot_meet(const foreign_task& self, std::string_view what, std::string_view why) {
  throw_error(errc::bad_launch, fmt::format("task {} of {} of {} cannot join the others: {}: {}", self.rank, self.size,
                                            self.launcher, what, why));
}

// Logs which tasks are missing, for the first time after a while.
class waiting_notice {
 public:
  template <class Text>
  void say(Text text) {
    if (clock::now() < next_) return;
    log(log_level::warning, text());
    next_ += between_warnings;
  }

 private:
  clock::time_point next_ = clock::now() + between_warnings;
};

// turn: counts the jobs that the runtimes of a process join, one after the other.
os::local_address meeting_point(const foreign_task& self, unsigned turn) {
  std::string name = fmt::format("situ/{}/{}/{}", ::getuid(), self.job, turn);
  if (name.size() > os::local_address::most_bytes)
    name = fmt::format("situ/{}/{:x}/{}", ::getuid(), std::hash<std::string>{}(self.job), turn);
  return os::local_address::abstract(name);
}

os::descriptor open_socket(const foreign_task& self) {
  os::descriptor made = os::open_local_socket(SOCK_SEQPACKET);
  if (!made) throw_cannot_meet(self, "no socket", ::strerrordesc_np(errno));
  return made;
}

// Returns the process at the other end; nullopt if it runs for another user.
std::optional<pid_t> process_at_other_end(const foreign_task& self, const os::descriptor& socket) {
  const std::optional<ucred> peer = os::peer_of(socket);
  if (!peer) throw_cannot_meet(self, "the process at the other end is unknown", ::strerrordesc_np(errno));
  if (peer->uid != ::getuid()) return {};
  // Without its number, no place could watch for its end.
  if (peer->pid == 0)
    throw_cannot_meet(self, "another task is in another pid namespace",
                      "start the tasks of a host in one container, or set SITU_ALONE=1");
  return peer->pid;
}

// A message of one byte passes the descriptor. Returns 0 or an errno.
int send_descriptor(const os::descriptor& to, int sent) {
  char byte = 1;
  const iovec text{&byte, 1};
  return os::send_message(to, {&text, 1}, sent) == 1 ? 0 : errno;
}

// Returns none if the other end is gone. Throws if it has sent a descriptor for which this process has no number left.
os::descriptor receive_descriptor(const foreign_task& self, const os::descriptor& from) {
  std::byte byte{};
  os::received_message got = os::receive_message(from, {&byte, 1});
  if (got.bytes < 0 && errno != ECONNRESET) throw_cannot_meet(self, "it receives nothing", ::strerrordesc_np(errno));
  if (got.bytes != 1) return {};
  if (got.is_cut)
    throw_cannot_meet(self, "it has no descriptor for the memory of the job", "raise the limit (ulimit -n)");
  return std::move(got.passed);
}

// Returns false if the poll fails: the caller polls again.
bool is_ready(const os::descriptor& socket, int timeout_ms) {
  pollfd looked{.fd = socket.number(), .events = POLLIN, .revents = 0};
  return ::poll(&looked, 1, timeout_ms) > 0;
}

// --- the first -------------------------------------------------------------------------------------------------------

[[nodiscard]] std::vector<std::uint32_t> ranks_of(const foreign_task& self) {
  if (!self.ranks_here.empty()) return self.ranks_here;
  std::vector<std::uint32_t> all(self.size);
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  return all;
}

struct arrived_task {
  os::descriptor socket;
  std::uint32_t rank;
  pid_t pid;
};

std::string missing(const foreign_task& self, const std::vector<arrived_task>& come) {
  std::vector<std::uint32_t> absent;
  for (const std::uint32_t rank : ranks_of(self))
    if (rank != self.rank &&
        std::none_of(come.begin(), come.end(), [rank](const arrived_task& each) { return each.rank == rank; }))
      absent.push_back(rank);
  return fmt::format("{}", fmt::join(absent, ", "));
}

void receive_task(const foreign_task& self, const os::descriptor& listener, std::vector<arrived_task>& come) {
  os::descriptor socket = os::accept_from(listener);
  if (!socket) {
    // On other errors the connecting task would stay in the queue, and this loop would wait for it in vain.
    if (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED) return;
    throw_cannot_meet(self, "another task cannot be let in", ::strerrordesc_np(errno));
  }
  const std::optional<pid_t> pid = process_at_other_end(self, socket);
  std::uint32_t rank = 0;
  if (!pid || !is_ready(socket, 1000) || ::recv(socket.number(), &rank, sizeof rank, 0) != sizeof rank) return;
  const std::vector<std::uint32_t> expected = ranks_of(self);
  if (rank == self.rank || std::find(expected.begin(), expected.end(), rank) == expected.end() ||
      std::any_of(come.begin(), come.end(), [rank](const arrived_task& each) { return each.rank == rank; }))
    throw_cannot_meet(self, "two tasks have the same rank", fmt::format("{}", rank));
  come.push_back({.socket = std::move(socket), .rank = rank, .pid = *pid});
}

job receive_all(const foreign_task& self, const os::local_address& point, const meeting_of_host& doing) {
  const os::descriptor listener = open_socket(self);
  if (!os::listen_at(listener, point, SOMAXCONN))
    throw_cannot_meet(self, "its address is taken", ::strerrordesc_np(errno));
  std::optional<job> first;
  if (!doing.make) first.emplace(job::create(options_of_own_job(self.size, observation_by_environment())));
  std::vector<arrived_task> come;
  for (waiting_notice waited; come.size() + 1 < ranks_of(self).size();) {
    if (is_ready(listener, look_ms)) receive_task(self, listener, come);
    waited.say([&] {
      return fmt::format("task {} of {} waits for task {} to begin its situ::runtime, as every task of {} must",
                         self.rank, self.size, missing(self, come), self.launcher);
    });
  }
  job made = doing.make ? doing.make() : std::move(*first);
  made.control().slot(self.rank).pid.store(::getpid());
  for (const arrived_task& each : come) made.control().slot(each.rank).pid.store(each.pid);
  if (doing.made) doing.made();
  for (const arrived_task& each : come) {
    const int failed = send_descriptor(each.socket, made.descriptor());
    if (failed == EPIPE || failed == ECONNRESET)
      mark_lost(made.control(), each.rank, "ended before joining the job");
    else if (failed != 0)
      throw_cannot_meet(self, fmt::format("task {} cannot be given the memory of the job", each.rank),
                        ::strerrordesc_np(failed));
  }
  return made;
}

// --- the others ------------------------------------------------------------------------------------------------------

job go_to_first(const foreign_task& self, const os::local_address& point, const meeting_of_host& doing) {
  const std::uint32_t first = ranks_of(self).front();
  waiting_notice waited;
  for (;; rest(std::chrono::nanoseconds{between_tries}.count())) {
    const os::descriptor socket = open_socket(self);
    if (::connect(socket.number(), point.get(), point.bytes()) == 0) {
      if (!process_at_other_end(self, socket))
        throw_cannot_meet(self, "its address", "another user's process has taken it");
      if (::send(socket.number(), &self.rank, sizeof self.rank, MSG_NOSIGNAL) == sizeof self.rank) {
        if (doing.meanwhile) doing.meanwhile();
        while (!is_ready(socket, look_ms))
          waited.say([&] { return fmt::format("task {} of {} waits for the others", self.rank, self.size); });
        os::descriptor received = receive_descriptor(self, socket);
        if (received) return job::attach(received.release());
      }
      throw_cannot_meet(self, fmt::format("task {} has refused it or ended", first), "see what that says");
    } else if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) {  // it is not there yet, or is busy
      throw_cannot_meet(self, fmt::format("task {} is not reached", first), ::strerrordesc_np(errno));
    }
    waited.say([&] {
      return fmt::format("task {} of {} waits for task {} to begin its situ::runtime, as every task of {} must",
                         self.rank, self.size, first, self.launcher);
    });
  }
}

}  // namespace

job meet_tasks(const foreign_task& self, const meeting_of_host& doing) {
  static unsigned turn = 0;
  const os::local_address point = meeting_point(self, turn++);
  const bool is_first = self.rank == ranks_of(self).front();
  return is_first ? receive_all(self, point, doing) : go_to_first(self, point, doing);
}

// --- watching each other ---------------------------------------------------------------------------------------------

neighbour_watch::neighbour_watch(job_control& control, std::uint32_t own)
    : control_{control}, own_{own}, stop_{::eventfd(0, EFD_CLOEXEC)} {
  thread_ = os::worker{os::without_signals, [this] { run(); }};
}

neighbour_watch::~neighbour_watch() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.number(), &one, sizeof one);
  thread_.join();
}

void neighbour_watch::run() {
  const std::uint32_t count = control_.place_count;
  for (std::uint32_t next = (own_ + 1) % count; next != own_; next = (next + 1) % count) {
    if (!await_end_of(next)) return;
    if (control_.slot(next).state.load() != place_state::left)
      mark_lost(control_, next, "its process ended without leaving the job");
  }
}

bool neighbour_watch::is_first() const {
  for (std::uint32_t place = 0; place < own_; ++place)
    if (control_.slot(place).state.load() == place_state::joined) return false;
  return true;
}

// Only ESRCH means that the process has ended; other errors, for example a lack of descriptors, say nothing about it.
bool neighbour_watch::await_end_of(std::uint32_t place) {
  const auto pid = static_cast<pid_t>(control_.slot(place).pid.load());
  os::descriptor process;
  pollfd looked[] = {{.fd = -1, .events = POLLIN, .revents = 0},
                     {.fd = stop_.number(), .events = POLLIN, .revents = 0}};
  bool is_told = false;
  for (standstill_watch standstill;;) {
    if (looked[0].fd < 0) {
      process = os::descriptor{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
      looked[0].fd = process.number();
      if (looked[0].fd < 0 && errno == ESRCH) return true;
      if (looked[0].fd < 0 && !std::exchange(is_told, true))
        log(log_level::warning,
            fmt::format("the process of place {} cannot be watched yet: {}", place, ::strerrordesc_np(errno)));
    }
    if (::poll(looked, std::size(looked), look_ms) < 0) looked[0].revents = looked[1].revents = 0;
    if (looked[1].revents != 0) return false;
    if (looked[0].revents != 0) return true;
    if (is_first() && standstill.look(control_).is_final) end_standstill(control_);
  }
}

}  // namespace situ::detail
