// The out-of-core executor: chains over datasets that lie in a backing store, tile by tile through windows in fast
// memory. Follows algorithm 1 of Reguly, Mudalige and Giles (Beyond 16GB, MCHPC 2017, section 4), with one change.
//
// A tile here is a group of the plan's tiles, which are cut for the cache: as many rows of them as the budget allows.
//
// A tile touches some layers of each dataset (a layer: all points with one index in the outermost dimension, or some
// such indices that make whole pages together; numbered from 0; tiles are cut there only). For dataset D and tile t the
// plan gives
//
//     first(t)  the lowest layer that tile t or a later one touches
//     last(t)   one past the highest that t or an earlier one touched
//
//          tile t-1        [------------------------)
//          tile t                   [------------------------)
//          tile t+1                          [------------------------)
//                          |written |  window of tile t       | read  |
//                          | back   |                         | ahead |
//                      first(t-1) first(t)                 last(t)  last(t+1)
//
// [first, last) is their full footprint; [first(t), first(t+1)) its left footprint, which is written back after
// tile t; [last(t-1), last(t)) its right footprint, which is read before; what tiles t and t+1 share is the right edge
// of the one and the left edge of the other. While tile t runs, the store gets the left footprint of tile t-1 and gives
// the right footprint of tile t+1: three slots.
//
// The change: they copy right edges to left edges, since their slots are separate buffers. Here the slots are
// consecutive parts of one ring for each dataset, mapped twice in a row, so that each window is contiguous and an edge
// is already where the next tile wants it. Layer s lies at (s * layer bytes + shift) modulo the ring. And where the
// budget has room, reads and writes are `depth` tiles ahead and behind, not one, so that neither a slow store nor a
// slow tile is waited for at once.
//
// The next chain is probably the same again, so while the last tile runs the first window of its successor is read
// ahead, to the places behind the last tile's window: positions go on from chain to chain, only the shift changes. Of
// that window only what earlier tiles have written back for good is read; the rest, and all that a different chain
// wants, is read when that chain begins.
//
// What is not moved: what a chain only reads is not written back. What a chain writes before it reads it is not
// read: decided layer by layer, if loops of the chain write all points that carry anything before any reads them; the
// layer is cleared instead. Cyclic temporaries are neither read nor written. Datasets of a chain that fit into the
// budget altogether are loaded once and stay in memory, where chains run as the tiled executor runs them; they are
// written back when another chain needs the room.
//
// Failures. A read or write that fails leaves the data as it was before the chain. A store that can fail has room for
// two versions of each layer: what is written back goes to the version that is not current, and the chain's last act is
// to make those layers current. Nothing is written twice. Datasets in memory (small ones) that the chain writes are
// copied before it.
//
// A chain in parts (chain_parts.h). Each part is a chain in what is said above, but for three things. What it does can
// be undone until the last part is complete: a third version of the layers of what it writes keeps what was current
// before the first. Nothing becomes resident. And cyclic temporaries are carried from part to part like all other data,
// as far as later parts read them.
#pragma once

#include "stencil/execute.h"
#include "stencil/memory.h"
#include "stencil/mirrored_ring.h"
#include "stencil/stream_plan.h"

#include <situ/stencil/backing_store.h>
#include <situ/stencil/context.h>

#include <map>
#include <optional>
#include <utility>

namespace situ::stencil {

// A dataset in the store, and what of it is in memory between chains.
struct stored {
  static constexpr int versions = 3;
  static constexpr std::uint64_t no_room = ~std::uint64_t{0};
  std::uint64_t offset[versions] = {no_room, no_room, no_room};  // of the versions; the same where the store cannot
                                                                 // fail. The third: once a chain in parts has needed it
  std::vector<std::uint8_t> current;                             // the version of each layer that is read
  std::vector<std::uint8_t>
      kept;             // the one that was current before the chain in parts that runs now; empty if none writes this
  box defined{{}, {}};  // around everything written so far
  box kept_defined{{}, {}};
  sourced_pages whole;  // all of it, if it is resident
  bool is_resident = false;
  layers changed;  // of a resident one: not in the store yet
  mirrored_ring ring;
  std::size_t shift = 0;
  layers held;  // of the ring: read ahead

