// Corrects the pointers of a pool that is mapped at other addresses than they refer to, from roots on, by the
// descriptors of their types. For a reader whose addresses are taken it does so in private copies of the pages, for
// everything that a root reaches, when the root is first requested. For a writer that has the pool alone it does so in
// the file, for all roots (move.cpp).
//
// A block holds objects of one type, one behind another. The allocated bytes behind them are zero
// (docs/formats/pool.md), so they have no pointers. A pointer may refer to any of the objects, but not into their
// interior: else it is refused as damage. Pointers out of the pool stay unchanged, and are as invalid as before.
//
// After an interrupted move in the file, some pointers refer to the old place, others to the new one. The two places
// have no address in common, so each pointer tells to which it refers.
//
// When a pointer is found, its target's block is noted, but not visited yet: runs with noted blocks queue up, and the
// blocks of a run are visited by ascending address. So objects are read sequentially, however they refer to each other;
// only the notes, which are some 30 times smaller, are accessed at random. Not thread-safe: the caller holds a lock of
// the pool.
#pragma once

#include "pool/page_maker.h"
#include "pool/pool_file.h"
#include "pool/pool_heap.h"

#include <situ/graph/detail/descriptor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

namespace situ::detail {

class relocation {
 public:
  relocation(pool_file& file, pool_heap& heap) noexcept : file_{file}, heap_{heap} {}

  // A root's object, by its offset and type.
  struct start {
    std::uint64_t offset;
    const type_descriptor* type;
  };
  // Corrects pointers in private copies of the pages. Throws bad_file if two types claim one block, not_supported for
  // types that derive from situ::object. After an exception each later call throws it again, since some pointers are
  // correct and others are not.
  void move_from(const start& root);
  // Corrects pointers in the file for a pool at `to`, and flushes each object. Throws as move_from, and may be called
  // again. Returns the bytes of the visited blocks.
  std::uint64_t move_all(const std::vector<start>& roots, std::uint64_t to);

 private:
  void expect_writes(const pool_heap::place& block);
  void expect_pages();
  void move_queued();
  void note(const start& target);
  void settle_note();
  void visit_run(std::uint32_t first);
  void visit_block(std::uint32_t first, std::uint32_t index);
  void move_objects(const pool_heap::place& block, const type_descriptor& type, std::uint64_t to);
  void move_checked(const pool_heap::place& block, const type_descriptor& type);
  void move_object(std::byte* object, const type_descriptor& type);
  void move_ops(std::byte* object, const std::vector<op>& ops);
  void move_elements(std::byte* word, const type_descriptor& block);
  void move_pointer(std::byte* word, const type_descriptor& target);
  // Returns the offset of the target; 0 if the word does not point into the pool.
  std::uint64_t move_word(std::byte* word) const;
  void make_table();
  [[noreturn]] void refuse(const pool_heap::place& block, std::uint64_t within, std::uint16_t known,
                           const type_descriptor& type) const;

  pool_file& file_;
  pool_heap& heap_;
  // Indexed by block: the index of the type by which it was found; 0: not found.
  std::vector<std::uint16_t> found_as_;
  std::vector<const type_descriptor*> types_;  // by index; null: not found yet
  // Indexed by the first chunk of a run:
  std::vector<std::uint64_t> blocks_before_;             // in found_as_
  std::vector<std::array<std::uint64_t, 16>> to_visit_;  // a bit for each block
  std::vector<bool> is_queued_;
  std::vector<std::uint32_t> queue_;
  // Notes that wait for a prefetch; the oldest is settled first.
  struct waiting_note {
    pool_heap::place block;
    std::uint64_t within;
    const type_descriptor* type;
  };
  static constexpr std::size_t most_notes = 32;
  std::array<waiting_note, most_notes> notes_{};
  std::size_t notes_made_ = 0;
  std::size_t notes_settled_ = 0;
  std::uint64_t to_ = 0;
  bool is_flushed_ = false;
  std::optional<page_maker> pages_;    // while pointers are corrected
  std::vector<std::uint8_t> runs_in_;  // for a reader, by piece of pages: number of visited or queued runs, up to a
                                       // limit
  std::uint64_t visited_bytes_ = 0;
  std::exception_ptr failure_;
};

}  // namespace situ::detail
