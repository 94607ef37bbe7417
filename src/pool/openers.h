// Finds out which processes have a pool's file open, by locks of the kernel on bytes beyond the end of any file (from
// 2^62 on), of open file descriptions (F_OFD_SETLK). The kernel releases a lock when its holder ends, for whatever
// reason, and copies of the file and reboots do not preserve it. So these locks say what words in the file cannot.
//
//   gate      held while a process opens or closes the pool, so that the state it finds does not change
//   area      shared by all processes that share the pool; a process that gets it alone is the first, and sets up
//             the area
//   writers   shared by the writers among them
//   still     shared by readers that cannot follow a writer: no writer may come in
//   slots     a byte for each sharing process: while it is locked, the process lives
//
// An opener that has the pool alone holds area, writers and still alone. A forked child has its parent's open files,
// and so keeps the locks; sharing.h deals with the consequence for slots. Not thread-safe.
#pragma once

#include <cstdint>

namespace situ::detail {

// Access of this opener and of the others.
enum class pool_company : std::uint8_t {
  alone,    // writes; no other opener
  writing,  // writes; others read and write
  reading,  // reads; others may write
  still,    // reads; no other opener writes
};

class pool_openers {
 public:
  // The caller keeps and closes the descriptor.
  explicit pool_openers(int descriptor, bool is_writable) noexcept
      : descriptor_{descriptor}, is_writable_{is_writable} {}

  // Returns false if the time is over, or, with another errno than EAGAIN, if the file system has no such locks.
  [[nodiscard]] bool pass_gate(std::uint64_t patience_ns) const noexcept;
  void leave_gate() const noexcept;

  // Reasons for not admitting an opener. not_told: the kernel does not name the holder; errno has its reason.
  enum class refusal : std::uint8_t { none, is_alone, is_written, is_still, is_open, not_told };
  // Admits this opener, or returns the reason for not admitting it. Called within the gate.
  [[nodiscard]] refusal enter(pool_company as) noexcept;
  // Returns whether no other opener shared the pool before.
  [[nodiscard]] bool is_first() const noexcept { return is_first_; }
  // Returns whether no other opener shares the pool any more. If so, none can come in either. Called within the gate.
  [[nodiscard]] bool is_last() const noexcept;
  // Releases the area before the gate is left; the next opener is then the first.
  void leave_area() const noexcept;

  // Locks a slot. Returns false if another opener has it. Called within the gate.
  [[nodiscard]] bool take_slot(std::uint32_t number) const noexcept;
  // Returns whether another opener has the slot.
  [[nodiscard]] bool has_slot(std::uint32_t number) const noexcept;

 private:
  [[nodiscard]] bool take(std::int64_t byte, short kind) const noexcept;
  [[nodiscard]] bool is_taken(std::int64_t byte) const noexcept;
  [[nodiscard]] refusal enter_alone() const noexcept;

  int descriptor_;
  bool is_writable_;
  bool is_first_ = false;
};

}  // namespace situ::detail
