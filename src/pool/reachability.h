// Which blocks of a pool its roots reach, by the descriptors of their types. For the collector, and for who looks for
// leaks.
//
// A block holds objects of one type, one behind another, and zeroes behind them (docs/formats/pool.md): so all of it is
// walked as what it is reached as. Where it is reached as several types, as each of them: what any of them leads to is
// kept. Reads the file alone: no transaction may be under way. Not thread-safe.
#pragma once

#include "pool/format.h"
#include "pool/pool_file.h"

#include <situ/graph/detail/descriptor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace situ::detail {

// All blocks that the file may have, numbered by rising address, and which of them are live.
class block_table {
 public:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  struct block {
    std::uint64_t number = none;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t check_offset = 0;  // where objects have checks
  };

  // Of the first so many chunks. Throws bad_file where the map is damaged.
  block_table(const pool_file& file, std::uint32_t chunks);
  // The live block that a byte lies in; number none: there is none.
  [[nodiscard]] block find(std::uint64_t offset) const noexcept;
  // So many numbers there are.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  void for_each_live(const std::function<void(const block&)>& visit) const;

 private:
  struct run {
    std::uint64_t first_number;
    std::uint64_t blocks_offset;
    std::uint64_t bytes;      // of a block
    std::uint32_t blocks;     // that it has room for
    const slab_header* slab;  // null: one large block
    std::uint64_t end;
  };
  [[nodiscard]] static bool is_live(const run& in, std::uint64_t index) noexcept {
    return in.slab == nullptr || (in.slab->live[index / 64] >> index % 64 & 1) != 0;
  }
  [[nodiscard]] static block block_of(const run& in, std::uint64_t index) noexcept {
    return {in.first_number + index, in.blocks_offset + index * in.bytes, in.bytes, object_check_offset(in.end, index)};
  }
  void add(const pool_file& file, std::uint32_t first, const run_entry& entry);

  std::uint64_t heap_offset_;
  std::uint64_t size_ = 0;
  std::vector<run> runs_;
  std::vector<std::uint32_t> run_of_;  // by chunk: 1 + its number in runs_; 0: none
};

class reachability {
 public:
  reachability(const pool_file& file, const block_table& blocks) : file_{file}, blocks_{blocks} {
    reached_as_.resize(blocks.size());
  }

  // All that can be reached from an object. Throws bad_file where one derives from situ::object and names no type of
  // this program.
  void add_root(std::uint64_t offset, const type_descriptor& type);
  [[nodiscard]] bool has(const block_table::block& each) const noexcept { return reached_as_[each.number] != 0; }
  // As what it was reached first, of what has been reached.
  [[nodiscard]] const type_descriptor& type_of(const block_table::block& each) const {
    return *types_[reached_as_[each.number]];
  }
  // Pointers that lead to no object of the pool: how many, and what is said of the first ones.
  [[nodiscard]] std::uint64_t stray_pointers() const noexcept { return stray_pointers_; }
  [[nodiscard]] const std::vector<std::string>& told_of() const noexcept { return told_of_; }

 private:
  struct piece {
    std::uint64_t offset;
    std::uint64_t bytes;
    const type_descriptor* type;
  };
  void reach(std::uint64_t offset, const type_descriptor* type, std::uint64_t from);
  void walk();
  void walk_object(const std::byte* object, const type_descriptor& type);
  void walk_ops(const std::byte* object, const std::vector<op>& ops);
  void follow(const std::byte* word, const type_descriptor& type);
  void note_stray(std::uint64_t value, std::uint64_t from, const type_descriptor& type);

  const pool_file& file_;
  const block_table& blocks_;
  std::vector<std::uint16_t> reached_as_;      // by block: the index of the type it was first reached as
  std::vector<const type_descriptor*> types_;  // by index
  std::set<std::pair<std::uint64_t, const type_descriptor*>> reached_again_;
  std::vector<piece> to_walk_;
  std::uint64_t stray_pointers_ = 0;
  std::vector<std::string> told_of_;
};

}  // namespace situ::detail
