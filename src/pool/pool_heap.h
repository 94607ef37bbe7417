// The allocator of a pool: runs of chunks, slabs of blocks, as in a place's segment (memory/heap_map.h), by the same
// size classes. What makes it another one: here memory is given in two steps. A transaction *takes* blocks, which
// changes nothing in the file; its commit *publishes* them, by the log, with everything else. So a block belongs to its
// transaction until it is published, and who is killed before that has leaked nothing. docs/decisions/0021-pools.md
// says why the segment's heap cannot do it.
//
//   in the file: the map (what each run is), in each slab a bit for each block that is live
//   here:        what is taken, which runs are free, which slabs may have room: made anew at each opening
//
// Invariants
//   1. A block is live in the file iff a complete transaction has published it and none has published its end.
//   2. slab::taken = live in the file + taken by the transaction under way; slab::going is a subset of it: what the
//      transaction gives back. Nobody else gets a block that is going until the commit is complete.
//   3. Free runs are those chunks that no run of the file covers and nobody has taken. They hold no entry of the map.
//   4. Slabs are read when they are first needed; until then `runs_` has their number alone, and they count as having
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

// Free chunks as runs, merged with their neighbours; the smallest that is large enough is taken.
class chunk_runs {
 public:
  void insert(std::uint32_t first, std::uint32_t chunks);
  // The first of so many, or no_chunk.
  [[nodiscard]] std::uint32_t take(std::uint32_t chunks);
  // These; false where not all of them are free.
  [[nodiscard]] bool take_at(std::uint32_t first, std::uint32_t chunks);
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  // Of the run that begins here; 0: none does.
  [[nodiscard]] std::uint32_t chunks_at(std::uint32_t first) const noexcept;
  // Of the run that ends at the end of the heap.
  [[nodiscard]] std::uint32_t chunks_before(std::uint32_t end) const noexcept;

 private:
  std::map<std::uint32_t, std::uint32_t> by_first_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_size_;
  std::uint64_t total_ = 0;
};

// A word of the allocator in the file that a commit changes.
struct heap_word {
  std::uint64_t* at;
  std::uint64_t value;
};

class pool_heap {
 public:
  explicit pool_heap(pool_file& file) noexcept : file_{file} {}

  // Reads the map, whatever was read before; who neither writes nor lies at other addresses only looks whether it is
  // sound, and may then only `look` and count. Throws bad_file.
  void read();
  // Others have changed these words of the file, and may have made the heap longer, to file_.chunks(): takes over what
  // they hold now. No transaction may be under way. Throws bad_file; then it must be read anew.
  void follow(std::vector<std::uint64_t>& offsets);

  // --- for a transaction ---

