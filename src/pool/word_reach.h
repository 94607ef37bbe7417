// What the roots of a pool may reach, told without types, as conservative collectors do (Boehm and Weiser, "Garbage
// Collection in an Uncooperative Environment", 1988): each aligned word of a block that holds an address within another
// live block counts as a pointer to it. So a block that is not reached this way has leaked; one that is reached may
// have leaked still, if a number happens to look like an address.
//
// The same words tell of lists that never end. The link of a block is the one block of its size, if there is exactly
// one, that it leads to. Where links lead in a ring, and a block outside the ring links into it, a list comes back to
// its own middle. (A ring that is entered from elsewhere alone is a circular list.)
//
// Reads the pool alone: no transaction may be under way. Not thread-safe.
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
  // pre: the structures of the pool are sound. Both outlive this object.
  word_reach(const pool_file& file, const block_table& blocks);

  // All that may be reached from the block that this byte lies in. cost: reading each block once.
  void add_root(std::uint64_t offset);
  [[nodiscard]] bool has(const block_table::block& each) const noexcept { return reached_[each.number]; }
  // Of what is reached: a sentence for each of the first lists that come back to their own middle. Two bits for each
  // block. cost: reading each block twice.
  [[nodiscard]] std::vector<std::string> find_endless_lists() const;

 private:
  using block = block_table::block;
  template <class Visit>
  void for_each_target(const block& of, Visit visit) const;
  // number none: it has none, or several.
  [[nodiscard]] block link_of(const block& of) const noexcept;

  const pool_file& file_;
  const block_table& blocks_;
  std::vector<std::uint64_t> bases_;  // that its pointers may count from
  std::uint64_t heap_begin_;
  std::uint64_t heap_bytes_;
  std::vector<bool> reached_;
  std::vector<block> to_walk_;
};

}  // namespace situ::detail
