// Open pools in a child of their process: fork copies the objects of this module, and neither the pool's pages nor the
// right to its locks. So in the child
//   calls of a pool throw bad_file, which says why (pool_sharing::leave_in_child);
//   a touch of its pages ends the child, as before, after a sentence on standard error. The handler that says it is
//   installed in the child alone; a handler that was there before is called afterwards;
//   threads that serve a pool are no threads of the child, which leaves them alone.
// The child may open the pool anew.
#pragma once

#include <cstddef>
#include <string>
#include <thread>

namespace situ::detail {

class pool_sharing;

// A member of an open pool. Thread-safe.
class forked_child_guard {
 public:
  // The arguments outlive this object.
  forked_child_guard(pool_sharing& of, const std::byte* begin, std::size_t bytes, const std::string& path);
  ~forked_child_guard();
  forked_child_guard(const forked_child_guard&) = delete;
  forked_child_guard& operator=(const forked_child_guard&) = delete;
};

// For the child: a thread of its parent is neither stopped nor joined.
void leave_to_parent(std::jthread& thread) noexcept;

}  // namespace situ::detail