  // Where what is written goes: neither what is current, nor what must be kept.
  [[nodiscard]] std::uint8_t next(int layer) const noexcept {
    const auto s = static_cast<std::size_t>(layer);
    std::uint8_t v = 0;
    while (v == current[s] || (!kept.empty() && v == kept[s])) ++v;
    return v;
  }
  void drop_ring() {
    ring = {};
    shift = 0;
    held = {};
  }
};

class slot_runner {
 public:
  slot_runner(chain_runner& runner, const options& how, const page_source& fast, std::uint64_t fast_bytes);
  ~slot_runner();
  slot_runner(const slot_runner&) = delete;
  slot_runner& operator=(const slot_runner&) = delete;

  [[nodiscard]] const backing_store& store() const noexcept { return *store_; }
  [[nodiscard]] std::uint64_t fast_bytes() const noexcept { return fast_bytes_; }
  void add(const dataset_core& data);
  void forget(const dataset_core& data);

  // Loads the datasets of a chain if they fit into the budget all together; false if they do not, or if room would have
  // to be made by a chain that may be an exception.
  [[nodiscard]] bool make_resident(std::span<const data_use> uses);
  // Before a chain over resident datasets.
  void note_changes(std::span<const data_use> uses);
  // dead: cyclic temporaries that no later part of the chain reads.
  void run(chain loops, const stream_plan& p, std::span<const data_use> uses, std::span<const dataset_core* const> dead,
           std::span<loop_time> times, chain_statistics& statistics);
  // Around the parts of one chain, each of which is run as above. abandon_parts() makes the data what it was before
  // begin_parts().
  void begin_parts(chain loops, std::span<const data_use> uses);
  void complete_parts() noexcept { end_parts(); }
  void abandon_parts() noexcept;
  // Calls f for parts of a box whose layers are in memory together, with the dataset's origin set; is_store: what f
  // changes is kept.
  void for_each_part(dataset_core& data, const box& what, bool is_store, const std::function<void(const box&)>& f);
  void count_bytes(chain_statistics& statistics) const;

 private:
  struct flow;  // a stream while its chain runs
  // What a failed chain must put back: the datasets in memory that it writes.
  struct undo {
    std::vector<std::pair<dataset_core*, std::vector<std::byte>>> saved;
    explicit undo(chain loops);
    void put_back() const noexcept;
  };
  enum class version : std::uint8_t { current, next };
  void move_window(const flow& f, backing_store::direction to, layers which, version v, int queue);
  void start_reads(std::span<flow> flows, int tile, int queue);
  void read_ahead(std::span<flow> flows);
  void start_writes(std::span<flow> flows, int tile, int queue);
  void run_tiles(chain loops, const stream_plan& p, std::span<flow> flows, std::span<loop_time> times,
                 chain_statistics& statistics);
  void prepare_rings(const stream_plan& p);
  // Which layers need not be read.
  [[nodiscard]] layers unread(const data_use& use) const;
  [[nodiscard]] bool is_carried(const dataset_core& data) const noexcept {
    return !data.is_cyclic_temporary || before_parts_.has_value();
  }
  void end_parts() noexcept;
  [[nodiscard]] static std::vector<box> gaps(const data_use& use, layers free);

  // From or to contiguous memory.
  void move(const dataset_core& data, backing_store::direction to, std::byte* memory, layers which, version v,
            int queue);
  void make_current(const dataset_core& data, layers which);
  void evict(std::span<const dataset_core* const> all);
  [[nodiscard]] bool has_room_for(std::size_t bytes) const;  // beside what is resident, and the rings
  void evict_all_but(std::span<const data_use> uses);
  [[nodiscard]] std::vector<std::pair<dataset_core*, sourced_pages>> load_whole(std::span<const data_use> uses);
  [[nodiscard]] std::vector<const dataset_core*> residents() const;
  void settle();  // what was read ahead has arrived
  void wait_for_all() noexcept;

  chain_runner& runner_;
  std::shared_ptr<backing_store> store_;
  const page_source& fast_;
  std::uint64_t fast_bytes_;
  std::map<const dataset_core*, stored> stored_;
  bool fitted_before_ = true;         // the last chain's datasets would have
  std::optional<undo> before_parts_;  // while a chain runs in parts
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_written_ = 0;
};

}  // namespace situ::stencil
