// The part of one host in a job over several hosts, until the job begins: its memory, its server, and the record of
// both for the other hosts. The process that starts it, a task of mpirun (foreign_hosts.h) or the agent of `situ run
// --hosts`, carries the records between hosts.
//
// Belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "launch/records.h"
#include "memory/job.h"

namespace situ::detail {

// Returns the host's name as its kernel reports it.
[[nodiscard]] std::string name_of_host();

class host_part {
 public:
  // Makes the memory and, if there are several hosts, starts the server, which waits. A failure is stored as the
  // record's refusal, so that every host can report it. build: identifies the program. pre: options have homes.
  host_part(job_options options, std::uint64_t build);
  // Ends a server that has not begun.
  ~host_part();
  host_part(const host_part&) = delete;
  host_part& operator=(const host_part&) = delete;

  [[nodiscard]] const cluster::host_record& record() const noexcept { return record_; }
  // Returns the job once the records of all hosts, in the order of their numbers, are known; stores the address of each
  // server in it. Throws as cluster::check_records if the hosts cannot form one job. The result may be moved from.
  [[nodiscard]] job& meet(std::span<const cluster::host_record> records);
  // Lets the server serve until the places here have ended.
  void begin() noexcept;
  // Lets the server serve as long as this object lives: if it ends before, the places here end.
  void begin_watching() noexcept;

 private:
  class server_start;
  std::optional<job> made_;
  std::unique_ptr<server_start> server_;
  cluster::host_record record_;
};

}  // namespace situ::detail
