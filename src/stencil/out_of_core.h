// The out-of-core executor: chains over datasets that are kept in a backing store, tile by tile through windows in fast
// memory. Follows algorithm 1 of Reguly, Mudalige and Giles (Beyond 16GB, MCHPC 2017, section 4), with one change.
//
// A tile here is a group of the plan's tiles, which are cut for the cache: as many rows of them as the budget allows.
//
// A tile touches some layers of each dataset (a layer: all points with one index in the outermost dimension, or several
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
// [first, last) is the paper's full footprint; [first(t), first(t+1)) its left footprint, which is written back after
// tile t; [last(t-1), last(t)) its right footprint, which is read before; the layers that tiles t and t+1 share are the
// right edge of t and the left edge of t+1. While tile t runs, the left footprint of tile t-1 is written to the store
// and the right footprint of tile t+1 is read from it: three slots.
//
// The change: the paper copies right edges to left edges, since its slots are separate buffers. Here the slots are
// consecutive parts of one ring for each dataset, mapped twice in a row, so that each window is contiguous and an edge
// is already at its address for the next tile. Layer s is at (s * layer bytes + shift) modulo the ring. And if the
// budget has room, reads and writes are `depth` tiles ahead and behind, not one, so that a slow store or a slow tile
// does not at once cause a wait.
//
// The next chain is probably the same again, so while the last tile runs the first window of its successor is read
// ahead, to the addresses after the last tile's window: positions go on from chain to chain, only the shift changes.
// Only those layers of that window are read that earlier tiles have written back for good; the rest, and all layers of
// a different chain, are read when that chain begins.
//
// Transfers that are saved: data that a chain only reads is not written back. Data that a chain writes before it reads
// it is not read: this is decided layer by layer, if loops of the chain write all points that carry a value before any
// loop reads them; the layer is cleared instead. Cyclic temporaries are neither read nor written. If all datasets of a
// chain fit into the budget, they are loaded once and stay in memory, where chains run as the tiled executor runs them;
// they are written back when another chain needs the room.
//
// Failures. A read or write that fails leaves the data as it was before the chain. A store that can fail has room for
// two versions of each layer: layers are written back to the version that is not current, and the chain's last act is
// to make those layers current. Nothing is written twice. Datasets in memory (small ones) that the chain writes are
// copied before it.
//
// A chain in parts (chain_parts.h). Each part is a chain as described above, with three differences. Its effects can be
// undone until the last part is complete: a third version of the layers that it writes keeps the version that was
// current before the first part. No dataset becomes resident. And cyclic temporaries are carried from part to part like
// all other data, as far as later parts read them.
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

// A dataset in the store, and the parts of it that stay in memory between chains.
struct stored {
  static constexpr int versions = 3;
  static constexpr std::uint64_t no_room = ~std::uint64_t{0};
  // of the versions; equal if the store cannot fail. The third is allocated when a chain in parts first needs it
  std::uint64_t offset[versions] = {no_room, no_room, no_room};
  std::vector<std::uint8_t> current;  // the version of each layer that is read
  // the version that was current before the present chain in parts; empty if no part writes the dataset
  std::vector<std::uint8_t> kept;
  box defined{{}, {}};  // bounds of all points written so far
  box kept_defined{{}, {}};
  sourced_pages whole;  // the whole dataset, if it is resident
  bool is_resident = false;
  layers changed;  // of a resident dataset: layers that are dirty
  mirrored_ring ring;
  std::size_t shift = 0;
  layers held;  // layers that were read ahead into the ring

  // Returns the version to write: neither the current one, nor the one to keep.
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

  // Loads the datasets of a chain if they all fit into the budget. Returns false if they do not, or if other data would
  // have to be evicted for a chain that may be an exception.
  [[nodiscard]] bool make_resident(std::span<const data_use> uses);
  // Marks the layers that a chain over resident datasets writes as dirty; called before the chain.
  void note_changes(std::span<const data_use> uses);
  // Runs a chain from the store. dead: cyclic temporaries that no later part of the chain reads.
  void run(chain loops, const stream_plan& p, std::span<const data_use> uses, std::span<const dataset_core* const> dead,
           std::span<loop_time> times, chain_statistics& statistics);
  // Called before and after the parts of one chain, each of which run() runs. abandon_parts() restores the data as it
  // was before begin_parts().
  void begin_parts(chain loops, std::span<const data_use> uses);
  void complete_parts() noexcept { end_parts(); }
  void abandon_parts() noexcept;
  // Calls f for parts of a box whose layers are in memory at the same time, with the dataset's origin set; is_store:
  // changes by f are kept.
  void for_each_part(dataset_core& data, const box& what, bool is_store, const std::function<void(const box&)>& f);
  void count_bytes(chain_statistics& statistics) const;

 private:
  struct flow;  // a stream while its chain runs
  // The data that a failed chain must restore: the datasets in memory that it writes.
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
  // Returns the layers that need not be read.
  [[nodiscard]] layers unread(const data_use& use) const;
  [[nodiscard]] bool is_carried(const dataset_core& data) const noexcept {
    return !data.is_cyclic_temporary || before_parts_.has_value();
  }
  void end_parts() noexcept;
  [[nodiscard]] static std::vector<box> gaps(const data_use& use, layers free);

  // Moves layers from or to contiguous memory.
  void move(const dataset_core& data, backing_store::direction to, std::byte* memory, layers which, version v,
            int queue);
  void make_current(const dataset_core& data, layers which);
  void evict(std::span<const dataset_core* const> all);
  [[nodiscard]] bool has_room_for(std::size_t bytes) const;  // in addition to resident datasets and the rings
  void evict_all_but(std::span<const data_use> uses);
  [[nodiscard]] std::vector<std::pair<dataset_core*, sourced_pages>> load_whole(std::span<const data_use> uses);
  [[nodiscard]] std::vector<const dataset_core*> residents() const;
  void settle();  // waits until the layers that are read ahead have arrived
  void wait_for_all() noexcept;

  chain_runner& runner_;
  std::shared_ptr<backing_store> store_;
  const page_source& fast_;
  std::uint64_t fast_bytes_;
  std::map<const dataset_core*, stored> stored_;
  bool fitted_before_ = true;         // whether the last chain's datasets would have fitted
  std::optional<undo> before_parts_;  // while a chain runs in parts
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_written_ = 0;
};

}  // namespace situ::stencil
