// The banks of a device: the map of free rows under a lock for each bank, and a table of what begins at each granule.
//
// A granule is numbered subarray * rows + row. Its word in the table is
//
//     0                     no block begins here
//     extent                a block that a thread has freed and keeps (thread_blocks)
//     extent | live_bit     a block that the program has
//
// where an extent is the number of subarrays (15 bits) and of rows (16 bits). Only the thread that has a block, or
// keeps it, changes its word, so the table has no lock; words are atomic because an error's message reads those of
// others.
//
// Invariants: a row is free in the map exactly if no block in the table has it, but for the moments between a change of
// the map and of the table, by the thread that changes both. A thread takes several banks' locks in their order.
//
// Thread-safe.
#pragma once

#include <situ/pim/geometry.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "os/mapping.h"
#include "pim/row_map.h"
#include "pim/short_lock.h"

namespace situ::pim::detail {

using extent = std::uint32_t;
using granule = std::uint32_t;
inline constexpr granule no_granule = ~granule{0};
inline constexpr std::uint32_t live_bit = std::uint32_t{1} << 31;

// pre: at most 32767 subarrays and 65535 rows.
constexpr extent extent_of(std::uint32_t subarrays, std::uint32_t rows) noexcept { return subarrays << 16 | rows; }
constexpr std::uint32_t subarrays_of(extent of) noexcept { return (of & ~live_bit) >> 16; }
constexpr std::uint32_t rows_of(extent of) noexcept { return of & 0xffff; }

// A copy refers to the same words. Relaxed: the thread that has or keeps a block wrote its word, or got it by a lock.
class block_table {
 public:
  explicit block_table(std::uint32_t* words) noexcept : words_{words} {}
  [[nodiscard]] std::uint32_t word(granule at) const noexcept {
    return std::atomic_ref{words_[at]}.load(std::memory_order_relaxed);
  }
  void set_live(granule at, extent of) const noexcept { store(at, of | live_bit); }
  void set_kept(granule at, extent of) const noexcept { store(at, of); }
  void set_none(granule at) const noexcept { store(at, 0); }

 private:
  void store(granule at, std::uint32_t word) const noexcept {
    std::atomic_ref{words_[at]}.store(word, std::memory_order_relaxed);
  }

  std::uint32_t* words_;
};

class banks {
 public:
  // Throws out_of_memory if there is none for the map or the table. cost: touches both, up to a table of 64 MiB, so
  // that no allocation does it first.
  banks(const geometry& shape, bool is_across_banks);

  // Takes the first rectangle in the home bank, else in those after it, else across banks if that is allowed. Returns
  // no_granule if there is none; a room that moves between banks meanwhile may be missed. pre: an extent that the
  // device can have.
  [[nodiscard]] granule allocate(extent wanted, std::uint32_t home);
  // Takes the first rectangle in one bank. pre: the bank exists; an extent that it can have.
  [[nodiscard]] granule allocate_in(extent wanted, std::uint32_t bank);
  // As allocate(), under the locks of all banks: no_granule means that at one moment there was none.
  [[nodiscard]] granule allocate_surely(extent wanted, std::uint32_t home);
  // Takes rows of the same subarrays as a block.
  [[nodiscard]] granule allocate_beside(const block& other, std::uint32_t rows);
  // Makes a block's rows free. pre: the caller has the block, or keeps it.
  void release(granule at);

  [[nodiscard]] const block_table& table() const noexcept { return table_; }
  [[nodiscard]] const geometry& shape() const noexcept { return map_.shape(); }
  [[nodiscard]] block block_at(granule at, extent of) const noexcept {
    return {at / shape().rows, at % shape().rows, subarrays_of(of), rows_of(of)};
  }
  // Returns the free granules of all banks: a sum of moments.
  [[nodiscard]] std::uint64_t free_granules() const noexcept;
  // Calls read(map) under all locks. cost: nobody allocates or releases meanwhile.
  template <class Read>
  auto read_map(Read read) const {
    const locked held{*this, 0, shape().banks - 1};
    return read(map_);
  }

 private:
  struct alignas(64) padded_lock {
    short_lock lock;
  };
  // Holds the locks of the banks first .. last.
  class locked {
   public:
    locked(const banks& of, std::uint32_t first, std::uint32_t last) noexcept : of_{of}, first_{first}, last_{last} {
      for (std::uint32_t b = first; b <= last; ++b) of.locks_[b].lock.lock();
    }
    ~locked() {
      for (std::uint32_t b = first_; b <= last_; ++b) of_.locks_[b].lock.unlock();
    }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

   private:
    const banks& of_;
    std::uint32_t first_, last_;
  };

  granule enter(row_map::place taken, extent of) const noexcept;
  [[nodiscard]] std::uint32_t bank_of(std::uint32_t subarray) const noexcept { return subarray / shape().subarrays; }

  row_map map_;
  bool is_across_banks_;
  std::unique_ptr<padded_lock[]> locks_;
  os::mapping table_pages_;
  block_table table_;
};

}  // namespace situ::pim::detail
