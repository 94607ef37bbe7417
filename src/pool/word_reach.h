// Finds blocks that the roots of a pool may reach, without types, as conservative collectors do (Boehm and Weiser,
// "Garbage Collection in an Uncooperative Environment", 1988): each aligned word of a block that holds an address
// within another live block counts as a pointer to it. So a block that is not reached has leaked; a block that is
// reached may have leaked still, if a number happens to look like an address.
//
// These words also reveal lists that never end. The link of a block is the block of its own size to which it points, if
// there is exactly one. If links form a ring, and a block outside the ring links into it, a list leads back to its own
// middle. (A ring without such a block is a circular list.)
//
// It only reads the pool: no transaction may be running. Not thread-safe.
#pragma once

#include "pool/pool_file.h"
#include "pool/reachability.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace situ::detail {

class word_reach {
 public:
  // pre: the structures of the pool are sound. Both arguments outlive this object.
  word_reach(const pool_file& file, const block_table& blocks);

  // Marks everything that may be reached from the block that contains this byte. cost: reading each block once.
  void add_root(std::uint64_t offset);
  [[nodiscard]] bool has(const block_table::block& each) const noexcept { return reached_[each.number]; }
  // Returns a sentence for each of the first reached lists that lead back to their own middle. It uses two bits for
  // each block. cost: reading each block twice.
  [[nodiscard]] std::vector<std::string> find_endless_lists() const;

 private:
  using block = block_table::block;
  template <class Visit>
  void for_each_target(const block& of, Visit visit) const;
  // Returns the link of a block; number none: it has no link, or several candidates.
  [[nodiscard]] block link_of(const block& of) const noexcept;

  const pool_file& file_;
  const block_table& blocks_;
  std::vector<std::uint64_t> bases_;  // base addresses of its pointers
  std::uint64_t heap_begin_;
  std::uint64_t heap_bytes_;
  std::vector<bool> reached_;
  std::vector<block> to_walk_;
};

}  // namespace situ::detail
