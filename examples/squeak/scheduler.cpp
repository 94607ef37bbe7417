// Processes: semaphores, priorities, timers. A process that waits is in a list, linked through its first field.
#include "interpreter.h"

#include <chrono>
#include <thread>

namespace squeak {
namespace {

// Fields of a scheduler, a Process, and a LinkedList (a Semaphore begins as one).
constexpr std::uint32_t lists_field = 0, active_field = 1;
constexpr std::uint32_t next_field = 0, context_field = 1, priority_field = 2, list_field = 3;
constexpr std::uint32_t first_field = 0, last_field = 1, signals_field = 2;

constexpr std::uint32_t clock_mask = 0x1fff'ffff;  // the milliseconds that the image sees

constexpr const char* nothing_can_run = "every process waits, and none of them for a time";

}  // namespace

oop interpreter::scheduler() const { return memory_.field(memory_.special(special::scheduler), 1); }

oop interpreter::active_process() const { return memory_.field(scheduler(), active_field); }

std::uint32_t interpreter::milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) & clock_mask;
}

void interpreter::add_last(oop list, oop process) {
  const oop nil = memory_.known().nil;
  if (memory_.field(list, first_field) == nil)
    memory_.store(list, first_field, process);
  else
    memory_.store(memory_.field(list, last_field), next_field, process);
  memory_.store(list, last_field, process);
  memory_.store(process, next_field, nil);
  memory_.store(process, list_field, list);
}

oop interpreter::remove_first(oop list) {
  const oop nil = memory_.known().nil;
  const oop first = memory_.field(list, first_field);
  if (first == memory_.field(list, last_field)) {
    memory_.store(list, first_field, nil);
    memory_.store(list, last_field, nil);
  } else {
    memory_.store(list, first_field, memory_.field(first, next_field));
  }
  memory_.store(first, next_field, nil);
  memory_.store(first, list_field, nil);
  return first;
}

// Puts a process into the list of its priority.
void interpreter::put_to_sleep(oop process) {
  const auto priority = static_cast<std::uint32_t>(integer_of(memory_.field(process, priority_field)));
  add_last(memory_.field(memory_.field(scheduler(), lists_field), priority - 1), process);
}

// Returns the first process of the highest priority that can run; nil: none.
oop interpreter::take_next_process() {
  const oop lists = memory_.field(scheduler(), lists_field);
  for (std::uint32_t i = memory_.at(lists)->words; i-- > 0;) {
    const oop list = memory_.field(lists, i);
    if (memory_.field(list, first_field) != memory_.known().nil) return remove_first(list);
  }
  return memory_.known().nil;
}

void interpreter::store_active_process() {
  reclaimable_ = 0;
  store_frame();
  memory_.store(active_process(), context_field, context_);
}

void interpreter::transfer_to(oop process) {
  store_active_process();
  memory_.store(scheduler(), active_field, process);
  const oop context = memory_.field(process, context_field);
  memory_.store(process, context_field, memory_.known().nil);
  load_frame(context);
}

void interpreter::resume(oop process) {
  const oop active = active_process();
  if (integer_of(memory_.field(process, priority_field)) > integer_of(memory_.field(active, priority_field))) {
    put_to_sleep(active);
    transfer_to(process);
  } else {
    put_to_sleep(process);
  }
}

void interpreter::signal(oop semaphore) {
  if (memory_.field(semaphore, first_field) == memory_.known().nil)
    memory_.store(semaphore, signals_field, word_of(integer_of(memory_.field(semaphore, signals_field)) + 1));
  else
    resume(remove_first(semaphore));
}

void interpreter::wait(oop semaphore) {
  const std::int32_t signals = integer_of(memory_.field(semaphore, signals_field));
  if (signals > 0) {
    memory_.store(semaphore, signals_field, word_of(signals - 1));
    return;
  }
  add_last(semaphore, active_process());
  suspend_active();
}

// The active process waits already, or is to be resumed by another one.
void interpreter::suspend_active() {
  store_frame();
  for (;;) {
    const oop next = take_next_process();
    if (next != memory_.known().nil) return transfer_to(next);
    if (wake_up_at() == 0) {
      (void)fail(nothing_can_run);
      return;
    }
    sleep_until_wake_up();
    const oop semaphore = memory_.special(special::timer_semaphore);
    set_wake_up_at(0);
    if (!memory_.has_class(semaphore, memory_.known().class_semaphore)) continue;
    if (memory_.field(semaphore, first_field) == memory_.known().nil) {
      signal(semaphore);
    } else {
      put_to_sleep(remove_first(semaphore));
    }
  }
}

void interpreter::set_wake_up(oop semaphore, std::uint32_t milliseconds) {
  const bool is_one = memory_.has_class(semaphore, memory_.known().class_semaphore);
  memory_.store(memory_.known().specials, special::timer_semaphore, is_one ? semaphore : memory_.known().nil);
  set_wake_up_at(is_one ? std::max(milliseconds & clock_mask, 1U) : 0);
}

void interpreter::wake_up_if_due() {
  const std::uint32_t behind = (milliseconds() - wake_up_at()) & clock_mask;
  if (behind > clock_mask / 2) return;
  set_wake_up_at(0);
  const oop semaphore = memory_.special(special::timer_semaphore);
  if (memory_.has_class(semaphore, memory_.known().class_semaphore)) signal(semaphore);
}

void interpreter::sleep_until_wake_up() {
  const std::uint32_t left = (wake_up_at() - milliseconds()) & clock_mask;
  if (left == 0 || left > clock_mask / 2) return;
  forget_all();
  memory_.leave();
  memory_.thread().begin_idle();
  std::this_thread::sleep_for(std::chrono::milliseconds{left});
  memory_.thread().end_idle();
  memory_.enter();
  load_frame(context_);
}

void interpreter::idle() {
  if (wake_up_at() == 0) {
    (void)fail(nothing_can_run);
    return;
  }
  store_frame();
  sleep_until_wake_up();
  request_service();
}

void interpreter::end_active_process() {
  const oop nil = memory_.known().nil;
  const oop list = memory_.field(base_process_, list_field);
  if (list != nil && memory_.has_pointers(list)) {  // take it out: the others stay in their order
    std::vector<oop> others;
    while (memory_.field(list, first_field) != nil)
      if (const oop each = remove_first(list); each != base_process_) others.push_back(each);
    for (const oop each : others) add_last(list, each);
  }
  memory_.store(base_process_, list_field, nil);
  memory_.store(active_process(), context_field, nil);
  memory_.store(scheduler(), active_field, base_process_);
}

}  // namespace squeak
