// The log of a pool that is not written in place: the changes of complete transactions, in commit order.
//
// The pool is mapped privately: a transaction's stores reach no file. Its commit appends one record with all changes
// and new objects, and waits for the device once; or, for batched transactions, a thread waits for several at a time.
// When the log is full, and when the pool is closed, a checkpoint writes the contents of the records to their places in
// the pool, and the log begins anew.
//
// Invariants
//   1. A record is valid if its check is correct and its number follows that of the record before it; the first record
//      has the number in the sequence word. So the valid records are those of the first n transactions since the last
//      checkpoint, whatever a crash has left of the next one.
//   2. Only a checkpoint writes to the places of objects, and only when all records that it writes are persistent.
//      Until the sequence word changes, replaying the records has the same result.
//   3. The first record after a checkpoint is written only when the new sequence word is persistent: else a crash could
//      leave the old word and an old first record, whose replay would write contents older than the pool's.
//   4. A record too large for the log is stored behind the heap, with its head in the log. A checkpoint follows at
//      once, before the heap grows, and cuts the file to its length.
//   5. Before the first append no record with a later number is stored behind the valid records: when the machine went
//      down, the device may have had such a record but not the one before it, whose number is given again
//      (forget_rest).
//
// Source: Mohan et al., ARIES (1992), for redo and checkpoints; SQLite's write-ahead log and LMDB as its rivals. Not
// thread-safe except sync_batched: one transaction at a time.
#pragma once

#include "pool/format.h"
#include "pool/pool_file.h"
#include "pool/pool_range.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace situ::detail {

class redo_log {
 public:
  explicit redo_log(pool_file& file) noexcept : file_{file} {}

  // Replays the file's records into this process's pages, which must be writable. Throws bad_file.
  void read();
  // Returns how many records the opening has replayed.
  [[nodiscard]] std::uint64_t replayed() const noexcept { return replayed_; }
  // Called by the writer before the first append: makes bytes behind the valid records invalid as records. Throws
  // bad_file. cost: reading the log.
  void forget_rest();
  // Returns whether a checkpoint must come before anything else.
  [[nodiscard]] bool has_spilled() const noexcept { return has_spilled_; }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return next_; }

  // Appends a record of the current contents of these ranges; with the machine's promise it is persistent afterwards.
  // Throws out_of_memory, and bad_file if the device fails; if it throws, the record is not part of the log.
  void append(const std::vector<pool_range>& ranges);
  // Returns whether the next record may not fit.
  [[nodiscard]] bool is_full() const noexcept;
  // Writes the contents of all records to their places. No transaction may be running. Throws bad_file if the device
  // fails.
  void checkpoint();
  // Waits until all appended records are persistent. Throws bad_file.
  void sync();
  // As sync, for another thread, while this one goes on appending. Returns 0 or the errno value.
  [[nodiscard]] int sync_batched() noexcept;
  [[nodiscard]] bool has_unsynced() const noexcept {
    return appended_.load(std::memory_order_acquire) != synced_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] bool read_record();
  void apply(const std::byte* body, std::uint64_t bytes, std::uint64_t where);
  void write_record(std::uint64_t at);
  void sync_within();
  [[nodiscard]] std::uint64_t spill_offset() const noexcept { return (file_.end() + 4095) / 4096 * 4096; }
  [[nodiscard]] std::uint64_t log_end() const noexcept { return pool_log_offset + file_.used_log_bytes(); }

  pool_file& file_;
  std::uint64_t here_ = pool_log_offset;  // position of the next record
  std::uint64_t next_ = 1;                // number of the next record
  std::uint64_t replayed_ = 0;
  std::vector<pool_range> dirty_;  // ranges that a checkpoint has to write
  bool has_spilled_ = false;       // the last record is stored behind the heap
  std::vector<std::byte> record_;  // the record being written: its head, then its body
  std::atomic<std::uint64_t> appended_ = 0;
  std::atomic<std::uint64_t> synced_ = 0;
  // One thread waits for the device at a time: the kernel reports a failure once, and a thread that misses the report
  // would take lost bytes for written.
  std::mutex device_;
  int failure_ = 0;  // errno value of a failed wait of the other thread
};

}  // namespace situ::detail
