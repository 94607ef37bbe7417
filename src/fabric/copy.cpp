#include <situ/fabric/detail/copy.h>

#include <cpuid.h>

#include <cstdint>

namespace situ::detail {
namespace {

// Sanitizers and modelled machines see the accesses of memcpy, but not the accesses of a single instruction.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SITU_MODEL)
constexpr bool may_copy_by_instruction = false;
#else
constexpr bool may_copy_by_instruction = true;
#endif

// Returns true if `rep movsb` is quick at any alignment: ERMS and FSRM (Intel's Software Developer's Manual, CPUID
// leaf 7).
bool moves_bytes_quickly() noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned erms = 1U << 9;
  constexpr unsigned fsrm = 1U << 4;
  return (ebx & erms) != 0 && (edx & fsrm) != 0;
}
const bool by_instruction = may_copy_by_instruction && moves_bytes_quickly();

constexpr std::size_t line_bytes = 64;

}  // namespace

// `rep movsb` writes whole lines of the destination, so that none is read first; memcpy writes both ends.
void copy_long(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (!by_instruction) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, line_bytes);
  std::memcpy(to + bytes - line_bytes, from + bytes - line_bytes, line_bytes);
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % line_bytes;
  to += head;
  from += head;
  std::size_t lines = (bytes - head) & ~(line_bytes - 1);
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(lines) : : "memory");
}

}  // namespace situ::detail
