// Calls that only a place's own thread may make, for any thread of a heap.
#pragma once

#include <situ/runtime/place_threads.h>

#include <utility>

#include "heap/heap_core.h"

namespace situ::detail {

template <class F>
auto heap_core::by_own_thread(thread_state& of, F&& f) {
  if (of.its().threads != nullptr) return of.its().threads->run(std::forward<F>(f));
  return f();
}

}  // namespace situ::detail
