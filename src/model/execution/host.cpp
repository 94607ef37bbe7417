// os/host.h on a modelled machine: compiled in place of os/host.cpp, with the hooks, like all of the library.
#include "os/host.h"

#include <sched.h>

#include <cerrno>
#include <ctime>

#include "model/execution/calls.h"

namespace situ::detail {

// A machine whose memories have no sizes counts as one of 8 GiB.
std::uint64_t usable_memory_bytes() {
  const std::uint64_t modelled = situ_model_memory_bytes();
  return modelled != 0 ? modelled : std::uint64_t{8} << 30;
}
std::uint64_t read_oom_kills(const std::string&) { return 0; }
std::uint64_t out_of_memory_kills() { return 0; }

std::uint64_t steady_ns() noexcept { return situ_model_now_ns(); }
std::uint64_t processor_cycles() noexcept { return situ_model_now_cycles(); }

std::uint32_t allowed_processors() noexcept { return situ_model_core_count(); }
std::uint32_t running_processor() noexcept { return static_cast<std::uint32_t>(::sched_getcpu()); }
bool bind_to_processor(std::uint32_t processor) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (processor >= situ_model_core_count()) return false;
  CPU_SET(processor, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}
void settle_as_place(std::uint32_t place) noexcept { situ_model_settle(place); }
void describe_slice(std::uint32_t place, const std::byte* begin, const std::byte* heap, const std::byte* end) noexcept {
  situ_model_map_slice(place, begin, heap, end);
}

void wait_on_word(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept {
  situ_model_wait(&word, expected, timeout_ns);
}
void wake_on_word(std::atomic<std::uint32_t>& word, int count) noexcept { situ_model_wake(&word, count); }

void give_way() noexcept { ::sched_yield(); }
void rest(std::int64_t ns) noexcept {
  timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
  while (::nanosleep(&time, &time) != 0 && errno == EINTR) {}
}

// One host thread runs all threads, so memory operations are always in order.
bool can_order_all_threads() noexcept { return true; }
void order_all_threads() noexcept {}
bool join_order_of_processes() noexcept { return true; }
void order_processes() noexcept {}

}  // namespace situ::detail
