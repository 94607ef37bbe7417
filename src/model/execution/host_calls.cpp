#include "model/execution/host_calls.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <ctime>

namespace situ::model {
namespace {

constexpr std::uintptr_t first_address = 0x1000'0000'0000;  // below jobs and libraries, above the heap
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t guard_bytes = std::size_t{1} << 20;
std::uintptr_t next_address = first_address;

constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes - 1) & ~(page_bytes - 1); }

}  // namespace

long host_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}

std::uint64_t host_ns() noexcept {
  timespec now{};
  host_call(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&now));
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void say(const char* text) noexcept {
  long length = 0;
  while (text[length] != '\0') ++length;
  host_call(SYS_write, 2, reinterpret_cast<long>(text), length);
}

void give_up(const char* why) noexcept {
  say("situ model: ");
  say(why);
  say("\n");
  host_call(SYS_exit_group, 2);
  __builtin_trap();
}

std::uintptr_t fixed_address(std::size_t bytes) noexcept {
  const std::uintptr_t at = next_address;
  next_address += whole_pages(bytes) + guard_bytes;
  return at;
}

void* fixed_pages(std::size_t bytes, bool with_guard) noexcept {
  if (with_guard) next_address += guard_bytes;
  const std::uintptr_t at = fixed_address(bytes);
  const long got =
      host_call(SYS_mmap, static_cast<long>(at), static_cast<long>(whole_pages(bytes)), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != static_cast<long>(at)) give_up("the host has no room at a fixed address; see that ulimit -v is not set");
  return reinterpret_cast<void*>(at);
}

}  // namespace situ::model
