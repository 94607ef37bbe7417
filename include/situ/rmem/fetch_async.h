// Fetches bytes of a region in the background, as a future of the runtime: while a task waits for it, the place's other
// tasks run and other places can call the place.
//
//   situ::future<void> coming = situ::rmem::fetch_async(region, offset, bytes);
//   work();
//   coming.get();  // a touch of these bytes waits for nothing now
//
// A header apart from region.h, which needs no runtime: link both situ::rmem and situ::runtime. Call it on the place's
// own thread; other threads may use the region concurrently.
#pragma once

#include <situ/memory/detail/place_context.h>
#include <situ/rmem/region.h>
#include <situ/runtime/detail/outside_end.h>
#include <situ/runtime/future.h>
#include <situ/runtime/task.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace situ::rmem {

// Fetches these bytes in the background. Pages may be evicted to make room, as if the bytes had been touched. The
// future fails with the errors of the client's reads, or with link_lost if the region ends first. The fetch is a task
// of the running finish scope, which waits for it. Throws bad_argument for bytes beyond the region, no_runtime outside
// a runtime. cost: the caller does not wait; a task that waits, and a wake-up of the place if it sleeps.
[[nodiscard]] inline future<void> fetch_async(region& of, std::uint64_t offset, std::uint64_t bytes) {
  if (situ::detail::current->scheduler == nullptr) situ::detail::throw_no_runtime("fetch_async()");
  auto end = std::make_shared<situ::detail::outside_end>();
  of.fetch(offset, bytes, [end](std::exception_ptr failure) { end->end(std::move(failure)); });
  return async([end] { end->wait(); });
}

}  // namespace situ::rmem
