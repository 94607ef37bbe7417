#include "stencil/out_of_core.h"
#include "stencil/stopwatch.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace situ::stencil {
namespace {

constexpr std::size_t bounce_bytes = std::size_t{8} << 20;
// Queues of the store: reads of tiles in turn, their writes likewise, and reads ahead for the next chain.
constexpr int read_queue = 0, write_queue = most_depth + 1, ahead_queue = 2 * (most_depth + 1);
static_assert(ahead_queue + 1 == backing_store::queues);

// Calls f(run, kind) for runs of layers of one kind.
template <class Kind, class F>
void for_each_run(layers which, const Kind& kind, const F& f) {
  for (int from = which.low, until = from; from < which.high; from = until) {
    const auto k = kind(from);
    while (until < which.high && kind(until) == k) ++until;
    f(layers{from, until}, k);
  }
}

std::byte* place_of(const dataset_core& data, const stored& d, std::size_t shift, int layer) {
  return d.ring.data() + (bytes_of(data, layer) + shift) % d.ring.bytes();
}

// Returns the box of all points of some layers.
box points_of(const dataset_core& data, layers which) {
  box all = data.valid;
  const int d = outer_of(data), high = all.high[d];
  all.low[d] = first_point(data, which.low);
  all.high[d] = std::min(high, first_point(data, which.high));
  return all;
}

// Returns the origin that the dataset would have if this layer were at `memory`, with its neighbours around it.
std::byte* origin_beside(const dataset_core& data, int layer, std::byte* memory) {
  coordinates corner = data.valid.low;
  corner[outer_of(data)] = first_point(data, layer);
  return memory + data.lead_bytes - data.offset(corner) * static_cast<std::ptrdiff_t>(data.element_bytes);
}

// Zeroes a part. origin: passed, since the dataset may have no origin, or another one, at that time.
void clear(const dataset_core& data, std::byte* origin, const box& part) {
  if (part.empty()) return;
  const int together = data.component_stride == 1 ? data.components : 1;
  const int points = data.stride[0] == together ? part.extent(0) : 1;  // points that are adjacent
  const std::size_t bytes = static_cast<std::size_t>(points * together) * data.element_bytes;
  coordinates at = part.low;
  for (int d = 0; d < max_dims;) {
    for (int c = 0; c < data.components; c += together) {
      std::memset(
          origin + (data.offset(at) + c * data.component_stride) * static_cast<std::ptrdiff_t>(data.element_bytes), 0,
          bytes);
    }
    at[0] += points;
    for (d = 0; d < max_dims && at[d] >= part.high[d]; ++d) {
      at[d] = part.low[d];
      if (d + 1 < max_dims) ++at[d + 1];
    }
  }
}

}  // namespace

slot_runner::slot_runner(chain_runner& runner, const options& how, const page_source& fast, std::uint64_t fast_bytes)
    : runner_{runner},
      store_{how.store != nullptr ? how.store : make_file_store(how.directory)},
      fast_{fast},
      fast_bytes_{fast_bytes} {}

slot_runner::~slot_runner() { wait_for_all(); }

void slot_runner::add(const dataset_core& data) {
  auto& d = stored_[&data];
  d.offset[0] = d.offset[1] = store_->allocate(data.bytes);
  if (store_->may_fail()) {
    d.offset[1] = store_->allocate(data.bytes);
  } else {
    d.offset[2] = d.offset[0];
  }
  d.current.resize(data.bytes / data.layer_bytes);
}

void slot_runner::forget(const dataset_core& data) {
  settle();
  stored_.erase(&data);
}

layers slot_runner::unread(const data_use& use) const {
  const auto& data = *use.data;
  if (!is_carried(data)) return layers_of(data, use.touched);
  box carried = use.touched;
  widen(carried, stored_.at(&data).defined);
  const int d = outer_of(data);
  box free = use.filled.longest_part(carried, d);
  if (!use.live_in.empty()) {  // the larger free part below or above the live-in box
    const int below = std::clamp(use.live_in.low[d], free.low[d], free.high[d]),
              above = std::clamp(use.live_in.high[d], free.low[d], free.high[d]);
    if (below - free.low[d] >= free.high[d] - above) {
      free.high[d] = below;
    } else {
      free.low[d] = above;
    }
  }
  // Beyond the carried points there is nothing to lose.
  if (!free.empty() && free.low[d] == carried.low[d]) free.low[d] = data.valid.low[d];
  if (!free.empty() && free.high[d] == carried.high[d]) free.high[d] = data.valid.high[d];
  return layers_inside(data, free);
}