  struct mark {
    std::size_t fresh = 0;
    std::size_t going = 0;
  };
  // What is taken afterwards is not joined with what was taken before.
  [[nodiscard]] mark here() noexcept {
    may_join_ = false;
    return {fresh_.size(), going_.size()};
  }
  // A block of the transaction's. Grows the pool. Throws out_of_memory.
  [[nodiscard]] std::byte* take(std::size_t bytes, std::size_t alignment);
  // So many at once, one for each of to[0], to[distance], ...
  void take_many(std::size_t bytes, std::size_t alignment, std::size_t count, std::byte** to, std::size_t distance);
  // Gives a block back once the transaction completes. Throws bad_address.
  void give_back(const void* block);
  // Of what was taken and given back since: nothing.
  void undo(mark from);
  // Whether a range lies in a block that was taken since.
  [[nodiscard]] bool is_fresh(mark from, const void* at, std::size_t bytes) const noexcept {
    // The last few: what was made is mostly set at once. What is not found is snapshotted, which is right, too.
    constexpr std::size_t looked_at = 16;
    std::size_t left = std::min(fresh_.size() - from.fresh, looked_at);
    for (const block_ref* each = fresh_.end(); left != 0; --left) {
      --each;
      const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - each->at);
      if (offset <= each->bytes && bytes <= each->bytes - offset) return true;
    }
    return false;
  }
  // Whether this is the start of a block that will be live once the transaction completes.
  [[nodiscard]] bool is_block(const void* at);
  // Where a block lies: of a slab its number, of a large run 0.
  struct place {
    std::uint32_t first;  // chunk of its run
    std::uint32_t index;
    std::uint64_t offset;  // in the file
    std::uint64_t bytes;
    std::uint64_t run_end;
    [[nodiscard]] std::uint64_t check_offset() const noexcept { return object_check_offset(run_end, index); }
  };
  // Which block an offset in the file lies in, live or not, without reading slabs into memory.
  [[nodiscard]] bool locate(std::uint64_t offset, place& into) const noexcept;
  [[nodiscard]] place block_of(std::uint32_t first, std::uint32_t index) const noexcept;
  [[nodiscard]] bool is_live(const place& block) const noexcept;
  // Whether a complete transaction has published it, and the one under way does not give it back.
  [[nodiscard]] bool stays_live(const place& block) const noexcept;
  // How many blocks each run may have, by its first chunk; 0 elsewhere.
  [[nodiscard]] std::uint32_t most_blocks(std::uint32_t chunk) const noexcept;
  [[nodiscard]] bool has_fresh() const noexcept { return !fresh_.empty(); }
  [[nodiscard]] bool is_changed() const noexcept { return !fresh_.empty() || !going_.empty(); }

  // The words to change, by rising address, without doubles; and heads of new slabs, which are written at once, since
  // nothing leads to them yet.
  void plan(std::vector<heap_word>& words);
  // Instead of it, where one word is all that changes: blocks of one word of a slab that is on the map were taken.
  [[nodiscard]] bool plan_one(heap_word& into) noexcept {
    is_one_word_ = false;  // a commit that failed may have been of one
    if (fresh_.size() != 1 || !going_.empty()) return false;
    const block_ref& blocks = fresh_.front();
    const slab* const of = blocks.of;
    const std::uint32_t word = blocks.index / 64;
    if (of == nullptr || !of->is_published || (blocks.index + blocks.count - 1) / 64 != word) return false;
    into = {of->live + word, of->taken[word]};
    is_one_word_ = true;
    return true;
  }
  // Of what is new: visit(at, bytes) for each range to flush.
  void for_each_fresh(const std::function<void(const std::byte*, std::size_t)>& visit) const;
  // Of blocks that were taken: visit(place of the first, how many lie one behind another).
  template <class Visit>
  void for_each_taken(Visit visit) const {
    for (const block_ref& each : fresh_) visit(block_of(each.first, each.of == nullptr ? 0 : each.index), each.count);
  }
  // The words are changed, and the transaction is complete.
  void complete() {
    if (!is_one_word_) return complete_all();
    is_one_word_ = false;
    fresh_.clear();
    may_join_ = false;
  }

  // --- for the log ---

  // Chunks that no run in the file covers, until free_log_runs. Throws out_of_memory.
  [[nodiscard]] std::uint32_t take_log_run(std::uint64_t chunks);
  void free_log_runs() {
    if (!log_runs_.empty()) [[unlikely]]
      free_all_log_runs();
  }

  // --- to look at ---

  [[nodiscard]] std::uint64_t free_chunks() const noexcept { return free_.total(); }
  // Of the file, its first so many chunks; needs no transaction under way. Adds to damage what is not sound.
  void look(pool_findings& into, std::uint32_t chunks, const std::function<void(void*, std::size_t)>* visit) const;
  // Behind the last run of the file there are none but free ones.
  [[nodiscard]] std::uint64_t used_chunks() const noexcept;
  // That no run of the file has, of its first so many.
  [[nodiscard]] std::uint64_t count_free(std::uint32_t chunks) const noexcept;

 private:
  struct slab {
    std::uint32_t first = 0;
    std::uint8_t size_class = 0;
    bool is_published = false;
    bool is_listed = false;  // in partial_
    std::uint32_t used = 0;  // taken blocks
    std::uint32_t going = 0;
    std::uint32_t hint = 0;         // no word before it has room
    std::uint32_t blocks = 0;       // that it has room for
    std::uint32_t block_bytes = 0;  // of each
    std::byte* first_block = nullptr;
    std::uint64_t* live = nullptr;  // the words of its header
    std::array<std::uint64_t, 16> taken{};
    std::array<std::uint64_t, 16> leaving{};
  };
  // A block that was taken or is going: of a slab its index, of a large run, which has no slab, its chunks. Blocks of a
  // slab that were taken one after the other and lie so are one entry.
  struct block_ref {
    std::byte* at;
    std::size_t bytes;  // of all of it; of those that are going: unused
    slab* of;           // null: a large run
    std::uint32_t first;
    std::uint32_t index;
    std::uint32_t count;  // of blocks
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
  void lengthen_by(std::uint32_t asked);  // until a run of so many is free
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
    of[0] = first + 1;  // most have one chunk
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
  std::vector<std::uint32_t> first_of_;       // by chunk: 1 + the first chunk of the slab that it lies in; 0: none
  std::vector<std::uint8_t> class_of_slab_;   // by the slab's first chunk
  std::vector<std::unique_ptr<slab>> slabs_;  // by the first chunk, where it was read
  std::map<std::uint32_t, large_run> large_;  // by the first chunk
  std::array<std::vector<std::uint32_t>, class_count> partial_;  // slabs that may have room
  std::array<std::uint32_t, class_count> slab_count_{};
  // Of what the heap has grown by while it was open, slabs have had all before this. Pages are made so far ahead.
  std::uint32_t paged_to_ = 0;
  std::uint32_t ahead_ = 1;
  plain_list<block_ref> fresh_;
  bool may_join_ = false;  // the next block with the last entry of fresh_
  std::vector<block_ref> going_;
  // Of the commit under way: whether its plan is one word; slabs that it takes off the map, slabs that it puts there,
  // words of slabs that it changes.
  bool is_one_word_ = false;
  std::vector<std::uint32_t> emptied_;
  std::vector<std::uint32_t> new_heads_;
  std::vector<std::uint64_t> touched_;  // 16 a first chunk
  std::vector<std::pair<std::uint32_t, std::uint32_t>> log_runs_;
};

}  // namespace situ::detail
