// Who has the file of a pool open, by locks of the kernel: on bytes that no file has (from 2^62 on), of open file
// descriptions (F_OFD_SETLK). The kernel takes them back when their holder ends, however it ends, and no copy of the
// file and no reboot knows of them; so they say what words in the file cannot.
//
//   gate      who opens or closes, one after the other: what else they find here stays so while they look
//   area      shared by those who share the pool; whoever gets it alone is the first, and sets up what they share
//   writers   shared by those of them who write
//   still     shared by those who read and cannot follow a writer: nobody writes meanwhile
//   slots     a byte for each of those who share: who holds it lives
//
// Whoever has the pool alone has area, writers and still alone. A child of a process has its open files, and so keeps
// its locks; what that means for slots is sharing.h's matter. Not thread-safe.
#pragma once

#include <cstdint>

namespace situ::detail {

// In which company a pool is open.
enum class pool_company : std::uint8_t {
  alone,    // writes; nobody else has it
  writing,  // beside others
  reading,  // beside who writes
  still,    // reads; nobody writes
};

class pool_openers {
 public:
  // The descriptor stays the caller's.
  explicit pool_openers(int descriptor, bool is_writable) noexcept
      : descriptor_{descriptor}, is_writable_{is_writable} {}

  // False where the time is over, or, with errno, where the file system has no such locks.
  [[nodiscard]] bool pass_gate(std::uint64_t patience_ns) const noexcept;
  void leave_gate() const noexcept;

  // Why somebody cannot come in. not_told: the kernel does not say who has the file; errno has its reason.
  enum class refusal : std::uint8_t { none, is_alone, is_written, is_still, is_open, not_told };
  // Within the gate.
  [[nodiscard]] refusal enter(pool_company as) noexcept;
  // Whether nobody shared it before.
  [[nodiscard]] bool is_first() const noexcept { return is_first_; }
  // Within the gate: whether nobody else shares it any more. Then nobody can come in either.
  [[nodiscard]] bool is_last() const noexcept;
  // Before the gate is left; who comes next is the first then.
  void leave_area() const noexcept;

  // Within the gate. False where somebody has it.
  [[nodiscard]] bool take_slot(std::uint32_t number) const noexcept;
  // Whether somebody else has it.
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
