#include "runtime/fiber_pool.h"

#include <situ/base/error_code.h>
#include <situ/memory/detail/place_context.h>

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <new>

#include "os/mapping_error.h"

namespace situ::detail {

fiber_pool::fiber_pool(std::size_t stack_bytes, body work) : stack_bytes_{stack_bytes}, work_{std::move(work)} {
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;
  void* lowest = nullptr;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &lowest, &main_.stack_bytes);
  pthread_attr_destroy(&attributes);
  main_.stack_bottom = lowest;
#endif
#if defined(__SANITIZE_THREAD__)
  main_.race_context = __tsan_get_current_fiber();
#endif
}

stack_bounds fiber_pool::running_stack() const noexcept {
  if (is_main_running()) return {};
  const auto low = reinterpret_cast<std::uintptr_t>(running_->stack_bottom);
  return {low, low + running_->stack_bytes};
}

fiber& fiber_pool::take(std::size_t bytes) {
  is_touched_ = true;
  const auto found =
      std::find_if(idle_.rbegin(), idle_.rend(), [bytes](const fiber* each) { return each->stack_bytes >= bytes; });
  if (found == idle_.rend()) return make(bytes);
  fiber& worker = **found;
  idle_.erase(std::next(found).base());
  return worker;
}

fiber& fiber_pool::make(std::size_t bytes) {
  namespace ctx = boost::context;
  delete_ended();
  auto owned = std::make_unique<fiber>();
  fiber& worker = *owned;
  try {
    const stack_mapper allocator{bytes};
    const ctx::stack_context stack = allocator.allocate();
    worker.stack_bottom = static_cast<char*>(stack.sp) - stack.size;
    worker.stack_bytes = stack.size;
    worker.context = ctx::fiber{std::allocator_arg, ctx::preallocated{stack.sp, stack.size, stack}, allocator,
                                [this](ctx::fiber&& from) {
                                  arrive(std::move(from));
                                  return leave(work_());
                                }};
  } catch (const std::bad_alloc&) {
    const int refused = errno;
    throw_error(errc::out_of_memory,
                fmt::format("place {}: no memory for the stack of another task: {} tasks of this place are waiting, "
                            "each on a stack of its own, this one of {} KiB; start fewer at a time, or raise "
                            "vm.max_map_count ({})",
                            current->place, workers_.size(), bytes / 1024, why_not_mapped(refused)));
  }
#if defined(__SANITIZE_THREAD__)
  worker.race_context = __tsan_create_fiber(0);
#endif
  workers_.push_back(std::move(owned));
  return worker;
}

// Switches from a worker for the last time. ThreadSanitizer counts calls and returns of each fiber. It would count this
// function's return for the fiber that continues, whose record of calls would run empty after many workers had ended.
[[gnu::no_sanitize("thread")]] boost::context::fiber fiber_pool::leave(fiber* successor) {
  fiber& target = successor != nullptr ? *successor : *came_from_;
  running_->is_ended = true;
  has_ended_ = true;
  running_ = &target;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, target.stack_bottom, target.stack_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(target.race_context, 0);
#endif
  return std::move(target.context);
}

void fiber_pool::delete_ended() {
  if (!has_ended_) return;
  has_ended_ = false;
  std::erase_if(workers_, [this](const std::unique_ptr<fiber>& worker) {
    if (!worker->is_ended) return false;
    if (worker.get() == running_) {
      has_ended_ = true;
      return false;
    }
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(worker->race_context);
#endif
    return true;
  });
}

void fiber_pool::give_back(const fiber& worker) noexcept {
  const char* const low = static_cast<const char*>(worker.stack_bottom);
  give_back_pages(low, low + worker.stack_bytes - kept_bytes);
}

void fiber_pool::give_back_idle_stacks() noexcept {
  for (const fiber* each : idle_) give_back(*each);
  is_touched_ = false;
}

}  // namespace situ::detail
