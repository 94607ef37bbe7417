// A job whose places are contexts of this process: what the runtime sets up for places as threads, without the runtime.
#pragma once

#include <situ/memory/allocate.h>

#include "memory/job.h"
#include "memory/segment.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace situ::test {

class local_places {
 public:
  static constexpr std::size_t private_bytes = 300'000;  // no round number: the layout must not rely on one

  explicit local_places(std::uint32_t count, std::uint64_t memory_budget = 0)
      : job_{detail::job::create({.place_count = count, .memory_budget = memory_budget})},
        space_{detail::address_space::map(job_, count)},
        limits_(count),
        contexts_(count) {
    detail::job_control& control = job_.control();
    for (std::uint32_t i = 0; i < count; ++i) {
      contexts_[i] = context_at(space_.base(), i);
      contexts_[i].limit = limits_.data();
      segments_.push_back(std::make_unique<detail::segment>(control, slice(i), i, private_bytes));
      contexts_[i].segment = segments_[i].get();
    }
  }
  local_places(const local_places&) = delete;
  local_places& operator=(const local_places&) = delete;

  // How a process that has mapped the job at `base` sees it.
  [[nodiscard]] detail::place_context context_at(std::uintptr_t base, std::uint32_t place) const {
    detail::job_control& control = job_.control();
    detail::place_context context;
    context.base = base;
    context.slice_mask = (std::uint64_t{1} << control.slice_shift) - 1;
    context.heap_offset = detail::segment::heap_offset(control, private_bytes);
    context.slice_shift = control.slice_shift;
    context.place_count = control.place_count;
    context.place = place;
    context.job = &control;
    return context;
  }

  [[nodiscard]] detail::place_context& context(std::uint32_t place) { return contexts_[place]; }
  [[nodiscard]] detail::segment& segment(std::uint32_t place) { return *segments_[place]; }
  [[nodiscard]] detail::job& job() { return job_; }
  [[nodiscard]] std::uint64_t& limit(std::uint32_t place) { return limits_[place]; }
  [[nodiscard]] std::uintptr_t slice(std::uint32_t place) const {
    return space_.base() + (std::uint64_t{place} << job_.control().slice_shift);
  }
  [[nodiscard]] std::uintptr_t heap(std::uint32_t place) const { return slice(place) + contexts_[place].heap_offset; }

 private:
  detail::job job_;
  detail::address_space space_;
  std::vector<std::uint64_t> limits_;
  std::vector<detail::place_context> contexts_;
  std::vector<std::unique_ptr<detail::segment>> segments_;
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
