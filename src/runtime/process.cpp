#include "runtime/process.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>

#include "memory/job.h"
#include "os/host.h"
#include "os/mapping.h"
#include "runtime/terminate.h"

extern "C" void* __libc_stack_end;  // of glibc's loader: the beginning of the first thread's stack

namespace situ::detail {
namespace {

// Signal handlers read the list without a lock, so a node's link is set before the node is published.
std::mutex list_mutex;
std::atomic<place_in_process*> newest{nullptr};

// Memory of places at other hosts stays unreadable.
void make_read_only(const place_in_process& of) noexcept {
  job_control& control = *of.context->job;
  if (control.places_here == control.place_count) {
    os::protect(reinterpret_cast<void*>(of.slices), of.slices_bytes, PROT_READ);
    return;
  }
  const std::size_t slice = std::size_t{1} << control.slice_shift;
  for (std::uint32_t place = 0; place < control.place_count; ++place)
    if (control.is_here(place)) os::protect(reinterpret_cast<void*>(of.slices + place * slice), slice, PROT_READ);
}

// Runs in the child, before fork returns there.
void leave_job_in_child() {
  place_in_process* const first = newest.load();
  if (first == nullptr) return;
  for (const place_in_process* each = first; each != nullptr; each = each->next) {
    make_read_only(*each);
    os::protect(reinterpret_cast<void*>(each->control), each->control_bytes, PROT_READ);
    remove_terminate_reason(*each->context);
  }
  if (current->job != nullptr) leave_runtime_in_child();
}

bool is_on_first_stack(std::uintptr_t address) noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  const auto end = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
  const std::uintptr_t most = std::min<std::uintptr_t>(limit.rlim_cur, std::uintptr_t{1} << 40);
  return address < end && end - address < most;
}

}  // namespace

place_in_process::place_in_process(place_context& of, std::size_t bytes_of_slices, std::size_t bytes_of_control)
    : context{&of},
      slices{of.base},
      slices_bytes{bytes_of_slices},
      control{reinterpret_cast<std::uintptr_t>(of.job)},
      control_bytes{bytes_of_control},
      process_{::getpid()} {
  const std::uintptr_t here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (!is_on_first_stack(here)) {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    std::size_t bytes = 0;
    if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
      ::pthread_attr_getstack(&attributes, &lowest, &bytes);
      ::pthread_attr_destroy(&attributes);
      stack_low = reinterpret_cast<std::uintptr_t>(lowest);
      stack_top = stack_low + bytes;
    }
  }
  const std::lock_guard lock{list_mutex};
  [[maybe_unused]] static const int once = ::pthread_atfork(nullptr, nullptr, &leave_job_in_child);
  if (newest.load() == nullptr) install_fault_handlers();
  next = newest.load();
  newest.store(this);
}

place_in_process::~place_in_process() {
  const std::lock_guard lock{list_mutex};
  place_in_process* before = newest.load();
  if (before == this) {
    newest.store(next);
  } else {
    while (before->next != this) before = before->next;
    before->next = next;
  }
  if (newest.load() == nullptr) remove_fault_handlers();
}

bool place_in_process::is_in_forked_child() const noexcept { return ::getpid() != process_; }

place_in_process* places_of_process() noexcept { return newest.load(); }

void let_only_first_end_process() noexcept {
  static constinit std::atomic<pid_t> first{0};
  const pid_t self = ::gettid();
  pid_t nobody = 0;
  if (first.compare_exchange_strong(nobody, self) || nobody == self) return;
  for (;;) ::pause();
}

}  // namespace situ::detail
