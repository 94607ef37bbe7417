// The tasks of a launcher on several hosts become the places of one job.
//
//   first task of a host                              the others there
//   learns the hosts of all tasks from the launcher   the same
//   awaits the others                      <-------   their ranks, as on one host (foreign.h)
//   job::create for the places here
//   starts the host's server, which says its address
//   publishes the host's record; a fence of all       the fence
//   reads all records; all fit, or every host says why not
//   lets the server begin; the descriptor  ------->   job::attach
//
// Until the servers begin, hosts communicate only through the launcher (docs/design/cluster.md, "Launch").
#pragma once

#include "launch/foreign.h"

namespace situ::detail {

// Works as meet_tasks(), for tasks on several hosts. Throws bad_launch or version_mismatch if the hosts cannot form one
// job.
[[nodiscard]] job meet_over_hosts(const foreign_task& self);

}  // namespace situ::detail
