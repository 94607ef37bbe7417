// The program's threads and their synchronisation. These functions have the C library's names, so that libstdc++ calls
// them, too. The library's own structures hold their state (zeros: free), which is touched like that of the library's:
// by an atomic access.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "model/execution/affinity.h"
#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/modelled_clock.h"
#include "model/execution/openmp.h"

namespace situ::model {
namespace {

void touch(const void* what) {
  if (running != &nobody) the_engine->access(reinterpret_cast<std::uintptr_t>(what), 4, access_kind::atomic);
}
int self_number() { return the_engine == nullptr ? 1 : static_cast<int>(the_engine->self().index) + 1; }

// Waits on an address until done() returns true, or the time is over.
template <class Done>
bool wait_until(const void* word, time_ps until, const char* what, Done done) {
  while (!done()) {
    if (!the_engine->sleep(word, until, what)) return done();
    touch(word);
  }
  return true;
}

int lock(pthread_mutex_t* mutex, time_ps until, bool may_wait) {
  auto& m = mutex->__data;
  touch(mutex);
  const int kind = m.__kind & 3;
  if (m.__lock != 0 && m.__owner == self_number()) {
    if (kind == PTHREAD_MUTEX_RECURSIVE) {
      ++m.__count;
      return 0;
    }
    if (kind == PTHREAD_MUTEX_ERRORCHECK) return may_wait ? EDEADLK : EBUSY;
  }
  if (m.__lock != 0 && !may_wait) return EBUSY;
  if (!wait_until(mutex, until, "a mutex", [&] { return m.__lock == 0; })) return ETIMEDOUT;
  m.__lock = 1;
  m.__owner = self_number();
  m.__count = 1;
  return 0;
}

int unlock(pthread_mutex_t* mutex) {
  auto& m = mutex->__data;
  touch(mutex);
  if (m.__lock == 0 || m.__owner != self_number()) return EPERM;
  if (--m.__count != 0) return 0;
  m.__lock = 0;
  m.__owner = 0;
  if (the_engine != nullptr) the_engine->wake(mutex, 1);
  return 0;
}

int wait_on(pthread_cond_t* condition, pthread_mutex_t* mutex, time_ps until) {
  touch(condition);
  unlock(mutex);  // no other thread runs between this and the sleep
  const bool woken = the_engine->sleep(condition, until, "a condition variable");
  lock(mutex, never, true);
  return woken ? 0 : ETIMEDOUT;
}

void wake_from(const void* word, std::uint32_t count) {
  touch(word);
  if (the_engine != nullptr) the_engine->wake(word, count);
}

// Returns a rwlock's state: -1 for one writer; n > 0 for n readers.
int& state_of(pthread_rwlock_t* lock) { return *reinterpret_cast<int*>(lock); }
unsigned& value_of(sem_t* semaphore) { return *reinterpret_cast<unsigned*>(semaphore); }

int lock_to_read(pthread_rwlock_t* lock, bool may_wait, time_ps until = never) {
  touch(lock);
  if (state_of(lock) < 0 && !may_wait) return EBUSY;
  if (!wait_until(lock, until, "a lock to read", [&] { return state_of(lock) >= 0; })) return ETIMEDOUT;
  ++state_of(lock);
  return 0;
}
int lock_to_write(pthread_rwlock_t* lock, bool may_wait, time_ps until = never) {
  touch(lock);
  if (state_of(lock) != 0 && !may_wait) return EBUSY;
  if (!wait_until(lock, until, "a lock to write", [&] { return state_of(lock) == 0; })) return ETIMEDOUT;
  state_of(lock) = -1;
  return 0;
}

int wait_for(sem_t* semaphore, time_ps until) {
  touch(semaphore);
  while (value_of(semaphore) == 0) {
    const bool is_woken = the_engine->sleep(semaphore, until, "a semaphore");
    if (value_of(semaphore) != 0) break;
    if (!is_woken) return errno = ETIMEDOUT, -1;
    if (the_engine->self().signals.interrupted_by == thread_signals::interruption::ends_wait) return errno = EINTR, -1;
    touch(semaphore);
  }
  --value_of(semaphore);
  return 0;
}

std::size_t stack_bytes_of(const pthread_attr_t* attributes) {
  const outside_time scope;
  std::size_t asked = 0;
  if (attributes != nullptr) pthread_attr_getstacksize(attributes, &asked);
  return (std::max(asked, usual_stack_bytes()) + 4095) & ~std::size_t{4095};
}

// Ends the running thread by pthread_exit, as glibc does: the frames' destructors run, and no handler stops it. At the
// last frame, that of the engine, the thread ends.
_Unwind_Reason_Code end_at_last_frame(int, _Unwind_Action actions, _Unwind_Exception_Class,
                                      struct _Unwind_Exception* exception, _Unwind_Context*, void* result) {
  if ((actions & _UA_END_OF_STACK) == 0) return _URC_NO_REASON;
  {
    const outside_time scope;
    delete exception;
  }
  end_openmp_of(the_engine->self());
  the_engine->end_thread(result);
}

}  // namespace
}  // namespace situ::model

