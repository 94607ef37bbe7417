// A host's part in a job over several, until the job begins: its memory, its server, and what it tells the others of
// both. Whoever starts it, a task of mpirun (launch_hosts.h) or the agent of `situ run --hosts`, carries the records
// between hosts.
//
// Belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cluster/records.h"
#include "cluster/server_greeting.h"
#include "memory/job.h"

namespace situ::detail {

// As its kernel has it.
[[nodiscard]] std::string name_of_host();

class host_part {
 public:
  // Makes the memory and, where there are several hosts, starts the server, which waits. What fails is the record's
  // refusal, so that every host can say it. build: of the program. pre: options have homes.
  host_part(job_options options, std::uint64_t build);
  // A server that has not begun ends.
  ~host_part();
  host_part(const host_part&) = delete;
  host_part& operator=(const host_part&) = delete;

  [[nodiscard]] const cluster::host_record& record() const noexcept { return record_; }
  // With the records of all hosts, by their numbers: the job, in which it is written where each server is reached.
  // Throws as cluster::check_records where they cannot be one job. May be moved from.
  [[nodiscard]] job& meet(std::span<const cluster::host_record> records);
  // The server serves from now on. watching: it does so while this object lives.
  void begin(cluster::server_greeting::begin how) noexcept;

 private:
  class server_start;
  std::optional<job> made_;
  std::unique_ptr<server_start> server_;
  cluster::host_record record_;
};

}  // namespace situ::detail
