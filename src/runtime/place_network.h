// What a place has of a job over several hosts: its own way into the network, and its end of what it asks of others.
//
// Belongs to the place's thread; registered threads may ask as well (far_place.h).
#pragma once

#include <situ/memory/detail/place_context.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/host.h"
#include "cluster/far_place.h"
#include "cluster/wire.h"

namespace situ::detail {

// For far_place::set_task_waiter: as a task of the running place waits.
[[nodiscard]] bool wait_as_task(bool (*is_done)(void*), void* asked, std::uint32_t target);

// A thread that watches the process of this host's server: where it ends, nothing works any more for the places here,
// which are lost.
class server_watch {
 public:
  explicit server_watch(job_control& control);
  ~server_watch();
  server_watch(const server_watch&) = delete;
  server_watch& operator=(const server_watch&) = delete;

 private:
  void run(int process);
  job_control& control_;
  const int stop_;  // an eventfd
  worker thread_;
};

class place_network {
 public:
  // Connects to the servers of all other hosts; the places there are far from now on. pre: the job has several hosts,
  // and the context is complete but for that. Throws bad_launch.
  explicit place_network(place_context& context);
  ~place_network();
  // Waits until each message from here lies in a channel of its target, or its target has ended. Throws
  // place_lost_error.
  void deliver_all();
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
