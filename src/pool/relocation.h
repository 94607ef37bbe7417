// The pointers of a pool that lies elsewhere than where they lead: made right, from roots on, by the descriptors of
// their types. Either in this process's own copy of the pages, of all that a root leads to when it is first asked for:
// for a reader whose addresses are taken. Or in the file, of all roots: for a writer that has the pool alone
// (move.cpp).
//
// A block holds objects of one type, one behind another: what a transaction has taken and not asked for is zero
// (docs/formats/pool.md), so elements that are none have no pointers. A pointer may lead to any of them, and to nothing
// within them: else it is refused, as damage. What leads out of the pool stays as it is, and means as little as before.
//
// Where a move in the file was cut, some pointers lead to where it was, others to where it was to be. The two places
// have no address in common, so each pointer says which it is.
//
// Who finds a pointer notes its target's block, and does not go there: runs that have noted blocks queue up, and those
// of a run are visited by rising address. So of the objects memory is read in stretches, however they lead to each
// other; only the notes, which are some 30 times smaller, are jumped about in. Not thread-safe: under a lock of the
// pool's.
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

  // A root's object, by its offset, and its type.
  struct start {
    std::uint64_t offset;
    const type_descriptor* type;
  };
  // In this process's copy of the pages. Throws bad_file where two types claim one block, not_supported for types that
  // are derived from situ::object; and so again from then on, since some pointers are right and others are not.
  void move_from(const start& root);
  // In the file, to lead to where it is when it lies at `to`; each object is flushed. Throws likewise, and may be done
  // again. Returns the bytes of the blocks that it has visited.
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
  // Where it leads, as an offset; 0 where it does not lead into the pool.
  std::uint64_t move_word(std::byte* word) const;
  void make_table();
  [[noreturn]] void refuse(const pool_heap::place& block, std::uint64_t within, std::uint16_t known,
                           const type_descriptor& type) const;

  pool_file& file_;
  pool_heap& heap_;
  // By block, what it was found as: the index of a type, 0 for not at all.
  std::vector<std::uint16_t> found_as_;
  std::vector<const type_descriptor*> types_;  // by index, where there were some
  // By the first chunk of a run:
  std::vector<std::uint64_t> blocks_before_;             // in found_as_
  std::vector<std::array<std::uint64_t, 16>> to_visit_;  // a bit for each block
  std::vector<bool> is_queued_;
  std::vector<std::uint32_t> queue_;
  // Notes that wait for memory, the first ones first.
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
  std::optional<page_maker> pages_;    // while pointers are moved
  std::vector<std::uint8_t> runs_in_;  // of a reader, by piece of pages: runs that were or will be visited, up to many
  std::uint64_t visited_bytes_ = 0;
  std::exception_ptr failure_;
};

}  // namespace situ::detail