// Returns the boxes of the unread layers that no loop writes.
std::vector<box> slot_runner::gaps(const data_use& use, layers free) {
  return free.empty() ? std::vector<box>{} : use.filled.gaps(points_of(*use.data, free));
}

void slot_runner::move(const dataset_core& data, backing_store::direction to, std::byte* memory, layers which,
                       version v, int queue) {
  const auto& d = stored_.at(&data);
  for_each_run(
      which, [&](int s) { return v == version::next ? d.next(s) : d.current[static_cast<std::size_t>(s)]; },
      [&](layers run, std::uint8_t of) {
        const auto bytes = bytes_of(data, run.high - run.low);
        (to == backing_store::direction::read ? bytes_read_ : bytes_written_) += bytes;
        store_->start(to, memory + bytes_of(data, run.low - which.low), d.offset[of] + bytes_of(data, run.low), bytes,
                      queue);
      });
}

void slot_runner::make_current(const dataset_core& data, layers which) {
  auto& d = stored_.at(&data);
  for (int s = which.low; s < which.high; ++s) d.current[static_cast<std::size_t>(s)] = d.next(s);
}

void slot_runner::wait_for_all() noexcept {
  for (int q = 0; q < backing_store::queues; ++q) {
    try {
      store_->wait(q);
    } catch (const error&) {  // NOLINT: another failure is being reported, or the data is not wanted
    }
  }
}

void slot_runner::settle() {
  try {
    store_->wait(ahead_queue);
  } catch (const error&) {
    // the reads were a guess: a caller that needs the layers reads them again, and meets the error if it lasts
    for (auto& [data, d] : stored_) d.held = {};
  }
}

std::vector<const dataset_core*> slot_runner::residents() const {
  std::vector<const dataset_core*> all;
  for (const auto& [data, d] : stored_) {
    if (d.is_resident) all.push_back(data);
  }
  return all;
}

void slot_runner::evict(std::span<const dataset_core* const> all) {
  try {
    for (const auto* data : all) {
      const auto& d = stored_.at(data);
      if (data->is_cyclic_temporary || d.changed.empty()) continue;
      move(*data, backing_store::direction::write, d.whole.data() + bytes_of(*data, d.changed.low), d.changed,
           version::next, write_queue);
    }
    store_->wait(write_queue);
  } catch (...) {
    wait_for_all();
    throw;
  }
  for (const auto* data : all) {
    auto& d = stored_.at(data);
    if (!data->is_cyclic_temporary) make_current(*data, d.changed);
    d.whole = {};
    d.is_resident = false;
    d.changed = {};
    const_cast<dataset_core*>(data)->origin = nullptr;
  }
}

bool slot_runner::make_resident(std::span<const data_use> uses) {
  std::size_t needed = 0, missing = 0;
  for (const auto& u : uses) {
    needed += u.data->bytes;
    if (!stored_.at(u.data).is_resident) missing += u.data->bytes;
  }
  if (uses.empty()) return true;
  const bool fits = needed <= fast_bytes_;
  const bool fitted_before = std::exchange(fitted_before_, fits);
  if (!fits) return false;
  if (missing == 0) return true;
  settle();
  if (!has_room_for(missing)) {
    if (!fitted_before) return false;  // one exceptional chain evicts nothing
    evict_all_but(uses);
  }
  for (auto& [data, memory] : load_whole(uses)) {
    auto& d = stored_.at(data);
    d.whole = std::move(memory);
    d.is_resident = true;
    d.drop_ring();
    data->origin = origin_beside(*data, 0, d.whole.data());
  }
  return true;
}

bool slot_runner::has_room_for(std::size_t bytes) const {
  for (const auto& [data, d] : stored_) bytes += d.ring.bytes() + (d.is_resident ? data->bytes : 0);
  return bytes <= fast_bytes_;
}

void slot_runner::evict_all_but(std::span<const data_use> uses) {
  auto others = residents();
  std::erase_if(others, [&](const dataset_core* data) {
    return std::any_of(uses.begin(), uses.end(), [&](const data_use& u) { return u.data == data; });
  });
  evict(others);
  for (auto& [data, d] : stored_) d.drop_ring();
}

