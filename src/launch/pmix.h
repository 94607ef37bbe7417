// The exchange of tasks by PMIx, as mpirun and srun --mpi=pmix provide it.
//
// The library is the one that MPI uses in the same process, if it does: it is opened by its name, not linked. Belongs
// to one thread.
#pragma once

#include <memory>

#include "launch/network.h"

namespace situ::detail::cluster {

// Throws bad_launch if the build, the host or the launcher has no PMIx.
[[nodiscard]] std::unique_ptr<task_exchange> join_pmix();

}  // namespace situ::detail::cluster
