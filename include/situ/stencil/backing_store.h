// Stores in which the out-of-core executor keeps datasets (pages/backing_store.h). Set options::store to one; without
// it, the context makes an unnamed file.
#pragma once

#include <situ/pages/backing_store.h>

#include <memory>
#include <string>

namespace situ::stencil {

using situ::backing_store;
using situ::make_memory_store;

// Makes a store from a file without a name in a directory, so the file disappears when the program ends in any way; "":
// TMPDIR or /tmp. The file bypasses the page cache (O_DIRECT) if the file system supports it; reads and writes go
// through an io_uring, or, if the system refuses one, through threads of the store (description() tells which). Throws
// bad_file. A store belongs to one context. cost: making it, some system calls; a read or write, that of the file.
[[nodiscard]] std::shared_ptr<backing_store> make_file_store(std::string directory = {});

}  // namespace situ::stencil
