// The log of a pool that is not written in place: what complete transactions have made of its bytes, in their order.
//
// The pool is mapped privately: what a transaction does to memory reaches no file. Its commit appends one record with
// all that it has changed and made, and waits for the device once; or, where transactions are batched, lets a thread
// wait for several at a time. When the log is full, and when the pool is closed, a checkpoint writes what the records
// say to where it belongs, and the log begins anew.
//
// Invariants
//   1. A record is valid while its check is right, and its number is the one after that of the record before it; the
//      first has the number that the sequence word says. So the valid records are those of the first so many
//      transactions since the last checkpoint, whatever a crash has left of the one after them.
//   2. Nothing but a checkpoint writes where objects lie, and only when all records of what it writes are where they
//      stay. Until the sequence word changes, replaying the records makes the same of it again.
//   3. The first record after a checkpoint is written only when the word is where it stays: else a crash could leave
//      the first record of before in front of it, and what it replays would be older than what lies there.
//   4. What the log has no room for lies behind the heap, with its head in the log. A checkpoint follows at once,
//   before
//      the heap grows, and cuts the file to its length.
//   5. Behind the valid records lies none with a later number when the first one is appended: a device may have had
//      such a one when the machine went down, and not the one before it, whose number is given again (forget_rest).
//
// Source: Mohan et al., ARIES (1992), for redo and checkpoints; SQLite's write-ahead log and LMDB as its rivals. Not
// thread-safe but for sync_batched: one transaction at a time.
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

  // Does what the file's records say, in this process's pages, which may be written. Throws bad_file.
  void read();
  // How many records the opening has found.
  [[nodiscard]] std::uint64_t replayed() const noexcept { return replayed_; }
  // For who writes, before the first append: what lies behind the records is none, for good. Throws bad_file. cost:
  // reading the log.
  void forget_rest();
  // Whether a checkpoint must come before anything else.
  [[nodiscard]] bool has_spilled() const noexcept { return has_spilled_; }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return next_; }

  // A record of what these ranges hold now; where the promise is the machine's it is where it stays afterwards. Throws
  // out_of_memory, and bad_file where the device fails: then the record is as if it had not been.
  void append(const std::vector<pool_range>& ranges);
  // Whether the next record may have no room.
  [[nodiscard]] bool is_full() const noexcept;
  // Brings all to where it belongs. No transaction may be under way. Throws bad_file where the device fails.
  void checkpoint();
  // Waits for what was appended. Throws bad_file.
  void sync();
  // The same for another thread, while this one goes on appending: 0 or errno's value.
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
  std::uint64_t here_ = pool_log_offset;  // where the next record goes
  std::uint64_t next_ = 1;                // its number
  std::uint64_t replayed_ = 0;
  std::vector<pool_range> dirty_;  // what a checkpoint has to write
  bool has_spilled_ = false;       // the last record lies behind the heap
  std::vector<std::byte> record_;  // that is being written: its head, then its body
  std::atomic<std::uint64_t> appended_ = 0;
  std::atomic<std::uint64_t> synced_ = 0;
  // One waits for the device at a time: the kernel tells of a failure once, and whoever does not hear of it would take
  // what was lost for written.
  std::mutex device_;
  int failure_ = 0;  // errno's value of a wait of the other thread's
};

}  // namespace situ::detail
