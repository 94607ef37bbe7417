// The way from a store to where it stays: which memory a file is, which primitive brings bytes to it, and the one seam
// that every flush and fence of a pool goes through.
//
// Memory-centric paper 2 (Rudoff, MCHPC'17), section 2.2 and table 1: a store may stay in a processor's cache; a flush
// (CLFLUSH, CLFLUSHOPT, CLWB) begins to bring its line to the persistence domain, a fence waits for it. Where the
// file's pages are the page cache's, the domain is the device, a flush notes a range of pages, and a fence is msync of
// what is noted.
//
// Each flush and fence has a step, its name: so a recorder can say at which point of the implementation a run may be
// cut, and a test can leave one out (tests/pool/crash_test.cpp). Not thread-safe: a pool has one at a time who writes.
#pragma once

#include <situ/pool/pool.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace situ::detail {

// Where in the implementation a flush or fence stands.
enum class pool_step : std::uint8_t {
  create,          // the parts of a new pool
  grow_first,      // a longer heap, in the older copy of the state
  grow_second,     // and in the other; no fence: who relies on a longer heap has one of its own
  snapshot,        // what a transaction is about to change, in the log
  publish,         // the words of the allocator that a commit is about to change, in the log
  keep_checks,     // the checks of objects that a commit is about to change, in the log; publish fences them
  checks,          // checks of new objects; commit fences them
  commit,          // all that a transaction has changed and made
  end,             // the log's end
  restore,         // what an abort or a recovery has brought back
  restored_end,    // and the log's end after it; no fence: bringing back twice is bringing back once
  append,          // of a redo log: a transaction's record
  forget,          // what lies behind the records of a log that is gone on with, which is none
  checkpoint,      // what the records say, where it belongs
  checkpoint_end,  // and the log's new beginning
  move_begin,      // from where to where a pool is moved to other addresses
  move_mark,       // that it is being moved
  move_pointers,   // the pointers of its objects
  move_end,        // that it has been moved
  count,
};
[[nodiscard]] std::string_view name(pool_step step) noexcept;

// Which way the bytes of a file take.
enum class pool_medium : std::uint8_t {
  page_cache,       // msync brings them to the device
  dax,              // they are memory: a flush of cache lines brings them to the persistence domain
  volatile_memory,  // a file system in memory: nothing brings them anywhere
};
[[nodiscard]] std::string_view name(pool_medium medium) noexcept;

enum class flush_primitive : std::uint8_t { none, clflush, clflushopt, clwb, msync, fdatasync };
[[nodiscard]] std::string_view name(flush_primitive primitive) noexcept;
// The best one for cache lines that this processor has; msync where it has none.
[[nodiscard]] flush_primitive best_line_flush() noexcept;

// Sees every flush and fence of a pool before it is done, for tests. Stores it finds by comparing.
class persistence_recorder {
 public:
  virtual ~persistence_recorder() = default;
  // The file is mapped here, and what it holds is where it stays. is_private: stores to memory do not reach it.
  virtual void begin(int descriptor, const std::byte* base, bool is_private) = 0;
  virtual void flush(const std::byte* at, std::size_t bytes, pool_step step) = 0;
  virtual void fence(pool_step step) = 0;
  // Of a file that is mapped privately: bytes that are about to be written to it.
  virtual void write(std::uint64_t offset, const std::byte* from, std::size_t bytes, pool_step step) = 0;
};

class persistence {
 public:
  // For a file that is mapped at `base`. is_private: what is stored there does not reach the file, and a flush writes
  // it. The descriptor stays the caller's.
  void attach(int descriptor, std::byte* base, pool_medium medium, pool_promise promise, bool is_private,
              std::string path);
  void record_to(persistence_recorder* recorder) {
    recorder_ = recorder;
    is_needed_ = recorder_ != nullptr || primitive_ != flush_primitive::none;
    if (recorder != nullptr) recorder->begin(descriptor_, base_, primitive_ == flush_primitive::fdatasync);
  }

  // The bytes are on their way after it.
  void flush(const void* at, std::size_t bytes, pool_step step) {
    if (is_needed_) flush_slow(static_cast<const std::byte*>(at), bytes, step);
  }
  // Of a file that is mapped privately: the bytes are on their way to it. Throws out_of_memory for a full disk, and
  // bad_file where the device fails, which counts as a fence that failed; some of them may be there then.
  void write(std::uint64_t offset, const std::byte* from, std::size_t bytes, pool_step step);
  // Waits for the device; 0 or errno's value. May be called beside the others, by another thread.
  [[nodiscard]] int sync_file() const noexcept;
  // What was flushed is where it stays after it. Throws bad_file where the device fails; then nothing is known of what
  // was flushed since the last fence.
  void fence(pool_step step) {
    // Who is killed has done its stores in their order, as the kernel and whoever opens the file next see them: the
    // compiler must keep it.
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (is_needed()) fence_slow(step);
  }

  // Whether flushes do anything.
  [[nodiscard]] bool is_needed() const noexcept { return is_needed_; }
  // Whether a fence has failed, or the device at a write, or fail() was called. The kernel may take pages that it could
  // not write for written: a fence that succeeds afterwards says nothing of them.
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
