// Finds the blocks of a pool that its roots reach, by the descriptors of their types, for the collector and for leak
// checks.
//
// A block holds objects of one type, one behind another, and zeroes behind them (docs/formats/pool.md), so all of it is
// walked as the type by which it is reached. A block that is reached as several types is walked as each of them: all
// targets are kept. It reads the file alone: no transaction may be running. Not thread-safe.
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

// All blocks of the file, numbered by ascending address, and which of them are live.
class block_table {
 public:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  struct block {
    std::uint64_t number = none;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t check_offset = 0;  // valid if objects have checks
  };

  // Reads the first `chunks` chunks. Throws bad_file if the map is damaged.
  block_table(const pool_file& file, std::uint32_t chunks);
  // Returns the live block that contains a byte; its number is `none` if there is no such block.
  [[nodiscard]] block find(std::uint64_t offset) const noexcept;
  // Returns how many block numbers there are.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  void for_each_live(const std::function<void(const block&)>& visit) const;

 private:
  struct run {
    std::uint64_t first_number;
    std::uint64_t blocks_offset;
    std::uint64_t bytes;      // of a block
    std::uint32_t blocks;     // capacity
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
  std::vector<std::uint32_t> run_of_;  // by chunk: 1 + the number of its run in runs_; 0: in no run
};

class reachability {
 public:
  reachability(const pool_file& file, const block_table& blocks) : file_{file}, blocks_{blocks} {
    reached_as_.resize(blocks.size());
  }

  // Marks everything that an object reaches. Throws bad_file if an object derives from situ::object and its header
  // names no type of this program.
  void add_root(std::uint64_t offset, const type_descriptor& type);
  [[nodiscard]] bool has(const block_table::block& each) const noexcept { return reached_as_[each.number] != 0; }
  // Returns the type by which this block was first reached. pre: has(each).
  [[nodiscard]] const type_descriptor& type_of(const block_table::block& each) const {
    return *types_[reached_as_[each.number]];
  }
  // Pointers that lead to no object of the pool: their number, and messages about the first few.
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
  std::vector<std::uint16_t> reached_as_;      // by block: index of the type by which it was first reached
  std::vector<const type_descriptor*> types_;  // by index
  std::set<std::pair<std::uint64_t, const type_descriptor*>> reached_again_;
  std::vector<piece> to_walk_;
  std::uint64_t stray_pointers_ = 0;
  std::vector<std::string> told_of_;
};

}  // namespace situ::detail
