#include "runtime/place_network.h"

#include <situ/base/error_code.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/runtime/detail/scheduler.h>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "cluster/host_loss.h"
#include "cluster/host_words.h"
#include "launch/network.h"
#include "os/host.h"

namespace situ::detail {
namespace {

// Longer than the answer to a short operation takes on a busy machine. A switch to another task, and the announcement
// of a sleep that others may end, cost 2.5 us of about 12 (docs/design/cluster.md).
constexpr std::int64_t first_wait_ns = 200'000;
constexpr std::int64_t between_looks_ns = 10'000'000;

}  // namespace

bool wait_as_task(bool (*is_done)(void*), void* asked, std::uint32_t target) {
  if (current->scheduler == nullptr || current->endpoint->in_handler()) return false;
  current->scheduler->wait_until([=] { return is_done(asked); },
                                 {.outlives_losses = true, .note = {.kind = wait_kind::other, .peer = target}});
  return true;
}

server_watch::server_watch(job_control& control) : control_{control}, stop_{::eventfd(0, EFD_CLOEXEC)} {
  const std::int32_t server = control.slot(control.place_count).pid.load();
  server_ = os::descriptor{static_cast<int>(::syscall(SYS_pidfd_open, server, 0))};
  if (!server_ && errno != ESRCH)  // the server has ended: run() reports it
    throw_error(errc::bad_launch,
                fmt::format("the server of this host cannot be watched: {}", ::strerrordesc_np(errno)));
  thread_ = os::worker{os::without_signals, [this] { run(); }};
}

server_watch::~server_watch() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.number(), &one, sizeof one);
  thread_.join();
}

void server_watch::run() {
  pollfd looked[] = {{.fd = server_.number(), .events = POLLIN, .revents = 0},
                     {.fd = stop_.number(), .events = POLLIN, .revents = 0}};
  // Without a descriptor the server has ended already. A poll that failed, for example for lack of memory, has seen
  // nothing.
  while (server_ && ::poll(looked, std::size(looked), -1) < 0) {
    looked[0].revents = looked[1].revents = 0;
    if (errno != EINTR) rest(between_looks_ns);
  }
  if (looked[1].revents != 0) return;
  // The other servers accept nothing from this host any more, and the places here need not wait for their
  // acknowledgement.
  for (std::uint16_t host = 0; host < control_.host_count; ++host)
    if (host != control_.host) forget_server(control_, host);
  mark_host_lost(control_, control_.host, "the server of its host has ended");
}

place_network::place_network(place_context& context)
    : context_{context}, wire_{cluster::open_network().make_wire()}, server_{*context.job} {
  job_control& control = *context.job;
  std::vector<cluster::wire_peer> servers(control.host_count, ~cluster::wire_peer{0});
  for (std::uint16_t host = 0; host < control.host_count; ++host) {
    if (host == control.host) continue;
    const host_address& address = address_of(control, host);
    servers[host] = wire_->connect(std::span{address.text}.first(address.bytes));
  }
  far_.emplace(context, control.homes(), control.host, *wire_, std::move(servers));
  far_->set_task_waiter(&wait_as_task, first_wait_ns);
  join_hosts(context, *far_);
  context.endpoint->send_by_hosts();
}

void place_network::deliver_all() {
  context_.scheduler->wait_until([this] { return far_->has_delivered(); },
                                 {.deadline_ns = waits_for::ended_by_server, .note = {.kind = wait_kind::leave}});
}

void place_network::note_all_leave() noexcept {
  job_control& control = *context_.job;
  for (std::uint16_t host = 0; host < control.host_count; ++host)
    round_of(control, host_barrier::leaving, host).set(control.leaving_rounds, std::memory_order_seq_cst);
}

place_network::~place_network() {
  context_.endpoint->send_by_channels();
  leave_hosts(context_);
  far_.reset();
}

}  // namespace situ::detail
