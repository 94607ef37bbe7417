#include "pool/forked_child.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/fault_text.h"
#include "os/fault_chain.h"
#include "pool/sharing.h"

namespace situ::detail {
namespace {

struct guarded_pool {
  const forked_child_guard* guard;
  pool_sharing* sharing;
  std::uintptr_t begin;
  std::size_t bytes;
  const char* path;
  pid_t process;  // the process that has the pool open
};

// Never destroyed: pools may be closed after the destructors of static objects.
struct guarded_pools {
  std::mutex lock;
  std::vector<guarded_pool> all;
};
guarded_pools& guarded() {
  alignas(guarded_pools) static std::byte room[sizeof(guarded_pools)];
  static auto* const made = new (room) guarded_pools;
  return *made;
}

// --- in the child ---

void say_whose_pool(std::uintptr_t touched) noexcept {
  for (const guarded_pool& each : guarded().all) {
    if (touched - each.begin >= each.bytes || each.process == ::getpid()) continue;
    fault_text text;
    text << "situ: pool " << each.path << ": process " << static_cast<std::uint64_t>(::getpid())
         << " touched its address ";
    text.hex(touched) << ", but is a child of process " << static_cast<std::uint64_t>(each.process)
                      << ", which has the pool open: a child has no pages of it. Open the pool anew in the child\n";
    if (::write(STDERR_FILENO, text.text().data(), text.text().size()) < 0) return;
  }
}

bool explain_touch(const os::fault_event& fault) noexcept {
  if (fault.info->si_code == SEGV_MAPERR) say_whose_pool(fault.address());
  return false;
}
// Asked before write_check, which serves, too, but cannot in a pool whose pages the child does not have.
constinit os::fault_link child_link{os::fault_rank::serves, {SIGSEGV}, &explain_touch};

// Only the thread that has forked runs in the child, and it holds the lock.
void leave_pools_in_child() noexcept {
  guarded_pools& pools = guarded();
  if (!pools.all.empty()) {
    leave_sections_in_child();
    for (const guarded_pool& each : pools.all)
      if (each.process != ::getpid()) each.sharing->leave_in_child();
    // In a child of a child the link is there already, but the program may have put a handler in front of it.
    static bool is_added = false;
    if (std::exchange(is_added, true)) os::fault_chain::remove(child_link);
    os::fault_chain::add(child_link);
  }
  pools.lock.unlock();
}

}  // namespace

forked_child_guard::forked_child_guard(pool_sharing& of, const std::byte* begin, std::size_t bytes,
                                       const std::string& path) {
  guarded_pools& pools = guarded();
  os::fault_chain::allow_in_forked_children();
  [[maybe_unused]] static const int once =
      ::pthread_atfork([] { guarded().lock.lock(); }, [] { guarded().lock.unlock(); }, [] { leave_pools_in_child(); });
  const std::lock_guard guard{pools.lock};
  pools.all.push_back({this, &of, reinterpret_cast<std::uintptr_t>(begin), bytes, path.c_str(), ::getpid()});
}

forked_child_guard::~forked_child_guard() {
  guarded_pools& pools = guarded();
  const std::lock_guard guard{pools.lock};
  std::erase_if(pools.all, [&](const guarded_pool& each) { return each.guard == this; });
}

}  // namespace situ::detail