// Loads the datasets that are not resident: of each, the layers that are defined and will be read before they are
// written.
std::vector<std::pair<dataset_core*, sourced_pages>> slot_runner::load_whole(std::span<const data_use> uses) {
  std::vector<std::pair<dataset_core*, sourced_pages>> loaded;
  try {
    for (const auto& u : uses) {
      const auto& data = *u.data;
      const auto& d = stored_.at(&data);
      if (d.is_resident) continue;
      auto& memory = loaded.emplace_back(u.data, fast_.map(data.bytes, fmt::format("dataset '{}'", data.name))).second;
      if (data.is_cyclic_temporary) continue;
      const auto free = unread(u);
      for_each_run(
          layers_of(data, d.defined), [&](int s) { return free.contains(s); },
          [&](layers run, bool is_free) {
            if (!is_free)
              move(data, backing_store::direction::read, memory.data() + bytes_of(data, run.low), run, version::current,
                   read_queue);
          });
    }
    store_->wait(read_queue);
  } catch (...) {
    wait_for_all();
    throw;
  }
  return loaded;
}

void slot_runner::note_changes(std::span<const data_use> uses) {
  for (const auto& u : uses) {
    auto& d = stored_.at(u.data);
    widen(d.changed, layers_of(*u.data, u.written));
    if (!u.data->is_cyclic_temporary) widen(d.defined, u.written);
  }
}

struct slot_runner::flow {
  const stream* of;
  stored* data;
  std::size_t shift;            // of the windows; the dataset's own shift is that of the layers read ahead
  layers unread;                // layers that are written first
  layers written;               // layers to be written back
  std::vector<box> gaps;        // boxes of the unread layers that must be cleared
  std::vector<layers> pending;  // layers that are written back, and not current yet
};

slot_runner::undo::undo(chain loops) {
  for (const auto& l : loops) {
    for (const auto& a : l->arguments()) {
      if (a.data == nullptr || a.data->in_file || !writes(a.mode)) continue;
      if (std::any_of(saved.begin(), saved.end(), [&](const auto& s) { return s.first == a.data; })) continue;
      saved.emplace_back(a.data, std::vector<std::byte>{a.data->memory, a.data->memory + a.data->bytes});
    }
  }
}

void slot_runner::undo::put_back() const noexcept {
  for (const auto& [data, bytes] : saved) std::memcpy(data->memory, bytes.data(), bytes.size());
}

void slot_runner::move_window(const flow& f, backing_store::direction to, layers which, version v, int queue) {
  const auto& data = *f.of->data;
  move(data, to, place_of(data, *f.data, f.shift, which.low), which, v, queue);
}

void slot_runner::start_reads(std::span<flow> flows, int tile, int queue) {
  const auto t = static_cast<std::size_t>(tile);
  for (auto& f : flows) {
    const auto& data = *f.of->data;
    const layers needed{t == 0 ? f.of->first[0] : std::max(f.of->last[t - 1], f.of->first[t]), f.of->last[t]};
    enum class kind : std::uint8_t { here, written_first, missing };
    const auto kind_of = [&](int s) {
      return t == 0 && f.data->held.contains(s) ? kind::here
             : f.unread.contains(s)             ? kind::written_first
                                                : kind::missing;
    };
    for_each_run(needed, kind_of, [&](layers run, kind k) {
      if (k == kind::missing) move_window(f, backing_store::direction::read, run, version::current, queue);
      if (k != kind::written_first || f.gaps.empty()) return;
      // Points that no loop has ever written read as zero.
      std::byte* const origin = origin_beside(data, run.low, place_of(data, *f.data, f.shift, run.low));
      for (const auto& gap : f.gaps) clear(data, origin, intersection(gap, points_of(data, run)));
    });
    if (t == 0) f.data->held = {};
  }
}

void slot_runner::read_ahead(std::span<flow> flows) {
  for (const auto& f : flows) {
    auto& d = *f.data;
    const auto ahead = f.of->ahead;
    d.shift = (f.shift + bytes_of(*f.of->data, f.of->last.back() - f.of->first[0])) % d.ring.bytes();
    auto next = f;
    next.shift = d.shift;
    // One interval is remembered: the layers below or above those that the next chain will not read.
    const int low = std::clamp(f.unread.low, ahead.low, ahead.high),
              high = std::clamp(f.unread.high, ahead.low, ahead.high);
    d.held = f.unread.empty() ? ahead : low > ahead.low ? layers{ahead.low, low} : layers{high, ahead.high};
    const auto is_new = [&](int s) {
      return std::any_of(f.pending.begin(), f.pending.end(), [s](layers w) { return w.contains(s); });
    };
    for_each_run(d.held, is_new, [&](layers run, bool is_pending) {
      move_window(next, backing_store::direction::read, run, is_pending ? version::next : version::current,
                  ahead_queue);
    });
  }
}

