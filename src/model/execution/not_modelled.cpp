// Functions of the C library that would wait, or read the host's state, without the executor: a call ends the program
// with a message. The headers that declare these functions are not included, since only the names count.
#include "model/execution/host_calls.h"

#define SITU_NOT_MODELLED(name) \
  [[noreturn]] void name() noexcept { situ::model::give_up(#name " is not modelled"); }

extern "C" {
SITU_NOT_MODELLED(pthread_barrier_init)
SITU_NOT_MODELLED(pthread_barrier_wait)
SITU_NOT_MODELLED(pthread_spin_lock)
SITU_NOT_MODELLED(pthread_spin_trylock)
SITU_NOT_MODELLED(pthread_timedjoin_np)
SITU_NOT_MODELLED(pthread_clockjoin_np)
SITU_NOT_MODELLED(thrd_create)
SITU_NOT_MODELLED(mtx_lock)
SITU_NOT_MODELLED(cnd_wait)
SITU_NOT_MODELLED(times)
}
