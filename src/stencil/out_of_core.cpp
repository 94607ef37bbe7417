#include "stencil/out_of_core.h"

#include "stencil/memory.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <limits>

namespace situ::stencil {
namespace {

constexpr std::size_t bounce_bytes = std::size_t{8} << 20;

using clock = std::chrono::steady_clock;

int outermost(chain loops) { return dims(loops) - 1; }

void widen(box& a, const box& b) {
  for (int d = 0; d < max_dims; ++d) {
    a.low[d] = std::min(a.low[d], b.low[d]);
    a.high[d] = std::max(a.high[d], b.high[d]);
  }
}

bool contains_inside(const box& a, const box& b, int outer) {
  for (int d = 0; d < max_dims; ++d) {
    if (d != outer && (b.low[d] < a.low[d] || b.high[d] > a.high[d])) return false;
  }
  return true;
}

box touched_by(const argument& a, const box& range) {
  box b;
  for (int d = 0; d < max_dims; ++d) {
    b.low[d] = std::max(a.data->valid.low[d], a.where->map(d, range.low[d]) + a.where->lowest(d));
    b.high[d] = std::min(a.data->valid.high[d], a.where->map(d, range.high[d] - 1) + a.where->highest(d) + 1);
  }
  return b;
}

bool leaves_no_gaps(const shape& s) {
  for (int d = 0; d < max_dims; ++d) {
    if (s.multiplier(d) > s.divisor(d)) return false;
  }
  return s.points().size() == 1;
}

}  // namespace

mirrored_ring::mirrored_ring(std::size_t bytes) : bytes_{bytes} {
  const int memory = memfd_create("situ-stencil-ring", MFD_CLOEXEC);
  void* const at = memory >= 0 && ftruncate(memory, static_cast<off_t>(bytes)) == 0
                       ? mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                       : MAP_FAILED;
  bool good = at != MAP_FAILED;
  for (int copy = 0; copy < 2 && good; ++copy) {
    good = mmap(static_cast<std::byte*>(at) + static_cast<std::size_t>(copy) * bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) != MAP_FAILED;
  }
  if (memory >= 0) close(memory);
  if (at != MAP_FAILED) at_ = static_cast<std::byte*>(at);
  if (!good) {
    if (at_ != nullptr) munmap(at_, 2 * bytes);
    throw_error(errc::out_of_memory, fmt::format("no fast memory for a ring of {}", format_bytes(bytes)));
  }
}

mirrored_ring::~mirrored_ring() {
  if (at_ != nullptr) munmap(at_, 2 * bytes_);
}

// The windows of all streamed datasets for tiles of one height.
static stream_plan plan_windows(chain loops, int height) {
  const int outer = outermost(loops);
  stream_plan p;
  coordinates tile{};
  tile[outer] = height;
  p.tiles = make_plan(loops, tile);
  const auto tiles = static_cast<std::size_t>(p.tiles.tile_count());
  std::map<const dataset_core*, std::size_t> numbers;
  constexpr int far = std::numeric_limits<int>::max();
  for (std::size_t t = 0; t < tiles; ++t) {
    for (const auto& f : footprints(loops, p.tiles, static_cast<std::int64_t>(t))) {
      if (!f.data->in_file) continue;
      const auto [it, is_new] = numbers.try_emplace(f.data, p.streams.size());
      if (is_new) {
        p.streams.push_back({f.data, std::vector<int>(tiles + 1, far), std::vector<int>(tiles, f.data->valid.low[outer])});
      }
      auto& s = p.streams[it->second];
      s.first[t] = f.touched.low[outer];
      s.last[t] = f.touched.high[outer];
    }
  }
  for (auto& s : p.streams) {
    for (std::size_t t = 1; t < tiles; ++t) s.last[t] = std::max(s.last[t], s.last[t - 1]);
    s.first[tiles] = s.last[tiles - 1];
    for (std::size_t t = tiles; t-- > 0;) s.first[t] = std::min(s.first[t], s.first[t + 1]);
    int slabs = 1;
    for (std::size_t t = 0; t < tiles; ++t) slabs = std::max(slabs, s.last[std::min(t + 1, tiles - 1)] - s.first[t > 0 ? t - 1 : 0]);
    s.ring_bytes = static_cast<std::size_t>(slabs) * s.data->slab_bytes;
    p.bytes += s.ring_bytes;
  }
  return p;
}

stream_plan slot_runner::make_stream_plan(chain loops, const options& how) const {
  const int outer = outermost(loops);
  const int extent = std::max(1, bounds(loops).extent(outer));
  if (how.tile[outer] > 0) {
    auto p = plan_windows(loops, how.tile[outer]);
    if (p.bytes <= fast_bytes_) return p;
  }
  int height = extent;
  auto p = plan_windows(loops, height);
  while (p.bytes > fast_bytes_ && height > 1) {
    height = (height + 1) / 2;
    p = plan_windows(loops, height);
  }
  if (p.bytes > fast_bytes_) {
    throw_error(errc::out_of_memory, fmt::format("a chain of {} loops needs {} of fast memory even with tiles of one slab, and the budget is {}; raise "
                                                 "options::fast_bytes, or execute() more often", loops.size(), format_bytes(p.bytes), format_bytes(fast_bytes_)));
  }
  for (int step = height / 4; step > std::max(1, height / 16); step /= 2) {  // between what fits and its double
    auto higher = plan_windows(loops, height + step);
    if (higher.bytes > fast_bytes_) continue;
    height += step;
    p = std::move(higher);
  }
  return p;
}

// What this chain writes, and which slabs need no reading. Not part of the plan: it depends on what was written before.
static void find_transfers(chain loops, stream& s, const box* defined) {
  const int outer = outermost(loops);
  const dataset_core& data = *s.data;
  box touched = defined != nullptr ? *defined : box{data.valid.high, data.valid.low};
  if (data.is_cyclic_temporary) touched = {data.valid.high, data.valid.low};
  const loop* first_loop = nullptr;
  box filled{};
  bool fills = true;
  s.written = {data.valid.high, data.valid.low};
  for (const auto& l : loops) {
    for (const auto& a : l->arguments()) {
      if (a.data != &data) continue;
      const box b = touched_by(a, l->range());
      widen(touched, b);
      if (writes(a.mode)) widen(s.written, b);
      if (first_loop == nullptr) {
        first_loop = l.get();
        filled = b;
      }
      if (first_loop == l.get()) fills = fills && a.mode == access::write && leaves_no_gaps(*a.where) && b == filled;
    }
  }
  s.written_low = s.written.low[outer];
  s.written_high = s.written.high[outer];
  s.read_free_low = s.read_free_high = 0;
  if (fills && contains_inside(filled, touched, outer)) {
    s.read_free_low = filled.low[outer];
    s.read_free_high = filled.high[outer];
  }
  if (!data.is_cyclic_temporary) return;
  if (s.read_free_low > s.first.front() || s.read_free_high < s.last.back()) {
    throw_error(errc::bad_argument, fmt::format("dataset '{}' was declared a cyclic temporary, but kernel '{}' uses it before the chain has written all of what "
                                                "it touches; what an earlier chain left there is not kept", data.name, first_loop->name()));
  }
  s.written_high = s.written_low;
}

const box* slot_runner::defined(const dataset_core& data) const {
  const auto found = defined_.find(&data);
  return found == defined_.end() ? nullptr : &found->second;
}

void slot_runner::transfer(const stream& s, file_store::direction to, int from, int until, int batch) {
  if (from >= until) return;
  const auto slab = s.data->slab_bytes;
  const auto skip = static_cast<std::size_t>(from - s.data->valid.low[s.data->dims - 1]) * slab;
  const auto& ring = rings_.at(s.data);
  store_.start(to, ring.data() + skip % ring.bytes(), s.data->file_offset + skip, static_cast<std::size_t>(until - from) * slab, batch);
}

void slot_runner::start_reads(const stream_plan& p, int tile, int batch) {
  const auto t = static_cast<std::size_t>(tile);
  for (const auto& s : p.streams) {
    const int from = t == 0 ? s.first[0] : std::max(s.last[t - 1], s.first[t]);
    const int until = s.last[t];
    // [from, until) without the slabs that are written first, which are cleared: what no loop has ever written reads as zero.
    const int free_low = std::clamp(s.read_free_low, from, std::max(from, until));
    const int free_high = std::clamp(s.read_free_high, free_low, std::max(free_low, until));
    transfer(s, file_store::direction::read, from, free_low, batch);
    transfer(s, file_store::direction::read, free_high, until, batch);
    if (free_low < free_high) {
      const auto& ring = rings_.at(s.data);
      const auto skip = static_cast<std::size_t>(free_low - s.data->valid.low[s.data->dims - 1]) * s.data->slab_bytes;
      std::memset(ring.data() + skip % ring.bytes(), 0, static_cast<std::size_t>(free_high - free_low) * s.data->slab_bytes);
    }
  }
}

void slot_runner::start_writes(const stream_plan& p, int tile, int batch) {
  const auto t = static_cast<std::size_t>(tile);
  for (const auto& s : p.streams) {
    const int from = std::max(s.first[t], s.written_low);
    const int until = std::min({s.first[t + 1], s.last[t], s.written_high});
    transfer(s, file_store::direction::write, from, until, batch);
  }
}

void slot_runner::place_windows(const stream_plan& p, int tile) {
  for (const auto& s : p.streams) {
    const int outer = s.data->dims - 1;
    const auto& ring = rings_.at(s.data);
    const int first = s.first[static_cast<std::size_t>(tile)];
    const auto skip = static_cast<std::size_t>(first - s.data->valid.low[outer]) * s.data->slab_bytes;
    coordinates corner = s.data->valid.low;
    corner[static_cast<std::size_t>(outer)] = first;
    s.data->origin = ring.data() + skip % ring.bytes() - s.data->offset(corner) * static_cast<std::ptrdiff_t>(s.data->element_bytes);
  }
}

void slot_runner::run(chain loops, const stream_plan& cached, std::span<loop_time> times, chain_statistics& statistics) {
  stream_plan p = cached;
  for (auto& s : p.streams) find_transfers(loops, s, defined(*s.data));
  // Rings of other chains make room if they must; those that fit are kept, since new pages cost time.
  std::size_t held = 0;
  for (const auto& [data, ring] : rings_) held += ring.bytes();
  for (const auto& s : p.streams) {
    const auto found = rings_.find(s.data);
    if (found == rings_.end() || found->second.bytes() < s.ring_bytes) held += s.ring_bytes;
  }
  if (held > fast_bytes_) rings_.clear();
  for (const auto& s : p.streams) {
    auto& ring = rings_[s.data];
    if (ring.bytes() >= s.ring_bytes) continue;
    ring = {};
    ring = mirrored_ring{s.ring_bytes};
  }
  const auto tiles = static_cast<int>(p.tiles.tile_count());
  const auto wait = [&](int batch) {
    const auto start = clock::now();
    store_.wait(batch);
    statistics.wait_seconds += std::chrono::duration<double>(clock::now() - start).count();
  };
  try {
    start_reads(p, 0, 0);
    for (int t = 0; t < tiles; ++t) {
      wait(t % 2);      // the right footprint of this tile is there
      wait(2 + t % 2);  // the left footprint of tile t-2 has left: its place is free
      if (t + 1 < tiles) start_reads(p, t + 1, (t + 1) % 2);
      place_windows(p, t);
      runner_.run_tile(loops, p.tiles, t, times);
      start_writes(p, t, 2 + t % 2);
    }
    wait(2);
    wait(3);
  } catch (...) {
    try {
      store_.wait_all();  // nothing may come into the rings when they are gone
    } catch (const error&) {  // NOLINT: the first failure is the one to tell
    }
    for (const auto& s : p.streams) s.data->origin = nullptr;
    throw;
  }
  for (const auto& s : p.streams) {
    s.data->origin = nullptr;
    if (s.data->is_cyclic_temporary || s.written.empty()) continue;
    const auto [it, is_new] = defined_.try_emplace(s.data, s.written);
    if (!is_new) widen(it->second, s.written);
  }
  statistics.bytes_read = store_.bytes_read();
  statistics.bytes_written = store_.bytes_written();
}

void slot_runner::for_each_part(dataset_core& data, const box& what, bool is_store, const std::function<void(const box&)>& f) {
  const int outer = data.dims - 1;
  const auto o = static_cast<std::size_t>(outer);
  const int slabs = static_cast<int>(std::max<std::size_t>(1, bounce_bytes / data.slab_bytes));
  const pages bounce{static_cast<std::size_t>(slabs) * data.slab_bytes};
  for (int from = what.low[o]; from < what.high[o]; from += slabs) {
    const int until = std::min(from + slabs, what.high[o]);
    const auto offset = data.file_offset + static_cast<std::size_t>(from - data.valid.low[o]) * data.slab_bytes;
    const auto bytes = static_cast<std::size_t>(until - from) * data.slab_bytes;
    store_.start(file_store::direction::read, bounce.data(), offset, bytes, 0);
    store_.wait(0);
    coordinates corner = data.valid.low;
    corner[o] = from;
    data.origin = bounce.data() - data.offset(corner) * static_cast<std::ptrdiff_t>(data.element_bytes);
    box part = what;
    part.low[o] = from;
    part.high[o] = until;
    f(part);
    data.origin = nullptr;
    if (!is_store) continue;
    store_.start(file_store::direction::write, bounce.data(), offset, bytes, 0);
    store_.wait(0);
  }
  if (!is_store || what.empty()) return;
  const auto [it, is_new] = defined_.try_emplace(&data, what);
  if (!is_new) widen(it->second, what);
}

void slot_runner::forget(const dataset_core& data) {
  rings_.erase(&data);
  defined_.erase(&data);
}

}  // namespace situ::stencil
