#include <situ/runtime/cancel.h>
#include <situ/runtime/completion.h>

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fmt/format.h>

namespace situ {

void access_batch::look_up(detail::access how, std::uintptr_t address, std::size_t bytes) {
  detail::check_access(how, address, bytes);
  const detail::place_context& context = *detail::current;
  const std::uintptr_t slice = (address - context.base) >> context.slice_shift;
  heap_ = context.base + (slice << context.slice_shift) + context.heap_offset;
  open_ = context.limit[slice];
}

void detail::stoppable_call::release() noexcept {
  try {
    deallocate(phase_);
  } catch (const error& e) {
    log(log_level::error,
        fmt::format("place {}: what a call to be stopped looks at cannot be given back: {}", current->place, e.what()));
  }
}

}  // namespace situ