void slot_runner::start_writes(std::span<flow> flows, int tile, int queue) {
  const auto t = static_cast<std::size_t>(tile);
  for (auto& f : flows) {
    const layers left{std::max(f.of->first[t], f.written.low),
                      std::min({f.of->first[t + 1], f.of->last[t], f.written.high})};
    if (left.empty()) continue;
    move_window(f, backing_store::direction::write, left, version::next, queue);
    f.pending.push_back(left);
  }
}

void slot_runner::run_tiles(chain loops, const stream_plan& p, std::span<flow> flows, std::span<loop_time> times,
                            chain_statistics& statistics) {
  const auto wait = [&](int queue) {
    const auto start = clock::now();
    store_->wait(queue);
    statistics.wait_seconds += seconds_since(start);
  };
  const auto turn = [&](int tile) { return tile % (p.depth + 1); };
  for (int t = 0; t < std::min(p.depth, p.groups); ++t) start_reads(flows, t, read_queue + turn(t));
  // Handing in requests takes time, and so may waiting: the other threads begin with a tile in the meantime.
  const auto hand_in = [&](int t) {
    if (t > 0) start_writes(flows, t - 1, write_queue + turn(t - 1));
    store_->wait(write_queue + turn(t));  // the left footprint of tile t-1-depth is written: its memory is free
    if (t + p.depth < p.groups) start_reads(flows, t + p.depth, read_queue + turn(t + p.depth));
    if (t + 1 == p.groups) read_ahead(flows);
  };
  for (int t = 0; t < p.groups; ++t) {
    if (p.depth == 0) hand_in(t);
    wait(read_queue + turn(t));  // the right footprint of this tile has been read
    for (const auto& f : flows) {
      const int first = f.of->first[static_cast<std::size_t>(t)];
      f.of->data->origin = origin_beside(*f.of->data, first, place_of(*f.of->data, *f.data, f.shift, first));
    }
    const auto start = clock::now();
    runner_.run_tiles(loops, p.tiles, std::int64_t{t} * p.rows * p.row,
                      std::min(std::int64_t{t + 1} * p.rows * p.row, p.tiles.tile_count()), times, [&] {
                        if (p.depth > 0) hand_in(t);
                      });
    statistics.compute_seconds += seconds_since(start);
  }
  start_writes(flows, p.groups - 1, write_queue + turn(p.groups - 1));
  for (int q = 0; q <= p.depth; ++q) wait(write_queue + q);
}

// Evicts other chains' data if room is needed; rings that fit are kept, since new pages cost time.
void slot_runner::prepare_rings(const stream_plan& p) {
  auto leaving = residents();
  std::size_t held = 0;
  for (const auto* data : leaving) held += data->bytes;
  const auto is_streamed = [&](const dataset_core* data) {
    return std::any_of(p.streams.begin(), p.streams.end(), [&](const stream& s) { return s.data == data; });
  };
  if (held + p.bytes <= fast_bytes_)
    std::erase_if(leaving, [&](const dataset_core* data) { return !is_streamed(data); });
  evict(leaving);
  held = 0;
  for (const auto& [data, d] : stored_) held += d.ring.bytes() + (d.is_resident ? data->bytes : 0);
  for (const auto& s : p.streams) {
    if (const auto& d = stored_.at(s.data); d.ring.bytes() < s.ring_bytes) held += s.ring_bytes - d.ring.bytes();
  }
  for (auto& [data, d] : stored_) {  // rings of other chains first
    if (held <= fast_bytes_ || is_streamed(data)) continue;
    held -= d.ring.bytes();
    d.drop_ring();
  }
  if (held > fast_bytes_) {
    for (auto& [data, d] : stored_) d.drop_ring();
  }
  for (const auto& s : p.streams) {
    auto& d = stored_.at(s.data);
    if (d.ring.bytes() >= s.ring_bytes) continue;
    d.drop_ring();
    d.ring = mirrored_ring{s.ring_bytes, fast_};
  }
}

