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
// Objects are visited in the order in which they are found, some time after that: what is looked at then has been asked
// of the memory meanwhile. Not thread-safe: under a lock of the pool's.
#pragma once

#include "pool/pool_file.h"
#include "pool/pool_heap.h"

#include <situ/graph/detail/descriptor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
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
  void move_queued();
  void queue_ahead();
  void visit(const start& next);
  void move_object(std::byte* object, const type_descriptor& type);
  void move_ops(std::byte* object, const std::vector<op>& ops);
  void move_pointer(std::byte* word, const type_descriptor& target);
  void make_table();
  [[noreturn]] void refuse_second_type(std::uint64_t block, std::uint16_t known, const type_descriptor& type) const;

  pool_file& file_;
  pool_heap& heap_;
  // By block, what it was visited as: the index of a type, 0 for not at all.
  std::vector<std::uint16_t> visited_;
  std::vector<std::uint64_t> blocks_before_;   // in visited_, by the first chunk of a run
  std::vector<const type_descriptor*> types_;  // by index, where there were some
  std::vector<start> found_;
  static constexpr std::size_t most_ahead = 16;  // more than the memory can be asked for at once brings nothing
  std::array<start, most_ahead> ahead_{};
  std::size_t first_ahead_ = 0;
  std::size_t ahead_count_ = 0;
  std::uint64_t to_ = 0;
  bool is_flushed_ = false;
  std::uint64_t visited_bytes_ = 0;
  std::exception_ptr failure_;
};

}  // namespace situ::detail
