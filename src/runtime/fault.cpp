// Explains faults (SIGSEGV, SIGBUS). All of this code runs in a signal handler: no allocation, no lock, no formatting
// library.
#include "runtime/process.h"

#include <situ/runtime/detail/scheduler.h>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

#include "base/fault_text.h"
#include "memory/job.h"
#include "os/fault_chain.h"
#include "runtime/stack.h"

#include <situ/fabric/detail/function_id.h>
#include <situ/memory/detail/losses.h>

namespace situ::detail {
namespace {

constexpr std::uintptr_t near_the_stack = std::uintptr_t{1} << 20;
constexpr std::size_t longest_name = 180;  // longest name of a task: a place's reason holds less than 500 characters

bool is_within(std::uintptr_t address, std::uintptr_t begin, std::size_t bytes) noexcept {
  return address - begin < bytes;
}

// Writes the name within "... [with F = NAME]". Leaves out the middle of a long name: the beginning says which function
// it belongs to, the end says which lambda it is.
void write_name(fault_text& to, std::string_view compilers_text) noexcept {
  if (const std::size_t at = compilers_text.find(" = "); at != std::string_view::npos) {
    compilers_text.remove_prefix(at + 3);
    compilers_text = compilers_text.substr(0, compilers_text.rfind(']'));
  }
  if (compilers_text.size() <= longest_name)
    to << compilers_text;
  else
    to << compilers_text.substr(0, longest_name / 3) << "..."
       << compilers_text.substr(compilers_text.size() - longest_name / 3 * 2);
}

void write_task(fault_text& to, const task_context* task) noexcept {
  if (task == nullptr || task->code_name == nullptr) {
    to << "a message's handler";
    return;
  }
  write_name(to, task->code_name);
  if (task->code == nullptr) return;
  const auto offset = reinterpret_cast<std::uintptr_t>(task->code) - own_code.base;
  if (offset - own_code.begin < own_code.bytes)
    (to << " at ").hex(offset) << " of the program (addr2line -f)";
  else
    (to << " at ").hex(reinterpret_cast<std::uintptr_t>(task->code));
}

// --- causes ----------------------------------------------------------------------------------------------------------

// Returns whether the fault was an access below a stack that ends at `low`: in its guard, or below the guard by one
// large frame.
bool is_overflow_of(const os::fault_event& f, std::uintptr_t low, std::size_t guard) noexcept {
  return is_within(f.address(), low - guard, guard) ||
         (f.stack_pointer() < low && low - f.stack_pointer() < most_stack_bytes && f.address() < low &&
          f.address() + near_the_stack >= f.stack_pointer());
}

bool describe_task_overflow(const os::fault_event& f, fault_text& to) noexcept {
  if (current->scheduler == nullptr) return false;  // this is a registered thread
  const stack_bounds stack = current->scheduler->running_stack();
  if (!stack.is_known() || !is_overflow_of(f, stack.low, guard_bytes)) return false;
  const task_context* const task = current->scheduler->task();
  (to << "a task has used up its stack of ").bytes(stack.top - stack.low) << ": ";
  write_task(to, task);
  if (task != nullptr) to << ", from place " << task->source;
  (to << ". Give it more: situ run --stack ").bytes(4 * (stack.top - stack.low))
      << ", SITU_STACK, or situ::with_stack for this task";
  return true;
}

// Describes an overflow of main's own stack. The kernel extends the first thread's stack down to its limit, so the
// fault is close to the stack pointer.
bool describe_main_overflow(const os::fault_event& f, const place_in_process& place, fault_text& to) noexcept {
  if (current->scheduler == nullptr || current->scheduler->running_stack().is_known()) return false;
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  const bool is_near =
      f.address() + near_the_stack >= f.stack_pointer() && f.address() < f.stack_pointer() + near_the_stack;
  if (place.stack_top != 0) {
    if (!is_near || !is_within(f.stack_pointer(), place.stack_low - near_the_stack, 2 * near_the_stack)) return false;
    (to << "main has used up the stack of its thread, ").bytes(place.stack_top - place.stack_low);
  } else {
    if (!is_near || f.info->si_code != SEGV_MAPERR) return false;
    to << "main has used up the process's stack";
    if (limit.rlim_cur != RLIM_INFINITY) (to << " of ").bytes(limit.rlim_cur);
  }
  if (limit.rlim_cur != RLIM_INFINITY)
    to << ". Raise its limit (ulimit -s)";
  else if (place.stack_top != 0)
    to << ", which threads have where no limit is set. Set one that is larger (ulimit -s "
       << 4 * (place.stack_top - place.stack_low) / 1024 << ")";
  else
    to << ", though it has no limit (ulimit -s)";
  to << ", or do this in a task: situ::async(situ::with_stack(bytes), ...)";
  return true;
}

void describe_refused_memory(const os::fault_event& f, const place_in_process& place, fault_text& to) noexcept {
  const bool has_failed = f.info->si_code == BUS_MCEERR_AR || f.info->si_code == BUS_MCEERR_AO;
  to << (has_failed ? "the machine's memory failed at " : "the kernel has no memory for the page at ");
  to.hex(f.address());
  if (is_within(f.address(), place.slices, place.slices_bytes))
    to << " in the segment of place " << ((f.address() - place.slices) >> place.context->slice_shift);
  else
    to << " of the job's control block";
  if (has_failed) return;
  (to << "; all segments hold ").bytes(place.context->job->opened_bytes.load() & ~std::uint64_t{1023});
  to << ". Raise the limit of this container or control group (or vm.overcommit_memory), or lower situ run --memory";
}

// Describes an access to memory of another host's place, for which only addresses are reserved here.
bool describe_memory_elsewhere(const os::fault_event& f, const place_in_process& place, fault_text& to) noexcept {
  if (f.signal != SIGSEGV || !is_within(f.address(), place.slices, place.slices_bytes)) return false;
  const auto owner = static_cast<std::uint32_t>((f.address() - place.slices) >> place.context->slice_shift);
  if (place.context->job->is_here(owner)) return false;
  to << (f.is_write() ? "wrote to " : "read ");
  to.hex(f.address()) << ", memory of place " << owner
                      << ", which is on another host; it is read by situ::get and written by situ::put alone";
  return true;
}

bool is_of_job(const os::fault_event& f, const place_in_process& place) noexcept {
  return is_within(f.address(), place.slices, place.slices_bytes) ||
         is_within(f.address(), place.control, place.control_bytes);
}

// Returns the place that the running thread is, or that owns the address, or that forked this process; null if there is
// none.
const place_in_process* place_of(const os::fault_event& f) noexcept {
  const place_in_process* found = current->job == nullptr ? places_of_process() : nullptr;
  if (found != nullptr && !found->is_in_forked_child()) found = nullptr;
  for (const place_in_process* each = places_of_process(); each != nullptr; each = each->next) {
    if (each->context == current) return each;
    if (is_of_job(f, *each)) found = each;
  }
  return found;
}

void say(const std::uint32_t* place, std::string_view text) noexcept {
  fault_text line;
  line << "situ: ";
  if (place != nullptr) line << "place " << *place << ": ";
  line << text << "\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.text().data(), line.text().size());
}

void look_at(const os::fault_event& f) noexcept {
  const place_in_process* const place = place_of(f);
  fault_text text;
  const fault_explainer explain = explain_fault.load();
  if (f.signal == SIGSEGV && explain != nullptr && explain(f.address(), f.is_write(), text)) {
    if (f.ends_process) let_only_first_end_process();
    if (place == nullptr) return say(nullptr, text.text());
    say(&place->context->place, text.text());
    return mark_lost(*place->context->job, place->context->place, text.text());
  }
  if (place == nullptr) return;
  if (place->is_in_forked_child()) {
    text << "process " << static_cast<std::uint64_t>(::getpid()) << ", which it forked, ";
    if (is_of_job(f, *place))
      (text << "wrote to the job's memory at ").hex(f.address());
    else
      (text << "crashed at ").hex(f.address());
    text << ". A forked child is no place: it calls nothing of Situ and ends by exec or _exit, not by returning from a "
            "task";
    return say(current->job == nullptr ? &current->place : &place->context->place, text.text());
  }
  bool is_known = false;
  if (f.signal == SIGBUS) {
    is_known = is_of_job(f, *place);
    if (is_known) describe_refused_memory(f, *place, text);
  } else if (describe_memory_elsewhere(f, *place, text)) {
    is_known = true;
  } else if (place->context == current && current->scheduler != nullptr) {
    is_known = describe_task_overflow(f, text) || describe_main_overflow(f, *place, text);
  }
  if (!is_known) return;
  if (f.ends_process) let_only_first_end_process();
  say(&place->context->place, text.text());
  mark_lost(*place->context->job, place->context->place, text.text());
}

bool explain_causes(const os::fault_event& fault) noexcept {
  if (!fault.is_sent()) look_at(fault);
  return false;
}
constinit os::fault_link cause_link{os::fault_rank::explains, {SIGSEGV, SIGBUS}, &explain_causes};

}  // namespace

constinit std::atomic<fault_explainer> explain_fault{nullptr};

void install_fault_handlers() noexcept { os::fault_chain::add(cause_link); }
void remove_fault_handlers() noexcept { os::fault_chain::remove(cause_link); }

}  // namespace situ::detail
