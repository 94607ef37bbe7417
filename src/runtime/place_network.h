// A place's part of a job over several hosts: its own connection to the network, and its end of requests to other
// hosts.
//
// Belongs to the place's thread; registered threads may send requests as well (far_place.h).
#pragma once

#include <situ/memory/detail/place_context.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "cluster/far_place.h"
#include "cluster/wire.h"
#include "os/descriptor.h"
#include "os/worker.h"

namespace situ::detail {

// For far_place::set_task_waiter: waits as a task of the running place. Returns false if the caller cannot wait so.
[[nodiscard]] bool wait_as_task(bool (*is_done)(void*), void* asked, std::uint32_t target);

// A thread that watches the process of this host's server. If the process ends, the places here can reach no other
// host, and the thread marks them lost.
class server_watch {
 public:
  explicit server_watch(job_control& control);
  ~server_watch();
  server_watch(const server_watch&) = delete;
  server_watch& operator=(const server_watch&) = delete;

 private:
  void run();
  job_control& control_;
  os::descriptor stop_;    // an eventfd
  os::descriptor server_;  // of its process; empty: it has ended
  os::worker thread_;
};

class place_network {
 public:
  // Connects to the servers of all other hosts; from now on the places there are far. pre: the job has several hosts,
  // and the context is complete but for that. Throws bad_launch.
  explicit place_network(place_context& context);
  ~place_network();
  // Waits until each message from here is in a channel of its target, or its target has ended. Throws place_lost_error.
  void deliver_all();
  // Tells this host's server that all hosts that go on have reached the end of the job: after a loss places find that
  // out by messages, of which servers know nothing.
  void note_all_leave() noexcept;
  [[nodiscard]] cluster::far_place& far() noexcept { return *far_; }
  place_network(const place_network&) = delete;
  place_network& operator=(const place_network&) = delete;

 private:
  place_context& context_;
  std::unique_ptr<cluster::network_wire> wire_;
  std::optional<cluster::far_place> far_;
  server_watch server_;
};

}  // namespace situ::detail
