// A pool whose addresses are taken, opened for reading elsewhere: the pointers that its objects hold are made right in
// this process's own copy of its pages, from each root on when it is first asked for, by the descriptors of its types.
//
// A block holds objects of one type, one behind another: what a transaction has taken and not asked for is zero
// (docs/formats/pool.md), so elements that are none have no pointers. A pointer may lead to any of them, and to nothing
// within them: else it is refused, as damage. What leads out of the pool stays as it is, and means as little as before.
//
// Not thread-safe: under the pool's lock.
#pragma once

#include "pool/pool_file.h"
#include "pool/pool_heap.h"

#include <situ/graph/detail/descriptor.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <unordered_map>
#include <vector>

namespace situ::detail {

class relocation {
 public:
  relocation(pool_file& file, pool_heap& heap) noexcept : file_{file}, heap_{heap} {}
  // Makes right all that can be reached from an object of this type by declared pointers. Throws bad_file where two
  // types claim one block, not_supported for types that are derived from situ::object; and so again from then on, since
  // some pointers are right and others are not.
  void move_from(const std::byte* object, const type_descriptor& type);

 private:
  struct block_of {
    std::byte* at;
    std::size_t bytes;
    const type_descriptor* type;
  };
  void move_all();
  void reach(const std::byte* target, const type_descriptor& type);
  void move_block(const block_of& block);
  void move_object(std::byte* object, const type_descriptor& type);
  void move_ops(std::byte* object, const std::vector<op>& ops);
  void move_elements(std::byte* word, const type_descriptor& block);
  void move_pointer(std::byte* word, const type_descriptor& target);
  // Where it leads now; null where it does not lead into the pool.
  const std::byte* move_word(std::byte* word) const;

  pool_file& file_;
  pool_heap& heap_;
  std::unordered_map<const std::byte*, const type_descriptor*> moved_;  // by where a block starts
  std::vector<block_of> to_move_;
  std::exception_ptr failure_;
};

}  // namespace situ::detail
