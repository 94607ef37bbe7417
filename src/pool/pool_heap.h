// The allocator of a pool: runs of chunks, and slabs of blocks, with the size classes of a place's segment
// (memory/heap_map.h). Unlike the segment's heap it allocates in two steps. A transaction *takes* blocks, which changes
// nothing in the file; its commit *publishes* them through the log, with all other changes. A block belongs to its
// transaction until then, so a process that is killed before leaks nothing. docs/decisions/0021-pools.md says why the
// segment's heap cannot do this.
//
//   in the file:  the map (the kind of each run); in each slab a bit for each live block
//   in memory:    taken blocks, free runs, slabs that may have room: rebuilt at each opening
//
// Invariants
//   1. A block is live in the file iff a complete transaction has published it, and none has published its end.
//   2. slab::taken = live in the file + taken by the current transaction; slab::leaving is a subset of it: the going
//      blocks, which the transaction gives back. No going block is taken again before the commit is complete.
//   3. Free runs are the chunks that no run of the file covers and no transaction has taken. They have no entry in the
//      map.
//   4. Slabs are read when they are first needed; until then they are known by their number alone, and count as having
//      room.
//
// Not thread-safe: one transaction at a time.
#pragma once

#include "pool/format.h"
#include "pool/plain_list.h"
#include "pool/pool_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace situ::detail {

// Free chunks as runs, merged with their neighbours. take() uses best fit: the smallest run that is large enough.
class chunk_runs {
 public:
  void insert(std::uint32_t first, std::uint32_t chunks);
  // Takes a run of this many chunks. Returns its first chunk, or no_chunk.
  [[nodiscard]] std::uint32_t take(std::uint32_t chunks);
  // Takes these chunks. Returns false if not all of them are free.
  [[nodiscard]] bool take_at(std::uint32_t first, std::uint32_t chunks);
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  // Returns the length of the run that begins at this chunk; 0 if none does.
  [[nodiscard]] std::uint32_t chunks_at(std::uint32_t first) const noexcept;
  // Returns the length of the run that ends at the end of the heap; 0 if none does.
  [[nodiscard]] std::uint32_t chunks_before(std::uint32_t end) const noexcept;

 private:
  std::map<std::uint32_t, std::uint32_t> by_first_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_size_;
  std::uint64_t total_ = 0;
};

// A word of the allocator in the file, and the value that a commit stores there.
struct heap_word {
  std::uint64_t* at;
  std::uint64_t value;
};

class pool_heap {
 public:
  explicit pool_heap(pool_file& file) noexcept : file_{file} {}

  // Rebuilds all state from the map. A reader at the pool's own addresses only validates the map, and may then only
  // `look` and count. Throws bad_file.
  void read();
  // Reads these words of the file, which other processes have changed; the heap may have grown to file_.chunks(). No
  // transaction may be running. Throws bad_file; then call read().
  void follow(std::vector<std::uint64_t>& offsets);

  // --- for a transaction ---

