#include "os/short_turns.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/host.h"

namespace situ::detail {
namespace {

// Linux's sched_attr, whose own header conflicts with <sched.h>.
struct attributes {
  std::uint32_t bytes = sizeof(attributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
static_assert(sizeof(attributes) == 48);

}  // namespace

short_turns short_turns::take() noexcept {
  attributes wanted;
  if (::syscall(SYS_sched_getattr, 0, &wanted, sizeof wanted, 0) == 0 && wanted.policy == SCHED_OTHER) {
    wanted.runtime_ns = turn_ns;
    (void)!::syscall(SYS_sched_setattr, 0, &wanted, 0);  // a sandbox may refuse it
  }
  short_turns taken;
  taken.turn_began_ns_ = steady_ns();
  return taken;
}

void short_turns::yield() noexcept {
  ::sched_yield();
  turn_began_ns_ = steady_ns();
}

}  // namespace situ::detail
