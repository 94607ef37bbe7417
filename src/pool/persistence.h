// The path from a store to persistence: the kind of memory that a file is, the primitive that makes bytes persistent,
// and the one interface for every flush and fence of a pool.
//
// Memory-centric paper 2 (Rudoff, MCHPC'17), section 2.2 and table 1: a store may stay in a processor's cache; a flush
// (CLFLUSH, CLFLUSHOPT, CLWB) begins to write its line back to the persistence domain, and a fence waits for that. If
// the file's pages are in the page cache, the domain is the device, a flush notes a range of pages, and a fence calls
// msync for the noted ranges.
//
// Each flush and fence has a step, its name: with it a recorder says at which point of the implementation a run may be
// cut, and a test can leave one out (tests/pool/crash_test.cpp). Not thread-safe: a pool has one writer at a time.
#pragma once

#include <situ/pool/pool.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace situ::detail {

// The point of the implementation that issues a flush or fence, by the bytes that are flushed.
enum class pool_step : std::uint8_t {
  create,          // the parts of a new pool
  grow_first,      // a longer heap, in the older copy of the state
  grow_second,     // and in the other copy; no fence: a user of the longer heap issues one
  snapshot,        // bytes that a transaction is about to change, in the log
  publish,         // words of the allocator that a commit is about to change, in the log
  keep_checks,     // checks of objects that a commit is about to change, in the log; publish fences them
  checks,          // checks of new objects; commit fences them
  commit,          // all bytes that a transaction has changed and made
  end,             // the log's end
  restore,         // bytes that an abort or a recovery has restored
  restored_end,    // the log's end after restore; no fence: restoring twice has the same result
  append,          // redo log: the record of a transaction
  forget,          // redo log: the bytes behind the valid records, which are made invalid
  checkpoint,      // redo log: contents of the records, at their places in the pool
  checkpoint_end,  // redo log: the log's new beginning
  move_begin,      // source and target of a move to other addresses
  move_mark,       // the mark that the pool is being moved
  move_pointers,   // the pointers of its objects
  move_end,        // the end of the move
  count,
};
[[nodiscard]] std::string_view name(pool_step step) noexcept;

// The way in which the bytes of a file become persistent.
enum class pool_medium : std::uint8_t {
  page_cache,       // msync brings them to the device
  dax,              // the pages are memory: a flush of cache lines brings them to the persistence domain
  volatile_memory,  // a file system in memory: the bytes never become persistent
};
[[nodiscard]] std::string_view name(pool_medium medium) noexcept;

enum class flush_primitive : std::uint8_t { none, clflush, clflushopt, clwb, msync, fdatasync };
[[nodiscard]] std::string_view name(flush_primitive primitive) noexcept;
// Returns the best flush of cache lines that this processor has; msync if it has none.
[[nodiscard]] flush_primitive best_line_flush() noexcept;

// Is called before every flush and fence of a pool, for tests. It finds stores by comparing memory.
class persistence_recorder {
 public:
  virtual ~persistence_recorder() = default;
  // The file is mapped at `base`, and its contents are persistent. is_private: stores to memory do not reach the file.
  virtual void begin(int descriptor, const std::byte* base, bool is_private) = 0;
  virtual void flush(const std::byte* at, std::size_t bytes, pool_step step) = 0;
  virtual void fence(pool_step step) = 0;
  // For a file that is mapped privately: bytes that are about to be written to it.
  virtual void write(std::uint64_t offset, const std::byte* from, std::size_t bytes, pool_step step) = 0;
};

class persistence {
 public:
  // Sets the file and its mapping at `base`. is_private: stores do not reach the file, and a flush writes them to it.
  // The caller keeps the descriptor.
  void attach(int descriptor, std::byte* base, pool_medium medium, pool_promise promise, bool is_private,
              std::string path);
  void record_to(persistence_recorder* recorder) {
    recorder_ = recorder;
    is_needed_ = recorder_ != nullptr || primitive_ != flush_primitive::none;
    if (recorder != nullptr) recorder->begin(descriptor_, base_, primitive_ == flush_primitive::fdatasync);
  }

  // Begins to make bytes persistent.
  void flush(const void* at, std::size_t bytes, pool_step step) {
    if (is_needed_) flush_slow(static_cast<const std::byte*>(at), bytes, step);
  }
  // For a file that is mapped privately: begins to write the bytes to it. Throws out_of_memory if the disk is full, and
  // bad_file if the device fails, which counts as a failed fence; some of the bytes may be written then.
  void write(std::uint64_t offset, const std::byte* from, std::size_t bytes, pool_step step);
  // Waits for the device; returns 0 or the errno value. Thread-safe.
  [[nodiscard]] int sync_file() const noexcept;
  // Waits until flushed bytes are persistent. Throws bad_file if the device fails; then the state of all bytes flushed
  // since the last fence is unknown.
  void fence(pool_step step) {
    // If this process is killed, the kernel and the next opener of the file see its stores in program order: the
    // compiler must keep that order.
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (is_needed()) fence_slow(step);
  }

  // Returns whether flushes do anything.
  [[nodiscard]] bool is_needed() const noexcept { return is_needed_; }
  // Returns whether a fence or a write to the device has failed, or fail() was called. The kernel may count pages that
  // it could not write as written, so a later fence that succeeds says nothing about them.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  void fail() noexcept { has_failed_ = true; }
  [[nodiscard]] pool_medium medium() const noexcept { return medium_; }
  [[nodiscard]] flush_primitive primitive() const noexcept { return primitive_; }

 private:
  struct page_range {
    std::uintptr_t begin;
    std::uintptr_t end;
  };
  void flush_slow(const std::byte* at, std::size_t bytes, pool_step step);
  void fence_slow(pool_step step);
  void sync_pages();

  persistence_recorder* recorder_ = nullptr;
  bool has_failed_ = false;
  bool is_needed_ = false;
  flush_primitive primitive_ = flush_primitive::none;
  pool_medium medium_ = pool_medium::page_cache;
  int descriptor_ = -1;
  std::byte* base_ = nullptr;
  std::string path_;
  std::vector<page_range> noted_;  // for msync
};

}  // namespace situ::detail
