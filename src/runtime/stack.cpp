#include "runtime/stack.h"

#include <situ/base/error.h>
#include <situ/base/units.h>
#include <situ/runtime/task.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "os/host.h"
#include "os/mapping.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace situ::detail {

namespace {

std::uint64_t parse_environment(const char* text) {
  try {
    return parse_bytes(text);
  } catch (const error& unreadable) {
    throw_error(errc::bad_argument, fmt::format("SITU_STACK in the environment: {}", unreadable.message()));
  }
}

}  // namespace

std::size_t choose_stack_bytes(std::uint64_t of_job, std::uint64_t of_program) {
  if (of_job != 0) return checked_stack_bytes(of_job, "situ run --stack, or launch_options::stack_bytes");
  if (const char* const text = std::getenv("SITU_STACK"); text != nullptr && *text != '\0')
    return checked_stack_bytes(parse_environment(text), "SITU_STACK");
  if (of_program != 0) return checked_stack_bytes(of_program, "runtime_options::stack_bytes");
  return default_stack_bytes;
}

boost::context::stack_context stack_mapper::allocate() const {
  os::mapping range = os::mapping::anywhere(guard_bytes + bytes, PROT_NONE, os::backing::stack());
  if (!range || !os::open_reserved(range.begin() + guard_bytes, bytes)) throw std::bad_alloc{};
  std::byte* const low = range.release() + guard_bytes;
  if (bytes >= huge_page_bytes) ::madvise(low, bytes, MADV_NOHUGEPAGE);  // else its first touch would commit 2 MiB
  boost::context::stack_context made;
  made.size = bytes;
  made.sp = low + bytes;
  return made;
}

void stack_mapper::deallocate(boost::context::stack_context& stack) const noexcept {
  char* const low = static_cast<char*>(stack.sp) - stack.size;
#if defined(__SANITIZE_ADDRESS__)
  // Clear AddressSanitizer's marks of the frames that ended with the stack: the next mapping there would inherit them.
  __asan_unpoison_memory_region(low, stack.size);
#endif
  os::unmap(low - guard_bytes, guard_bytes + stack.size);
}

std::uint32_t stack_pages_of(const stack_request& request) {
  return static_cast<std::uint32_t>(
      checked_stack_bytes(std::max<std::uint64_t>(request.bytes, least_stack_bytes), "with_stack") /
      ready_task::stack_page_bytes);
}

void throw_no_stack() {
  throw_error(errc::out_of_memory,
              "the system has no room for the stack that this task asks for (with_stack); ask for less, or raise "
              "vm.max_map_count");
}

void give_back_pages(const void* low, const void* end) noexcept {
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(low);
  const std::uintptr_t last = reinterpret_cast<std::uintptr_t>(end) & ~std::uintptr_t{page_bytes - 1};
  if (last > first) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace situ::detail
