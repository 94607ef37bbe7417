// Open pools in a forked child. fork copies the objects of this module, but neither the pool's pages nor the right to
// its locks. Therefore in the child
//   calls of a pool throw bad_file with the reason (pool_sharing::leave_in_child);
//   an access to its pages ends the child, as before, after a sentence on standard error. The link of os/fault_chain.h
//   that writes it is added in the child alone;
//   threads that serve a pool do not exist, so the child abandons their objects.
// The child may open the pool anew.
#pragma once

#include <cstddef>
#include <string>

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

}  // namespace situ::detail
