// A thread that requests a pool's pages before the program does.
#pragma once

#include "os/worker.h"
#include "pool/forked_child.h"

#include <cstdint>

namespace situ::detail {

// A member of a pool.
class read_ahead {
 public:
  // Reads the file from `begin` to `end`, in order, in the background. The descriptor outlives this object.
  void start(int descriptor, std::uint64_t begin, std::uint64_t end);

  // Abandons the thread in a forked child, which does not have it.
  void leave_to_parent() noexcept { thread_.leave_to_parent(); }

 private:
  os::worker thread_;  // the destructor stops it
};

}  // namespace situ::detail
