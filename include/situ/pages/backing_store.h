// Storage for data outside fast memory: a file, memory of another NUMA node or kind, another place's segment, or a
// medium that the program supplies (a device, say). Datasets of stencils (stencil/context.h) and staged arrays
// (task/staged_array.h) are read from a store and written to it.
//
// A store is a range of bytes, zero until written unless the store says otherwise. Transfers run asynchronously. Each
// transfer belongs to a queue, and a caller waits for a queue as a whole. Offsets, sizes and addresses are multiples
// of page_bytes. Concurrent transfers may read the same bytes, but none may write bytes that another one reads or
// writes. A store serves one user (a context, an array), and one thread at a time calls it.
// cost: of a read or write, that of the medium; starting one must not wait for it, unless too many are in progress.
#pragma once

#include <situ/pages/memory_kind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace situ {

// The interface of a store. Derive from it for a medium of your own.
class backing_store {
 public:
  static constexpr std::size_t page_bytes = 4096;  // unit of offsets, sizes and addresses
  static constexpr int queues = 7;                 // numbered from 0
  // read: from the store to memory; write: from memory to the store.
  enum class direction : std::uint8_t { read, write };

  backing_store() = default;
  // pre: all reads and writes have ended, since reads write into the caller's memory.
  virtual ~backing_store() = default;
  backing_store(const backing_store&) = delete;
  backing_store& operator=(const backing_store&) = delete;

  // Returns a text for reports: "file in /scratch, past the page cache".
  [[nodiscard]] virtual std::string description() const = 0;
  // Returns whether reads and writes can fail after allocate() has succeeded. If so, a chain writes to a second
  // version of the data, which takes twice the space, and which becomes current when all of it has arrived.
  [[nodiscard]] virtual bool may_fail() const = 0;
  // Allocates `bytes`, rounded up to whole pages, and returns their offset. Throws situ::error if there is no room.
  [[nodiscard]] virtual std::uint64_t allocate(std::uint64_t bytes) = 0;
  // Starts a read or write between memory and store. wait() reports failures.
  virtual void start(direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes, int queue) = 0;
  // Waits until all reads and writes of a queue have ended. Then throws situ::error if one has failed, with the
  // offset, and clears the failure.
  virtual void wait(int queue) = 0;
};

// Selects whether a file's bytes go through the system's page cache, which keeps a second copy of them, or bypass it.
enum class page_cache : std::uint8_t { past, through };

// Makes a store in memory of any kind (intent::capacity, say, or memory_kind::of_node(1)), which a thread of the store
// copies to and from. Its allocate() throws out_of_memory if there is no room. Throws bad_argument if there is no such
// node; bad_file, bad_argument or not_supported if an intent has no usable ordering. cost: for a node or an intent,
// allocate() faults all pages in.
[[nodiscard]] std::shared_ptr<backing_store> make_memory_store(const memory_kind& kind);
// Makes a store of the first `bytes` bytes of a named file. The file is created, or extended with zeroes, if it is
// shorter; its contents are the store's contents. allocate() returns all of it, once. With page_cache::past the store
// uses O_DIRECT if the file system can. Four threads of the store read and write. Throws bad_file if the file cannot
// be opened.
[[nodiscard]] std::shared_ptr<backing_store> make_named_file_store(const std::string& path, std::uint64_t bytes,
                                                                   page_cache cache = page_cache::past);

}  // namespace situ
