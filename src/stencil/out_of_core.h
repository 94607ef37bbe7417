// The out-of-core executor: chains over datasets that lie in a file, tile by tile through windows in fast memory. Follows algorithm 1 of
// paper 001, "Beyond 16GB" (section 4), with one change.
//
// A tile touches some slabs of each dataset (a slab: all points with one index in the outermost dimension; tiles are cut there only). For
// dataset D and tile t the plan gives
//
//     first(t)  the lowest slab that tile t or a later one touches      last(t)  one past the highest that t or an earlier one touched
//
//          tile t-1        [------------------------)
//          tile t                   [------------------------)
//          tile t+1                          [------------------------)
//                          |written |  window of tile t       | read  |
//                          | back   |                         | ahead |
//                      first(t-1) first(t)                 last(t)  last(t+1)
//
// [first, last) is the paper's full footprint; [first(t), first(t+1)) its left footprint, which is written back after tile t; [last(t-1),
// last(t)) its right footprint, which is read before; what tiles t and t+1 share is the right edge of the one and the left edge of the
// other. While tile t runs, the file gets the left footprint of tile t-1 and gives the right footprint of tile t+1: three slots.
//
// The change: the paper copies right edges to left edges, since its slots are separate buffers. Here the slots are consecutive parts of
// one ring for each dataset, mapped twice in a row, so that each window is contiguous and an edge is already where the next tile
// wants it. Slab s lies at (s * slab bytes) modulo the ring.
//
// What is not transferred: what a chain only reads is not written back. What a chain writes before it reads it is not read: decided slab
// by slab, if the first loop that touches D writes all points that carry anything; the slab is cleared instead. Cyclic temporaries are
// neither read nor written.
#pragma once

#include "stencil/execute.h"
#include "stencil/file_store.h"

#include <situ/stencil/context.h>

#include <map>
#include <utility>

namespace situ::stencil {

// The part of one dataset in a chain's schedule.
struct stream {
  dataset_core* data = nullptr;
  std::vector<int> first;            // of each tile; one more at the end: where everything has left
  std::vector<int> last;
  int read_free_low = 0, read_free_high = 0;  // slabs that need not be read
  int written_low = 0, written_high = 0;      // slabs that are written back
  box written;                       // what the chain writes: all points of it, and perhaps more
  std::size_t ring_bytes = 0;
};

struct stream_plan {
  plan tiles;
  std::vector<stream> streams;
  std::size_t bytes = 0;             // of all rings
};

// Pages mapped twice, one copy behind the other.
class mirrored_ring {
 public:
  mirrored_ring() = default;
  explicit mirrored_ring(std::size_t bytes);
  ~mirrored_ring();
  mirrored_ring(mirrored_ring&& other) noexcept : at_{std::exchange(other.at_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  mirrored_ring& operator=(mirrored_ring&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  [[nodiscard]] std::byte* data() const noexcept { return at_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
};

class slot_runner {
 public:
  slot_runner(chain_runner& runner, const options& how, std::uint64_t fast_bytes) : runner_{runner}, store_{how.directory}, fast_bytes_{fast_bytes} {}

  [[nodiscard]] file_store& store() noexcept { return store_; }
  // The highest tiles whose rings fit. Throws out_of_memory with the least budget that works.
  [[nodiscard]] stream_plan make_stream_plan(chain loops, const options& how) const;
  void run(chain loops, const stream_plan& p, std::span<loop_time> times, chain_statistics& statistics);
  // Between a box of a dataset in the file and memory laid out by a callback: f is called with the dataset's origin moved to some slabs that
  // are in memory, and the part of the box that lies in them.
  void for_each_part(dataset_core& data, const box& what, bool is_store, const std::function<void(const box&)>& f);
  void forget(const dataset_core& data);

 private:
  void start_reads(const stream_plan& p, int tile, int batch);
  void start_writes(const stream_plan& p, int tile, int batch);
  void place_windows(const stream_plan& p, int tile);
  void transfer(const stream& s, file_store::direction to, int from, int until, int batch);
  [[nodiscard]] const box* defined(const dataset_core& data) const;

  chain_runner& runner_;
  file_store store_;
  std::uint64_t fast_bytes_;
  std::map<const dataset_core*, mirrored_ring> rings_;
  std::map<const dataset_core*, box> defined_;  // around everything written so far; absent: nothing
};

}  // namespace situ::stencil