using namespace situ::model;

extern "C" {

int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) noexcept {
  if (the_engine == nullptr) give_up("a thread is started before main; modelled time begins there");
  the_engine->take_turn();
  thread& started = the_engine->start_thread(body, argument, stack_bytes_of(attributes));
  *made = started.host->fs_base();
  bind_as_asked(started, attributes);
  int how = PTHREAD_CREATE_JOINABLE;
  const outside_time scope;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &how);
  if (how == PTHREAD_CREATE_DETACHED) the_engine->detach(started);
  return 0;
}
int pthread_join(pthread_t which, void** result) {
  thread* const found = the_engine->find(which);
  if (found == nullptr) return ESRCH;
  void* const got = the_engine->join(*found);
  if (result != nullptr) *result = got;
  return 0;
}
int pthread_tryjoin_np(pthread_t which, void** result) noexcept {
  thread* const found = the_engine->find(which);
  if (found == nullptr) return ESRCH;
  the_engine->take_turn();
  return found->state == thread_state::done ? pthread_join(which, result) : EBUSY;
}
int pthread_detach(pthread_t which) noexcept {
  thread* const found = the_engine->find(which);
  if (found == nullptr) return ESRCH;
  the_engine->detach(*found);
  return 0;
}
void pthread_exit(void* result) {
  if (running == &nobody) give_up("pthread_exit is called outside of modelled time");
  if (the_engine->self().index == 0)
    give_up("pthread_exit by main's thread is not modelled: let main wait for the others");
  _Unwind_Exception* exception = nullptr;
  {
    const outside_time scope;
    exception = new _Unwind_Exception{};
  }
  _Unwind_ForcedUnwind(exception, &end_at_last_frame, result);
  give_up("pthread_exit finds no way through the thread's frames: compile them with -funwind-tables");
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept { return lock(mutex, never, true); }
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept { return lock(mutex, never, false); }
int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept { return unlock(mutex); }
int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  return lock(mutex, modelled_time(CLOCK_REALTIME, *until), true);
}
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) noexcept {
  return lock(mutex, modelled_time(clock, *until), true);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) { return wait_on(condition, mutex, never); }
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  const bool is_monotonic = (condition->__data.__wrefs & 2) != 0;  // set by pthread_cond_init
  return wait_on(condition, mutex, modelled_time(is_monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, *until));
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  return wait_on(condition, mutex, modelled_time(clock, *until));
}
int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  wake_from(condition, 1);
  return 0;
}
int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  wake_from(condition, UINT32_MAX);
  return 0;
}
int pthread_cond_destroy(pthread_cond_t*) noexcept { return 0; }

