// What a place has of a job over several hosts: its own way into the network, and its end of what it asks of others.
//
// Belongs to the place's thread; registered threads may ask as well (far_place.h).
#pragma once

#include <situ/memory/detail/place_context.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "cluster/far_place.h"
#include "cluster/wire.h"

namespace situ::detail {

// For far_place::set_task_waiter: as a task of the running place waits.
[[nodiscard]] bool wait_as_task(bool (*is_done)(void*), void* asked, std::uint32_t target);

class place_network {
 public:
  // Connects to the servers of all other hosts; the places there are far from now on. pre: the job has several hosts,
  // and the context is complete but for that. Throws bad_launch.
  explicit place_network(place_context& context);
  ~place_network();
  place_network(const place_network&) = delete;
  place_network& operator=(const place_network&) = delete;

 private:
  place_context& context_;
  std::unique_ptr<cluster::network_wire> wire_;
  std::optional<cluster::far_place> far_;
};

}  // namespace situ::detail
