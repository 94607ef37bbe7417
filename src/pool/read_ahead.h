// The thread that asks for a pool's pages before the program does.
#pragma once

#include "pool/forked_child.h"

#include <cstdint>
#include <thread>

namespace situ::detail {

// Belongs to a pool.
class read_ahead {
 public:
  // Of the file, from the one byte to the other, in order. The descriptor outlives this object.
  void start(int descriptor, std::uint64_t begin, std::uint64_t end);

  // In a child, which has no such thread.
  void leave_to_parent() noexcept { situ::detail::leave_to_parent(thread_); }

 private:
  std::jthread thread_;  // stops when it is destroyed
};

}  // namespace situ::detail
