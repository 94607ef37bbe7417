// Finds stores to a pool's objects that no snapshot covers, and the program's lines that made them.
//
// All pages of the heap are read-only for the program. A store to one faults: the handler opens the page, lets the
// processor execute this one instruction (its trap flag), and closes the page. The bytes that the instruction has
// changed must be covered: lie in a range that the innermost level has snapshotted, or in a block that it has taken.
// Their old contents are kept, so that the whole transaction can be rolled back.
//
//   store -> SIGSEGV: keep 64 bytes, open the page, set the trap flag -> the store -> SIGTRAP: compare, close the page
//
// Pages that are covered as a whole stay open until the level ends or another begins. The pool's own code announces its
// stores (engine_part): then pages are opened at their first fault, and closed at the end of that part.
//
// Invariants
//   1. Lists that a handler reads or writes belong to the thread that has the transaction, whose store the handler
//      serves; stores of other threads, and outside a transaction, go to `outside_`, under its lock.
//   2. Handlers allocate nothing: their lists have a fixed length, and only count entries beyond it.
// A store of one thread while another thread has the page open is not seen. On x86-64 alone; system calls that write
// into the pool's objects fail (EFAULT).
#pragma once

#include "pool/pool_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace situ::os {
struct fault_event;
}

namespace situ::detail {

class write_check {
 public:
  // Throws not_supported on another processor, or if too many pools are checked.
  explicit write_check(pool_file& file);
  ~write_check();
  write_check(const write_check&) = delete;
  write_check& operator=(const write_check&) = delete;

  // While it lives, stores of the calling thread count as the pool's own. Does nothing if `of` is null.
  class engine_part {
   public:
    explicit engine_part(write_check* of) noexcept : of_{of} {
      if (of != nullptr) [[unlikely]]
        enter();
    }
    ~engine_part() {
      if (of_ != nullptr) [[unlikely]]
        leave();
    }
    engine_part(const engine_part&) = delete;
    engine_part& operator=(const engine_part&) = delete;

   private:
    void enter() noexcept;
    void leave() noexcept;
    write_check* of_;
    write_check* before_ = nullptr;
  };

  // --- of the thread that has the transaction ---

  // Begins a level. Throws bad_argument if something was stored outside of transactions since the last one.
  void begin_level();
  void end_level(bool is_kept) noexcept;
  void cover(const void* at, std::size_t bytes);
  // Throws bad_argument if the innermost level has made stores that nothing covers.
  void expect_covered() const;
  // Restores the bytes that such stores of the innermost level have replaced: visit(at, bytes) for each.
  template <class Visit>
  void bring_back(Visit visit) {
    for (std::size_t i = std::min(stray_count_.load(), most_strays); i > levels_.back().strays; --i) {
      const stray& each = strays_[i - 1];
      if (each.bytes != 0) visit(restore(each), each.bytes);
    }
  }

  // --- of the handlers ---

  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept { return address >= begin_ && address < end_; }
  void on_fault(const os::fault_event& fault) noexcept;
  void on_step() noexcept;

 private:
  static constexpr std::size_t most_strays = std::size_t{1} << 16;  // adjacent ones are joined, up to 64 bytes
  static constexpr std::size_t window_bytes = 64;                   // no store is longer
  struct range {
    std::uintptr_t begin;
    std::uintptr_t end;
  };
  struct level {
    std::size_t covered;
    std::size_t strays;
  };
  struct stray {
    std::uintptr_t at;
    std::size_t bytes;
    std::uintptr_t code;    // of the store
    std::uintptr_t caller;  // in the program, if the store is in a library; 0: unknown
    std::byte before[window_bytes];
  };
  [[nodiscard]] static const std::byte* restore(const stray& each) noexcept;
  [[nodiscard]] bool is_covered(std::uintptr_t begin, std::uintptr_t end) const noexcept;
  [[nodiscard]] bool is_of_transaction() const noexcept;
  void note_stray(std::uintptr_t at, std::size_t bytes, const std::byte* before) noexcept;
  void close_pages() noexcept;
  void set_pages(std::uintptr_t address, std::size_t bytes, bool are_open) const noexcept;
  [[nodiscard]] std::string text_of(const stray* first, std::size_t count, std::size_t all) const;

  pool_file& file_;
  std::uintptr_t begin_;
  std::uintptr_t end_;
  std::atomic<int> owner_{0};  // the thread that has the transaction
  std::vector<range> covered_;
  std::vector<level> levels_;
  // The pages of these arrays are allocated at their first use.
  std::unique_ptr<stray[]> strays_ = std::make_unique_for_overwrite<stray[]>(most_strays);
  std::atomic<std::size_t> stray_count_{0};
  std::unique_ptr<stray[]> outside_ = std::make_unique_for_overwrite<stray[]>(most_strays);
  std::atomic<std::size_t> outside_count_{0};
  std::atomic_flag outside_lock_;
  // Addresses of open pages; 0: no page.
  static constexpr std::size_t most_open = 1024;
  std::array<std::uintptr_t, most_open> open_{};
  std::size_t open_count_ = 0;
};

}  // namespace situ::detail