// The state is 0: not begun; 1: in progress; 2: done.
int pthread_once(pthread_once_t* state, void (*body)()) {
  touch(state);
  if (*state == 0) {
    *state = 1;
    try {
      body();
    } catch (...) {
      *state = 0;
      wake_from(state, UINT32_MAX);
      throw;
    }
    *state = 2;
    wake_from(state, UINT32_MAX);
    return 0;
  }
  wait_until(state, never, "a call that is made once", [&] { return *state != 1; });
  return *state == 2 ? 0 : pthread_once(state, body);
}

// The guard's first byte is set when the initialization is done, the second while a thread performs it.
int __cxa_guard_acquire(long* guard) {
  auto* const bytes = reinterpret_cast<volatile char*>(guard);
  touch(guard);
  if (bytes[0] == 0)
    wait_until(guard, never, "a static variable that another thread makes", [&] { return bytes[1] == 0; });
  if (bytes[0] != 0) return 0;
  bytes[1] = 1;
  return 1;
}
void __cxa_guard_release(long* guard) {
  auto* const bytes = reinterpret_cast<volatile char*>(guard);
  bytes[0] = 1;
  bytes[1] = 0;
  wake_from(guard, UINT32_MAX);
}
void __cxa_guard_abort(long* guard) {
  reinterpret_cast<volatile char*>(guard)[1] = 0;
  wake_from(guard, UINT32_MAX);
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept { return lock_to_read(lock, true); }
int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept { return lock_to_read(lock, false); }
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept { return lock_to_write(lock, true); }
int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept { return lock_to_write(lock, false); }
int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
  return lock_to_read(lock, true, modelled_time(CLOCK_REALTIME, *until));
}
int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
  return lock_to_write(lock, true, modelled_time(CLOCK_REALTIME, *until));
}
int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* until) noexcept {
  return lock_to_read(lock, true, modelled_time(clock, *until));
}
int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* until) noexcept {
  return lock_to_write(lock, true, modelled_time(clock, *until));
}
int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  int& state = state_of(lock);
  state = state < 0 ? 0 : state - 1;
  wake_from(lock, UINT32_MAX);
  return 0;
}

int sem_init(sem_t* semaphore, int, unsigned value) noexcept {
  std::memset(semaphore, 0, sizeof *semaphore);
  value_of(semaphore) = value;
  return 0;
}
int sem_destroy(sem_t*) noexcept { return 0; }
int sem_wait(sem_t* semaphore) { return wait_for(semaphore, never); }
int sem_timedwait(sem_t* semaphore, const timespec* until) {
  return wait_for(semaphore, modelled_time(CLOCK_REALTIME, *until));
}
int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  return wait_for(semaphore, modelled_time(clock, *until));
}
int sem_trywait(sem_t* semaphore) noexcept {
  touch(semaphore);
  if (value_of(semaphore) == 0) {
    errno = EAGAIN;
    return -1;
  }
  --value_of(semaphore);
  return 0;
}
int sem_post(sem_t* semaphore) noexcept {
  touch(semaphore);
  ++value_of(semaphore);
  if (the_engine != nullptr) the_engine->wake(semaphore, 1);
  return 0;
}
int sem_getvalue(sem_t* semaphore, int* value) noexcept {
  *value = static_cast<int>(value_of(semaphore));
  return 0;
}

int sched_yield() noexcept {
  if (the_engine != nullptr) the_engine->yield();
  return 0;
}

// The library calls `visit` under its lock, which only modelled threads, not host threads, could wait for: so no other
// thread runs during the call.
int dl_iterate_phdr(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data) {
  using iterate = int (*)(int (*)(dl_phdr_info*, std::size_t, void*), void*);
  static const auto real = reinterpret_cast<iterate>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  if (the_engine == nullptr) return real(visit, data);
  the_engine->hold_others();
  const int result = real(visit, data);
  the_engine->release_others();
  return result;
}

pid_t fork() noexcept {
  say("situ model: fork is not modelled; places run as threads of one process there\n");
  errno = ENOSYS;
  return -1;
}
}
