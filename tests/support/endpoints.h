// Endpoints without a runtime: the places are contexts of this process, driven by hand from one thread or one thread
// each.
#pragma once

#include <situ/fabric/detail/endpoint.h>

#include "memory/job.h"
#include "memory/segment.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace situ::test {

class local_endpoints {
 public:
  explicit local_endpoints(std::uint32_t count)
      : job_{detail::job::create({.place_count = count})},
        space_{detail::address_space::map(job_, count)},
        limits_(count),
        contexts_(count) {
    detail::job_control& control = job_.control();
    for (std::uint32_t i = 0; i < count; ++i) {
      detail::place_context& context = contexts_[i];
      context.base = space_.base();
      context.slice_shift = control.slice_shift;
      context.slice_mask = (std::uint64_t{1} << control.slice_shift) - 1;
      context.heap_offset = detail::segment::heap_offset(control, private_bytes(count));
      context.limit = limits_[i].data();
      context.place_count = context.callable_places = count;
      context.place = i;
      context.job = &control;
      limits_[i].resize(count);
      context.limit = limits_[i].data();
      segments_.push_back(std::make_unique<detail::segment>(
          control, space_.base() + (std::uint64_t{i} << control.slice_shift), i, private_bytes(count)));
      context.segment = segments_[i].get();
      endpoints_.push_back(std::make_unique<detail::endpoint>(context, 0));
      context.endpoint = endpoints_[i].get();
      control.slot(i).state.store(detail::place_state::joined);
    }
  }
  local_endpoints(const local_endpoints&) = delete;
  local_endpoints& operator=(const local_endpoints&) = delete;

  [[nodiscard]] detail::place_context& context(std::uint32_t place) { return contexts_[place]; }
  [[nodiscard]] detail::endpoint& operator[](std::uint32_t place) { return *endpoints_[place]; }
  [[nodiscard]] detail::job_control& control() { return job_.control(); }

 private:
  [[nodiscard]] static std::uint64_t private_bytes(std::uint32_t count) noexcept {
    return detail::endpoint::channel_bytes(count);
  }

  detail::job job_;
  detail::address_space space_;
  std::vector<std::vector<std::uint64_t>> limits_;
  std::vector<detail::place_context> contexts_;
  std::vector<std::unique_ptr<detail::segment>> segments_;
  std::vector<std::unique_ptr<detail::endpoint>> endpoints_;
};

// The calling thread is this place while the object lives.
class acting_as {
 public:
  explicit acting_as(detail::place_context& context) : before_{detail::current} { detail::current = &context; }
  ~acting_as() { detail::current = before_; }
  acting_as(const acting_as&) = delete;
  acting_as& operator=(const acting_as&) = delete;

 private:
  detail::place_context* before_;
};

}  // namespace situ::test
