// Explains why the system refuses to map memory: names the limit that was hit, and a remedy.
#pragma once

#include <string>

namespace situ::detail {

// code: errno after a failed mmap or mremap. EAGAIN means the limit on locked memory: the process has called
// mlockall(MCL_FUTURE), and Linux counts all mappings made since, even those without access. ENOMEM means the limit on
// address space if one is set, otherwise too little memory or too many mappings.
[[nodiscard]] std::string why_not_mapped(int code);

}  // namespace situ::detail