void slot_runner::run(chain loops, const stream_plan& p, std::span<const data_use> uses,
                      std::span<const dataset_core* const> dead, std::span<loop_time> times,
                      chain_statistics& statistics) {
  const auto start = clock::now();
  settle();
  statistics.wait_seconds += seconds_since(start);
  prepare_rings(p);
  std::vector<flow> flows;
  for (const auto& s : p.streams) {
    const auto& u = *std::find_if(uses.begin(), uses.end(), [&](const data_use& use) { return use.data == s.data; });
    auto& d = stored_.at(s.data);
    const auto free = unread(u);
    auto& f = flows.emplace_back(flow{&s, &d, d.shift, free, {}, gaps(u, free), {}});
    if (is_carried(*s.data) && std::find(dead.begin(), dead.end(), s.data) == dead.end())
      f.written = layers_of(*s.data, u.written);
  }
  const undo before{before_parts_.has_value() ? chain{} : loops};
  try {
    run_tiles(loops, p, flows, times, statistics);
  } catch (...) {
    wait_for_all();  // no read may write into the rings after they are gone
    before.put_back();
    for (const auto& f : flows) f.of->data->origin = nullptr, f.data->held = {};
    throw;
  }
  for (const auto& f : flows) {
    f.of->data->origin = nullptr;
    for (const auto w : f.pending) make_current(*f.of->data, w);
  }
  for (const auto& u : uses) {
    if (is_carried(*u.data)) widen(stored_.at(u.data).defined, u.written);
  }
}

void slot_runner::begin_parts(chain loops, std::span<const data_use> uses) {
  settle();
  auto leaving = residents();
  std::erase_if(leaving, [&](const dataset_core* data) {
    return std::none_of(uses.begin(), uses.end(), [&](const data_use& u) { return u.data == data; });
  });
  evict(leaving);
  const auto is_kept = [](const data_use& u) { return !u.written.empty() && !u.data->is_cyclic_temporary; };
  for (const auto& u : uses) {
    auto& room = stored_.at(u.data).offset[2];
    if (is_kept(u) && room == stored::no_room) room = store_->allocate(u.data->bytes);
  }
  before_parts_.emplace(loops);
  for (const auto& u : uses) {
    auto& d = stored_.at(u.data);
    d.kept_defined = d.defined;
    if (is_kept(u)) d.kept = d.current;
    if (u.data->is_cyclic_temporary) d.defined = {{}, {}};
  }
}

void slot_runner::end_parts() noexcept {
  before_parts_.reset();
  for (auto& [data, d] : stored_) d.kept.clear();
}

void slot_runner::abandon_parts() noexcept {
  if (before_parts_.has_value()) before_parts_->put_back();
  for (auto& [data, d] : stored_) {
    d.held = {};
    if (d.kept.empty()) continue;
    d.current = d.kept;
    d.defined = d.kept_defined;
  }
  end_parts();
}

void slot_runner::for_each_part(dataset_core& data, const box& what, bool is_store,
                                const std::function<void(const box&)>& f) {
  settle();
  auto& d = stored_.at(&data);
  if (is_store) {
    d.held = {};
    widen(d.defined, what);
  }
  if (d.is_resident) {
    if (is_store) widen(d.changed, layers_of(data, what));
    return f(what);
  }
  const int outer = outer_of(data);
  const auto all = layers_of(data, what);
  const int count =
      std::clamp(all.high - all.low, 1, static_cast<int>(std::max<std::size_t>(1, bounce_bytes / data.layer_bytes)));
  const sourced_pages bounce = page_source{}.map(bytes_of(data, count), "a buffer of layers");
  try {
    for (int from = all.low; from < all.high; from += count) {
      const layers now{from, std::min(from + count, all.high)};
      move(data, backing_store::direction::read, bounce.data(), now, version::current, read_queue);
      store_->wait(read_queue);
      data.origin = origin_beside(data, from, bounce.data());
      box part = what;
      part.low[outer] = std::max(what.low[outer], first_point(data, now.low));
      part.high[outer] = std::min(what.high[outer], first_point(data, now.high));
      f(part);
      if (!is_store) continue;
      move(data, backing_store::direction::write, bounce.data(), now, version::next, write_queue);
      store_->wait(write_queue);
    }
  } catch (...) {
    wait_for_all();
    data.origin = nullptr;
    throw;
  }
  data.origin = nullptr;
  if (is_store) make_current(data, all);
}

void slot_runner::count_bytes(chain_statistics& statistics) const {
  statistics.bytes_read = bytes_read_;
  statistics.bytes_written = bytes_written_;
}

}  // namespace situ::stencil
