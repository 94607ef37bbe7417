#include "os/fault_chain.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

namespace situ::os {
namespace {

constinit std::mutex chains_mutex;

bool is_default(const struct sigaction& action) noexcept {
  return action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN;
}

// Does what would have happened without the chain.
void pass_on(const fault_event& event, const struct sigaction& before) {
  if (!is_default(before)) {
    if ((before.sa_flags & SA_SIGINFO) == 0) return before.sa_handler(event.signal);
    return before.sa_sigaction(event.signal, event.info, event.context);
  }
  if (before.sa_handler == SIG_IGN && event.is_sent()) return;
  ::signal(event.signal, SIG_DFL);
  if (event.is_sent() || event.signal == SIGTRAP) ::syscall(SYS_tgkill, ::getpid(), ::gettid(), event.signal);
}

}  // namespace

// The links that were added while no handler of the program was in front of the level's. Handlers read it without a
// lock: `before` is set before the level's handler is installed, and each change of the list is one store.
struct fault_chain::level {
  std::atomic<fault_link*> first{nullptr};
  struct sigaction before{};
};

// The levels of one signal.
struct fault_chain::actions {
  // A program needs one more whenever it puts its own handler in front and another module adds its first link then.
  // Beyond the last one, links join it, behind the program's handler.
  static constexpr std::array handlers{&on_signal<0>, &on_signal<1>, &on_signal<2>, &on_signal<3>};
  std::array<level, handlers.size()> levels;
  std::size_t installed = 0;

  // Returns the level whose handler this action calls; handlers.size(): it is not the chain's.
  static std::size_t level_of(const struct sigaction& action) noexcept {
    if ((action.sa_flags & SA_SIGINFO) == 0) return handlers.size();
    return static_cast<std::size_t>(std::ranges::find(handlers, action.sa_sigaction) - handlers.begin());
  }
};

fault_chain::actions& fault_chain::actions_of(std::size_t index) noexcept {
  static constinit std::array<actions, fault_link::all_signals.size()> all;
  return all[index];
}

// Returns the level that new links join. Installs it in front if the signal's action is not the chain's.
fault_chain::level& fault_chain::newest_level(std::size_t index) noexcept {
  actions& of = actions_of(index);
  const int signal = fault_link::all_signals[index];
  struct sigaction now{};
  ::sigaction(signal, nullptr, &now);
  if (const std::size_t there = actions::level_of(now); there != of.levels.size()) {
    of.installed = there + 1;  // the program may have put back the handler of an older level
    return of.levels[there];
  }
  if (of.installed == of.levels.size()) return of.levels.back();
  level& added = of.levels[of.installed];
  added.before = now;
  struct sigaction ours{};
  ours.sa_sigaction = actions::handlers[of.installed++];
  // The timer of src/rmem/region_faults.cpp sends SIGBUS, which must not end a thread's system calls (EINTR). A fault
  // interrupts none; other signals that are sent do what they would do without the chain.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (signal == SIGBUS ? SA_RESTART : now.sa_flags & SA_RESTART);
  ::sigemptyset(&ours.sa_mask);
  ::sigaction(signal, &ours, nullptr);
  return added;
}

// Restores the action from before the newest level if it has no link, and no handler of the program is in front.
void fault_chain::leave_level(std::size_t index) noexcept {
  actions& of = actions_of(index);
  if (of.installed == 0) return;
  const level& newest = of.levels[of.installed - 1];
  struct sigaction now{};
  ::sigaction(fault_link::all_signals[index], nullptr, &now);
  if (newest.first.load() != nullptr || actions::level_of(now) != of.installed - 1) return;
  ::sigaction(fault_link::all_signals[index], &newest.before, nullptr);
  --of.installed;
}

void fault_chain::add(fault_link& link) noexcept {
  const std::lock_guard held{chains_mutex};
  if (link.users_++ != 0) return;
  for (std::size_t i = 0; i < link.takes_.size(); ++i) {
    if (!link.takes_[i]) continue;
    std::atomic<fault_link*>* at = &newest_level(i).first;
    for (fault_link* each = at->load(); each != nullptr && each->rank_ < link.rank_; each = at->load())
      at = &each->next_[i];
    link.next_[i].store(at->load());
    at->store(&link);
  }
}

void fault_chain::remove(fault_link& link) noexcept {
  const std::lock_guard held{chains_mutex};
  if (--link.users_ != 0) return;
  for (std::size_t i = 0; i < link.takes_.size(); ++i) {
    if (!link.takes_[i]) continue;
    for (level& each : actions_of(i).levels)
      for (std::atomic<fault_link*>* at = &each.first; at->load() != nullptr; at = &at->load()->next_[i])
        if (at->load() == &link) {
          at->store(link.next_[i].load());
          break;
        }
    leave_level(i);
  }
}

void fault_chain::allow_in_forked_children() noexcept {
  [[maybe_unused]] static const int once =
      ::pthread_atfork([] { chains_mutex.lock(); }, [] { chains_mutex.unlock(); }, [] { chains_mutex.unlock(); });
}

void fault_chain::ask(std::size_t at_level, int signal, siginfo_t* info, void* context) {
  const int error_before = errno;
  const std::size_t index = fault_link::index_of(signal);
  const level& asked = actions_of(index).levels[at_level];
  const fault_event event{signal, info, static_cast<ucontext_t*>(context), is_default(asked.before)};
  for (const fault_link* each = asked.first.load(); each != nullptr; each = each->next_[index].load()) {
    const bool is_served = each->handle_(event);
    errno = error_before;
    if (is_served) return;
  }
  pass_on(event, asked.before);
}

}  // namespace situ::os
