#include <situ/runtime/cancel.h>
#include <situ/runtime/completion.h>

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fmt/format.h>

namespace situ {

bool access_batch::put_beyond(std::uintptr_t to, const void* from, std::size_t bytes) {
  detail::place_context& context = *detail::current;
  if (!is_open(context, to, bytes) && detail::put_slow(context, to, from, bytes)) return true;
  remember(to);
  return false;
}

bool access_batch::get_beyond(void* to, std::uintptr_t from, std::size_t bytes) {
  detail::place_context& context = *detail::current;
  if (!is_open(context, from, bytes) && detail::get_slow(context, to, from, bytes)) return true;
  remember(from);
  return false;
}

void access_batch::remember(std::uintptr_t address) noexcept {
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
