// The exchange of tasks by PMIx, as mpirun and srun --mpi=pmix give it.
//
// The library is the one that MPI uses in the same process, if it does: opened by its name, not linked. Belongs to one
// thread.
#pragma once

#include <memory>

#include "cluster/network.h"

namespace situ::detail::cluster {

// Throws bad_launch where there is no PMIx, in the build, on the host, or of the launcher.
[[nodiscard]] std::unique_ptr<task_exchange> join_pmix();

}  // namespace situ::detail::cluster
