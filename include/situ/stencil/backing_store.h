// Where the out-of-core executor keeps datasets: a store of memory/backing_store.h. Give one to options::store; without
// one an unnamed file is made.
#pragma once

#include <situ/memory/backing_store.h>

#include <memory>
#include <string>

namespace situ::stencil {

using situ::backing_store;
using situ::make_intent_store;
using situ::make_memory_store;
using situ::make_node_store;

// A file without a name in a directory, so nothing is left behind however the program ends; "": TMPDIR or /tmp. Opened
// past the page cache (O_DIRECT) where the file system can; reads and writes go through an io_uring, or through threads
// of the store where the system refuses one (description() says so). Throws bad_file. Belongs to one context, as every
// store does. cost: making it, some system calls; a read or write, that of the file.
[[nodiscard]] std::shared_ptr<backing_store> make_file_store(std::string directory = {});

}  // namespace situ::stencil