  struct mark {
    std::size_t fresh = 0;
    std::size_t going = 0;
  };
  // Returns the current position, for undo and is_fresh. Blocks taken later are not joined with earlier ones.
  [[nodiscard]] mark here() noexcept {
    may_join_ = false;
    return {fresh_.size(), going_.size()};
  }
  // Takes a block for the transaction, and grows the pool if needed. Throws out_of_memory.
  [[nodiscard]] std::byte* take(std::size_t bytes, std::size_t alignment);
  // Takes `count` blocks, one for each of to[0], to[distance], ...
  void take_many(std::size_t bytes, std::size_t alignment, std::size_t count, std::byte** to, std::size_t distance);
  // Gives a block back; it is freed when the transaction completes. Throws bad_address.
  void give_back(const void* block);
  // Cancels all blocks taken and given back since a position.
  void undo(mark from);
  // Returns whether a range lies in a block that was taken since a position.
  [[nodiscard]] bool is_fresh(mark from, const void* at, std::size_t bytes) const noexcept {
    // It looks at the last few blocks, since a new object is mostly set at once. The caller takes a snapshot if it
    // finds none, which is also correct.
    constexpr std::size_t looked_at = 16;
    std::size_t left = std::min(fresh_.size() - from.fresh, looked_at);
    for (const block_ref* each = fresh_.end(); left != 0; --left) {
      --each;
      const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - each->at);
      if (offset <= each->bytes && bytes <= each->bytes - offset) return true;
    }
    return false;
  }
  // Returns whether this is the start of a block that will be live when the transaction completes.
  [[nodiscard]] bool is_block(const void* at);
  // The position of a block: index is its number in a slab, 0 in a large run.
  struct place {
    std::uint32_t first;  // first chunk of the block's run
    std::uint32_t index;
    std::uint64_t offset;  // in the file
    std::uint64_t bytes;
    std::uint64_t run_end;
    [[nodiscard]] std::uint64_t check_offset() const noexcept { return object_check_offset(run_end, index); }
  };
  // Finds the block, live or not, that contains an offset in the file, without reading slabs into memory.
  [[nodiscard]] bool locate(std::uint64_t offset, place& into) const noexcept;
  [[nodiscard]] place block_of(std::uint32_t first, std::uint32_t index) const noexcept;
  [[nodiscard]] bool is_live(const place& block) const noexcept;
  // Returns whether a complete transaction has published the block, and the current one does not give it back.
  [[nodiscard]] bool stays_live(const place& block) const noexcept;
  // Returns how many blocks a run may have, by its first chunk; 0 for other chunks.
  [[nodiscard]] std::uint32_t most_blocks(std::uint32_t chunk) const noexcept;
  [[nodiscard]] bool has_fresh() const noexcept { return !fresh_.empty(); }
  [[nodiscard]] bool is_changed() const noexcept { return !fresh_.empty() || !going_.empty(); }

  // Returns the words to change, by ascending address, without duplicates. Headers of new slabs are written at once,
  // since they are not reachable yet.
  void plan(std::vector<heap_word>& words);
  // Replaces plan() if one word is all that changes: the transaction took blocks in one word of a published slab.
  [[nodiscard]] bool plan_one(heap_word& into) noexcept {
    is_one_word_ = false;  // a failed commit may have set it
    if (fresh_.size() != 1 || !going_.empty()) return false;
    const block_ref& blocks = fresh_.front();
    const slab* const of = blocks.of;
    const std::uint32_t word = blocks.index / 64;
    if (of == nullptr || !of->is_published || (blocks.index + blocks.count - 1) / 64 != word) return false;
    into = {of->live + word, of->taken[word]};
    is_one_word_ = true;
    return true;
  }
  // Calls visit(at, bytes) for each new range that must be flushed.
  void for_each_fresh(const std::function<void(const std::byte*, std::size_t)>& visit) const;
  // Calls visit(place of the first block, count) for each sequence of adjacent taken blocks.
  template <class Visit>
  void for_each_taken(Visit visit) const {
    for (const block_ref& each : fresh_) visit(block_of(each.first, each.of == nullptr ? 0 : each.index), each.count);
  }
  // Updates the memory state after the words are changed and the transaction is complete.
  void complete() {
    if (!is_one_word_) return complete_all();
    is_one_word_ = false;
    fresh_.clear();
    may_join_ = false;
  }

  // --- for the log ---

  // Takes chunks that no run in the file covers, until free_log_runs. Throws out_of_memory.
  [[nodiscard]] std::uint32_t take_log_run(std::uint64_t chunks);
  void free_log_runs() {
    if (!log_runs_.empty()) [[unlikely]]
      free_all_log_runs();
  }

  // --- to look at ---

  [[nodiscard]] std::uint64_t free_chunks() const noexcept { return free_.total(); }
  // Visits and counts the blocks in the first `chunks` chunks of the file, and adds faults to into.damage. It reads the
  // file alone, so it works without a transaction.
  void look(pool_findings& into, std::uint32_t chunks, const std::function<void(void*, std::size_t)>* visit) const;
  // Returns the end of the last run in the file, in chunks; all chunks behind it are free.
  [[nodiscard]] std::uint64_t used_chunks() const noexcept;
  // Returns how many of the file's first `chunks` chunks are in no run.
  [[nodiscard]] std::uint64_t count_free(std::uint32_t chunks) const noexcept;

 private:
  struct slab {
    std::uint32_t first = 0;
    std::uint8_t size_class = 0;
    bool is_published = false;
    bool is_listed = false;  // in partial_
    std::uint32_t used = 0;  // number of taken blocks
    std::uint32_t going = 0;
    std::uint32_t hint = 0;         // no word before this one has room
    std::uint32_t blocks = 0;       // capacity
    std::uint32_t block_bytes = 0;  // size of a block
    std::byte* first_block = nullptr;
    std::uint64_t* live = nullptr;  // the words of the slab's header
    std::array<std::uint64_t, 16> taken{};
    std::array<std::uint64_t, 16> leaving{};
  };
  // Blocks that were taken or are going. In a slab: adjacent blocks that were taken one after the other are one entry,
  // from `index` on. A large run has no slab, and `index` is its number of chunks.
  struct block_ref {
    std::byte* at;
    std::size_t bytes;  // of all blocks; unused for blocks that are going
    slab* of;           // null: a large run
    std::uint32_t first;
    std::uint32_t index;
    std::uint32_t count;  // number of blocks
  };
  enum class large_state : std::uint8_t { taken, live, going };
  struct large_run {
    std::uint32_t chunks = 0;
    large_state state = large_state::live;
    bool is_published = true;
  };

  [[nodiscard]] std::byte* address(std::uint32_t chunk) const noexcept {
    return file_.base() + file_.heap_offset() + std::uint64_t{chunk} * chunk_bytes;
  }
  [[nodiscard]] slab_header* header_of(std::uint32_t first) const noexcept {
    return reinterpret_cast<slab_header*>(address(first));
  }
  [[nodiscard]] std::uint64_t* map_word(std::uint32_t chunk) const noexcept {
    return file_.at<std::uint64_t>(file_.map_offset()) + chunk;
  }
  [[nodiscard]] std::byte* block_at(const slab& of, std::uint32_t index) const noexcept {
    return address(of.first) + sizeof(slab_header) + std::size_t{index} * size_classes[of.size_class].bytes;
  }
  [[nodiscard]] std::uint32_t take_run(std::uint64_t chunks);
  void free_all_log_runs();
  void lengthen_by(std::uint32_t asked);  // until a run of this many chunks is free
  void make_pages(std::uint32_t first, std::uint32_t chunks);
  [[nodiscard]] slab& load(std::uint32_t first);
  [[nodiscard]] slab& slab_with_room(unsigned size_class);
  [[nodiscard]] slab& make_slab(unsigned size_class);
  void complete_all();
  void make_place(slab& in) const noexcept;
  [[nodiscard]] std::byte* take_of(slab& from);
  void note_fresh(std::byte* block, slab& of, std::uint32_t index);
  [[nodiscard]] std::byte* take_any(std::size_t bytes, std::size_t alignment);
  void touch(const block_ref& blocks);
  void set_place(place& into, std::uint32_t first, std::uint32_t index) const noexcept;
  [[nodiscard]] std::byte* take_large(std::size_t bytes);
  [[nodiscard]] bool find(const void* at, block_ref& into);
  [[nodiscard]] bool is_live(const block_ref& block);
  void list(slab& of);
  void unlist(slab& of);
  void free_slab(slab& of);
  void note_slab(std::uint32_t first, const run_entry& entry) noexcept {
    std::uint32_t* const of = first_of_.data() + first;
    of[0] = first + 1;  // most slabs have one chunk
    for (std::uint32_t i = 1; i < entry.chunks; ++i) of[i] = first + 1;
    class_of_slab_[first] = entry.size_class;
    ++slab_count_[entry.size_class];
  }
  template <class Visit>
  void for_each_run(Visit visit) const;
  void lengthen(std::uint32_t chunks);
  [[nodiscard]] run_entry entry_of(std::uint32_t chunk) const;
  void drop_run(std::uint32_t first);
  void follow_slab(std::uint64_t offset);
  void plan_slab(slab& of, std::span<const std::uint64_t> touched, std::vector<heap_word>& words);
  void look_at_slab(pool_findings& into, std::uint32_t first, std::uint8_t size_class,
                    const std::function<void(void*, std::size_t)>& add) const;

  pool_file& file_;
  chunk_runs free_;
  std::vector<std::uint32_t> first_of_;       // by chunk: 1 + the first chunk of its slab; 0: in no slab
  std::vector<std::uint8_t> class_of_slab_;   // by the slab's first chunk
  std::vector<std::unique_ptr<slab>> slabs_;  // by the first chunk; null: not read yet
  std::map<std::uint32_t, large_run> large_;  // by the first chunk
  std::array<std::vector<std::uint32_t>, class_count> partial_;  // slabs that may have room
  std::array<std::uint32_t, class_count> slab_count_{};
  // paged_to_: of the chunks that the heap has gained while open, those before it have been used for slabs, or have
  // their pages already; 0: it has gained none. ahead_: how many chunks get their pages at once.
  std::uint32_t paged_to_ = 0;
  std::uint32_t ahead_ = 1;
  plain_list<block_ref> fresh_;
  bool may_join_ = false;  // the next block with the last entry of fresh_
  std::vector<block_ref> going_;
  // State of the current commit: whether its plan is one word, slabs that it removes from the map, slabs that it adds,
  // and words of slabs that it changes.
  bool is_one_word_ = false;
  std::vector<std::uint32_t> emptied_;
  std::vector<std::uint32_t> new_heads_;
  std::vector<std::uint64_t> touched_;  // 16 * first chunk + index of the word
  std::vector<std::pair<std::uint32_t, std::uint32_t>> log_runs_;
};

}  // namespace situ::detail
