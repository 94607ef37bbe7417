// Bytes of a region that come meanwhile, as a future of the runtime: who waits for it lets the place's other tasks go
// on, and others call the place as ever.
//
//   situ::future<void> coming = situ::rmem::fetch_async(region, offset, bytes);
//   work();
//   coming.get();  // a touch of these bytes waits for nothing now
//
// Apart from region.h, which needs no runtime: link both situ::rmem and situ::runtime. Belongs to the place's thread;
// the region may be used by others meanwhile.
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

// Fetches these bytes meanwhile; what they push out is as if they were touched. The future has what the client's reads
// throw, and link_lost where the region ends first. It is a task of the running finish scope, which waits for it.
// Throws bad_argument for bytes beyond the region, no_runtime outside a runtime. cost: nobody waits here; a task that
// waits, and a wake-up of the place where it sleeps.
[[nodiscard]] inline future<void> fetch_async(region& of, std::uint64_t offset, std::uint64_t bytes) {
  if (situ::detail::current->scheduler == nullptr) situ::detail::throw_no_runtime("fetch_async()");
  auto end = std::make_shared<situ::detail::outside_end>();
  of.fetch(offset, bytes, [end](std::exception_ptr failure) { end->end(std::move(failure)); });
  return async([end] { end->wait(); });
}

}  // namespace situ::rmem
