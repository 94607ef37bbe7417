// Where data lie that are not in fast memory: a file, memory of another NUMA node or kind, another place's segment, or
// what a program supplies (a device, say). Datasets of stencils (stencil/context.h) and staged arrays
// (task/staged_array.h) are read from one and written to it.
//
// A store is a range of bytes, zero until they are written, unless it says otherwise. Transfers are started and go on
// by themselves; each belongs to a queue, and a queue is waited for as a whole. Offsets, sizes and addresses are
// multiples of page_bytes. Transfers in progress at the same time may read the same bytes, but never write what another
// reads or writes. A store serves one user (a context, an array), and is called by one thread at a time.
// cost: of a read or write, that of the medium; starting one must not wait for it, unless too many are in progress.
#pragma once

#include <situ/machine/intent.h>
#include <situ/memory/memory_kind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace situ {

// What a store must be able to do. Derive from it for a medium of your own.
class backing_store {
 public:
  static constexpr std::size_t page_bytes = 4096;  // what offsets, sizes and addresses are multiples of
  static constexpr int queues = 7;                 // numbered from 0
  // From the store to memory, or from memory to the store.
  enum class direction : std::uint8_t { read, write };

  backing_store() = default;
  // Not before all reads and writes have ended: they write into memory of others.
  virtual ~backing_store() = default;
  backing_store(const backing_store&) = delete;
  backing_store& operator=(const backing_store&) = delete;

  // For reports: "file in /scratch, past the page cache".
  [[nodiscard]] virtual std::string description() const = 0;
  // Whether reads and writes can fail once the space is allocated. If so, what a chain writes goes to a second version
  // of the data, which takes twice the space, and becomes current when all of it has arrived.
  [[nodiscard]] virtual bool may_fail() const = 0;
  // The offset of so many bytes that nobody has, rounded up to whole pages. Throws situ::error where there is no room.
  [[nodiscard]] virtual std::uint64_t allocate(std::uint64_t bytes) = 0;
  // Starts a read or write between memory and store. Failures are told by wait().
  virtual void start(direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes, int queue) = 0;
  // Until all reads and writes of a queue have ended. Then throws situ::error if one has failed, with the offset, and
  // forgets the failure.
  virtual void wait(int queue) = 0;
};

// Whether a file's bytes go through the system's page cache, which keeps them a second time, or past it.
enum class page_cache : std::uint8_t { past, through };

// Memory of any kind, copied by a thread of the store; its allocate() throws out_of_memory where there is no room.
// Throws bad_argument if there is no such node; bad_file, bad_argument or not_supported where an intent has no ordering
// that can be used. cost: of a node and an intent, the faults of all pages, when they are allocated.
[[nodiscard]] std::shared_ptr<backing_store> make_memory_store(const memory_kind& kind);
// The same, of a NUMA node, and of an intent: intent::capacity, say.
[[nodiscard]] std::shared_ptr<backing_store> make_node_store(int node);
[[nodiscard]] std::shared_ptr<backing_store> make_intent_store(const intent& what);
// `bytes` bytes of a file by its name, which is made, or made longer with zeroes, where it has fewer: what the file has
// is what the store has. allocate() gives all of it, once. Past the page cache (O_DIRECT) where the file system can.
// Four threads of the store read and write. Throws bad_file where it cannot be opened.
[[nodiscard]] std::shared_ptr<backing_store> make_named_file_store(const std::string& path, std::uint64_t bytes,
                                                                   page_cache cache = page_cache::past);

}  // namespace situ
