#include "runtime/place_network.h"

#include <situ/fabric/detail/endpoint.h>
#include <situ/runtime/detail/scheduler.h>

#include <span>
#include <vector>

#include "cluster/network.h"
#include "memory/job.h"

namespace situ::detail {

bool wait_as_task(bool (*is_done)(void*), void* asked, std::uint32_t target) {
  if (current->scheduler == nullptr || current->endpoint->in_handler()) return false;
  current->scheduler->wait_until([=] { return is_done(asked); },
                                 {.outlives_losses = true, .note = {.kind = wait_kind::other, .peer = target}});
  return true;
}

// No task waiter: a place asleep on its futex would not hear of an answer.
place_network::place_network(place_context& context) : context_{context}, wire_{cluster::open_network().make_wire()} {
  job_control& control = *context.job;
  std::vector<cluster::wire_peer> servers(control.host_count, ~cluster::wire_peer{0});
  for (std::uint16_t host = 0; host < control.host_count; ++host) {
    if (host == control.host) continue;
    const host_address& address = control.address_of(host);
    servers[host] = wire_->connect(std::span{address.text}.first(address.bytes));
  }
  far_.emplace(context, control.homes(), control.host, *wire_, std::move(servers));
  join_hosts(context, *far_);
}

place_network::~place_network() {
  leave_hosts(context_);
  far_.reset();
}

}  // namespace situ::detail
