// The processors that a program sees: the modelled cores, numbered as the machine numbers them. A thread may be bound to
// any of them. Before main there is no machine yet; then the numbers of `situ model run` count (SITU_MODEL_CORES), since
// libgomp asks at that time.
#pragma once

#include <pthread.h>

namespace situ::model {

struct thread;

// Moves a new thread to one of the cores that these attributes name; null, or none named: the thread stays.
void bind_as_asked(thread& started, const pthread_attr_t* attributes) noexcept;

}  // namespace situ::model
