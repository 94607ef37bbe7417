#include "stencil/out_of_core.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; older C libraries do not name it
#endif

namespace situ::stencil {
namespace {

constexpr std::size_t bounce_bytes = std::size_t{8} << 20;
// Queues of the store: reads of even and odd tiles, their writes, and what is read ahead for the next chain.
constexpr int read_queue = 0, write_queue = 2, ahead_queue = 4;
// Groups of tiles in a chain. More cost nothing in transfers, since windows slide, and shorten the beginning and the end, when transfers and
// kernels do not overlap; but each has two points at which all wait. Below least_group_bytes the device would not be busy.
constexpr int wanted_groups = 24;
constexpr std::size_t least_group_bytes = std::size_t{16} << 20;

using clock = std::chrono::steady_clock;
double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

int outermost(chain loops) { return dims(loops) - 1; }

void widen(box& a, const box& b) {
  if (b.empty()) return;
  if (a.empty()) {
    a = b;
    return;
  }
  for (int d = 0; d < max_dims; ++d) {
    a.low[d] = std::min(a.low[d], b.low[d]);
    a.high[d] = std::max(a.high[d], b.high[d]);
  }
}

void widen(slabs& a, slabs b) {
  if (b.empty()) return;
  a = a.empty() ? b : slabs{std::min(a.low, b.low), std::max(a.high, b.high)};
}

int outer_of(const dataset_core& data) { return data.dims - 1; }

// All slabs that have points of the box.
slabs slabs_of(const dataset_core& data, const box& b) {
  const int outer = outer_of(data), low = data.valid.low[outer], n = data.slab_points;
  return b.empty() ? slabs{} : slabs{(b.low[outer] - low) / n, (b.high[outer] - low + n - 1) / n};
}

// Those that have no others.
slabs slabs_inside(const dataset_core& data, const box& b) {
  const int outer = outer_of(data), low = data.valid.low[outer], n = data.slab_points;
  if (b.empty()) return {};
  return {(b.low[outer] - low + n - 1) / n, b.high[outer] == data.valid.high[outer] ? slabs_of(data, b).high : (b.high[outer] - low) / n};
}

int first_point(const dataset_core& data, int slab) { return data.valid.low[outer_of(data)] + slab * data.slab_points; }

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

// Calls f(run, kind) for runs of slabs of one kind.
template <class Kind, class F>
void for_each_run(slabs which, const Kind& kind, const F& f) {
  for (int from = which.low, until = from; from < which.high; from = until) {
    const auto k = kind(from);
    while (until < which.high && kind(until) == k) ++until;
    f(slabs{from, until}, k);
  }
}

std::size_t bytes_of(const dataset_core& data, int slabs) { return static_cast<std::size_t>(slabs) * data.slab_bytes; }

std::byte* place_of(const dataset_core& data, const stored& d, std::size_t shift, int slab) {
  return d.ring.data() + (bytes_of(data, slab) + shift) % d.ring.bytes();
}

// As if the slab lay at `memory`, and its neighbours around it.
void set_origin(dataset_core& data, int slab, std::byte* memory) {
  coordinates corner = data.valid.low;
  corner[outer_of(data)] = first_point(data, slab);
  data.origin = memory + data.lead_bytes - data.offset(corner) * static_cast<std::ptrdiff_t>(data.element_bytes);
}

}  // namespace

std::size_t mirrored_ring::round_up(std::size_t bytes) noexcept {
  return bytes < 16 * huge_bytes ? bytes : (bytes + huge_bytes - 1) / huge_bytes * huge_bytes;
}

mirrored_ring::mirrored_ring(std::size_t bytes) : bytes_{bytes} {
  const int memory = memfd_create("situ-stencil-ring", MFD_CLOEXEC);
  void* const at = memory >= 0 && ftruncate(memory, static_cast<off_t>(bytes)) == 0
                       ? mmap(nullptr, mapped_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                       : MAP_FAILED;
  bool good = at != MAP_FAILED;
  if (good) mapping_ = static_cast<std::byte*>(at), at_ = mapping_ + (huge_bytes - reinterpret_cast<std::uintptr_t>(at) % huge_bytes) % huge_bytes;
  for (int copy = 0; copy < 2 && good; ++copy) {
    good = mmap(at_ + static_cast<std::size_t>(copy) * bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) != MAP_FAILED;
  }
  if (memory >= 0) close(memory);
  if (!good) {
    if (mapping_ != nullptr) munmap(mapping_, mapped_bytes());
    throw_error(errc::out_of_memory, fmt::format("no fast memory for a ring of {}", format_bytes(bytes)));
  }
  if (bytes % huge_bytes != 0) return;
  // Shared memory is seldom given huge pages by itself. A page that is there is put into a huge one if asked; refusals cost speed only.
  for (std::size_t page = 0; page < bytes; page += huge_bytes) at_[page] = std::byte{0};
  for (int copy = 0; copy < 2; ++copy) madvise(at_ + static_cast<std::size_t>(copy) * bytes, bytes, MADV_COLLAPSE);
}

mirrored_ring::~mirrored_ring() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes());
}

std::vector<data_use> uses_of(chain loops) {
  std::vector<data_use> uses;
  std::map<const dataset_core*, std::size_t> numbers;
  std::vector<const loop*> first;
  for (const auto& l : loops) {
    for (const auto& a : l->arguments()) {
      if (a.data == nullptr || !a.data->in_file) continue;
      const box b = touched_by(a, l->range());
      const auto [it, is_new] = numbers.try_emplace(a.data, uses.size());
      if (is_new) {
        uses.push_back({a.data, b, {{}, {}}, b, l->name()});
        first.push_back(l.get());
      }
      auto& u = uses[it->second];
      widen(u.touched, b);
      if (writes(a.mode)) widen(u.written, b);
      const bool fills = a.mode == access::write && leaves_no_gaps(*a.where) && b == u.filled;
      if (first[it->second] == l.get() && !fills) u.filled = {{}, {}};
    }
  }
  return uses;
}

namespace {

// first and last of each row of tiles, which is what groups of rows are made of.
std::vector<stream> windows_of_rows(chain loops, int height, int& rows) {
  const int outer = outermost(loops);
  coordinates tile{};
  tile[outer] = height;
  const plan p = make_plan(loops, tile);
  rows = static_cast<int>(p.tile_count());
  const auto n = static_cast<std::size_t>(rows);
  std::vector<stream> all;
  std::map<const dataset_core*, std::size_t> numbers;
  for (std::size_t t = 0; t < n; ++t) {
    for (const auto& f : footprints(loops, p, static_cast<std::int64_t>(t))) {
      if (!f.data->in_file) continue;
      const auto [it, is_new] = numbers.try_emplace(f.data, all.size());
      if (is_new) all.push_back({f.data, std::vector<int>(n + 1, std::numeric_limits<int>::max()), std::vector<int>(n, 0), 0});
      auto& s = all[it->second];
      const auto touched = slabs_of(*f.data, f.touched);
      s.first[t] = touched.low;
      s.last[t] = touched.high;
    }
  }
  for (auto& s : all) {
    for (std::size_t t = 1; t < n; ++t) s.last[t] = std::max(s.last[t], s.last[t - 1]);
    s.first[n] = s.last[n - 1];
    for (std::size_t t = n; t-- > 0;) s.first[t] = std::min(s.first[t], s.first[t + 1]);
  }
  return all;
}

// What of the next chain's first window is certain when the last tile begins: the slabs that were written back for good.
slabs ahead_of(const stream& s, int groups) {
  if (groups < 3) return {s.first[0], s.first[0]};
  return {s.first[0], std::max(s.first[0], std::min(s.last[0], s.first[static_cast<std::size_t>(groups) - 2]))};
}

stream_plan group_rows(const std::vector<stream>& by_rows, int rows, int rows_of_group) {
  stream_plan p;
  p.rows = rows_of_group;
  p.groups = (rows + rows_of_group - 1) / rows_of_group;
  const auto groups = static_cast<std::size_t>(p.groups);
  for (const auto& r : by_rows) {
    auto& s = p.streams.emplace_back(stream{r.data, {}, {}, 0});
    for (std::size_t g = 0; g < groups; ++g) {
      const auto begin = g * static_cast<std::size_t>(rows_of_group);
      const auto end = std::min(static_cast<std::size_t>(rows), begin + static_cast<std::size_t>(rows_of_group));
      s.first.push_back(r.first[begin]);
      s.last.push_back(r.last[end - 1]);
    }
    s.first.push_back(s.last.back());
    int most = 1;
    for (std::size_t g = 0; g < groups; ++g) most = std::max(most, s.last[std::min(g + 1, groups - 1)] - s.first[g > 0 ? g - 1 : 0]);
    if (p.groups >= 3) {
      const auto ahead = ahead_of(s, p.groups);
      most = std::max(most, s.last.back() - s.first[groups - 2] + ahead.high - ahead.low);
    }
    s.ring_bytes = mirrored_ring::round_up(bytes_of(*s.data, most));
    p.bytes += s.ring_bytes;
  }
  return p;
}

}  // namespace

stream_plan slot_runner::make_stream_plan(chain loops, const coordinates& tile) const {
  const int outer = outermost(loops);
  const int extent = std::max(1, bounds(loops).extent(outer));
  int height = tile[outer] > 0 ? tile[outer] : extent;
  int rows = 1;
  auto by_rows = windows_of_rows(loops, height, rows);
  auto p = group_rows(by_rows, rows, 1);
  const auto cut = [&](int to) {
    height = to;
    by_rows = windows_of_rows(loops, height, rows);
    p = group_rows(by_rows, rows, 1);
  };
  while (p.bytes > fast_bytes_ && height > 1) cut((height + 1) / 2);
  if (p.bytes > fast_bytes_) {
    throw_error(errc::out_of_memory, fmt::format("a chain of {} loops needs {} of fast memory even with tiles of one slab, and the budget is {}; raise "
                                                 "options::fast_bytes, or execute() more often", loops.size(), format_bytes(p.bytes), format_bytes(fast_bytes_)));
  }
  if (wanted_tile_[outer] == 0) {
    // Low rows, so that groups of them can have any height.
    if (tile[outer] == 0 && height > 1) cut(std::max(1, std::min(height / 8, extent / (2 * wanted_groups))));
    int most = 1;
    for (int step = std::bit_floor(static_cast<unsigned>(rows)); step > 0; step /= 2) {
      if (most + step <= rows && group_rows(by_rows, rows, most + step).bytes <= fast_bytes_) most += step;
    }
    int enough = std::min(most, std::max(1, rows / wanted_groups));
    while (enough < most && group_rows(by_rows, rows, enough).bytes < 3 * least_group_bytes) ++enough;
    p = group_rows(by_rows, rows, enough);
  }
  auto cells = tile;
  cells[outer] = height;
  p.tiles = make_plan(loops, cells);
  for (int d = 0; d < outer; ++d) p.row *= p.tiles.tiles[d];
  return p;
}

slot_runner::slot_runner(chain_runner& runner, const options& how, std::uint64_t fast_bytes)
    : runner_{runner}, store_{how.store != nullptr ? how.store : make_file_store(how.directory)}, fast_bytes_{fast_bytes}, wanted_tile_{how.tile} {}

slot_runner::~slot_runner() { wait_for_all(); }

void slot_runner::add(const dataset_core& data) {
  auto& d = stored_[&data];
  d.offset[0] = d.offset[1] = store_->allocate(data.bytes);
  if (store_->may_fail()) d.offset[1] = store_->allocate(data.bytes);
  d.second.resize(data.bytes / data.slab_bytes);
}

void slot_runner::forget(const dataset_core& data) {
  settle();
  stored_.erase(&data);
}

slabs slot_runner::unread(const data_use& use) const {
  const auto& data = *use.data;
  auto touched = use.touched;
  if (!data.is_cyclic_temporary) widen(touched, stored_.at(&data).defined);
  const int outer = outer_of(data);
  const bool is_filled = !use.filled.empty() && contains_inside(use.filled, touched, outer);
  if (data.is_cyclic_temporary && (!is_filled || use.filled.low[outer] > touched.low[outer] || use.filled.high[outer] < touched.high[outer])) {
    throw_error(errc::bad_argument, fmt::format("dataset '{}' was declared a cyclic temporary, but kernel '{}' uses it before the chain has written all of what "
                                                "it touches; what an earlier chain left there is not kept", data.name, use.first_kernel));
  }
  if (!is_filled) return {};
  return data.is_cyclic_temporary ? slabs_of(data, use.filled) : slabs_inside(data, use.filled);
}

void slot_runner::transfer(const dataset_core& data, backing_store::direction to, std::byte* memory, slabs which, version v, int queue) {
  const auto& d = stored_.at(&data);
  for_each_run(which, [&](int s) { return d.second[static_cast<std::size_t>(s)] != (v == version::next); },
               [&](slabs run, bool second) {
                 const auto bytes = bytes_of(data, run.high - run.low);
                 (to == backing_store::direction::read ? bytes_read_ : bytes_written_) += bytes;
                 store_->start(to, memory + bytes_of(data, run.low - which.low),
                               d.offset[second ? 1 : 0] + bytes_of(data, run.low), bytes, queue);
               });
}


void slot_runner::make_current(const dataset_core& data, slabs which) {
  auto& second = stored_.at(&data).second;
  for (int s = which.low; s < which.high; ++s) second[static_cast<std::size_t>(s)].flip();
}

void slot_runner::wait_for_all() noexcept {
  for (int q = 0; q < backing_store::queues; ++q) {
    try {
      store_->wait(q);
    } catch (const error&) {  // NOLINT: another failure is being told, or nobody wants the data
    }
  }
}

void slot_runner::settle() {
  try {
    store_->wait(ahead_queue);
  } catch (const error&) {
    for (auto& [data, d] : stored_) d.held = {};  // a guess: whoever needs it reads it again, and meets the error if it lasts
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
      transfer(*data, backing_store::direction::write, d.whole.data() + bytes_of(*data, d.changed.low), d.changed, version::next, write_queue);
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
  if (uses.empty()) return true;
  std::size_t needed = 0, missing = 0, rings = 0, held = 0;
  for (const auto& u : uses) {
    needed += u.data->bytes;
    if (!stored_.at(u.data).is_resident) missing += u.data->bytes;
  }
  const bool fits = needed <= fast_bytes_;
  const bool fitted_before = std::exchange(fitted_before_, fits);
  if (!fits) return false;
  for (const auto& u : uses) (void)unread(u);
  if (missing == 0) return true;
  for (const auto& [data, d] : stored_) {
    rings += d.ring.bytes();
    if (d.is_resident) held += data->bytes;
  }
  settle();
  if (held + missing + rings > fast_bytes_) {
    if (!fitted_before) return false;
    auto others = residents();
    std::erase_if(others, [&](const dataset_core* data) {
      return std::any_of(uses.begin(), uses.end(), [&](const data_use& u) { return u.data == data; });
    });
    evict(others);
    for (auto& [data, d] : stored_) d.drop_ring();
  }
  std::vector<std::pair<dataset_core*, pages>> loaded;
  try {
    for (const auto& u : uses) {
      const auto& data = *u.data;
      const auto& d = stored_.at(&data);
      if (d.is_resident) continue;
      auto& memory = loaded.emplace_back(u.data, pages{data.bytes}).second;
      if (data.is_cyclic_temporary) continue;
      const auto free = unread(u);
      for_each_run(slabs_of(data, d.defined), [&](int s) { return free.contains(s); }, [&](slabs run, bool is_free) {
        if (!is_free) transfer(data, backing_store::direction::read, memory.data() + bytes_of(data, run.low), run, version::current, read_queue);
      });
    }
    store_->wait(read_queue);
  } catch (...) {
    wait_for_all();
    throw;
  }
  for (auto& [data, memory] : loaded) {
    auto& d = stored_.at(data);
    d.whole = std::move(memory);
    d.is_resident = true;
    d.drop_ring();
    set_origin(*data, 0, d.whole.data());
  }
  return true;
}

void slot_runner::note_changes(std::span<const data_use> uses) {
  for (const auto& u : uses) {
    auto& d = stored_.at(u.data);
    widen(d.changed, slabs_of(*u.data, u.written));
    if (!u.data->is_cyclic_temporary) widen(d.defined, u.written);
  }
}

struct slot_runner::flow {
  const stream* of;
  stored* data;
  std::size_t shift;           // of the windows; the dataset's own is that of what is read ahead
  slabs unread;                // written first
  slabs written;               // to be written back
  bool clears;                 // slabs that are not read have points that nobody writes
  std::vector<slabs> pending;  // written back, and not current yet
};

// What a failed chain must put back: the datasets in memory that it writes.
struct slot_runner::undo {
  std::vector<std::pair<dataset_core*, std::vector<std::byte>>> saved;

  explicit undo(chain loops) {
    for (const auto& l : loops) {
      for (const auto& a : l->arguments()) {
        if (a.data == nullptr || a.data->in_file || !writes(a.mode)) continue;
        if (std::any_of(saved.begin(), saved.end(), [&](const auto& s) { return s.first == a.data; })) continue;
        saved.emplace_back(a.data, std::vector<std::byte>{a.data->memory, a.data->memory + a.data->bytes});
      }
    }
  }
  void put_back() const {
    for (const auto& [data, bytes] : saved) std::memcpy(data->memory, bytes.data(), bytes.size());
  }
};

void slot_runner::transfer_window(const flow& f, backing_store::direction to, slabs which, version v, int queue) {
  const auto& data = *f.of->data;
  transfer(data, to, place_of(data, *f.data, f.shift, which.low), which, v, queue);
}

void slot_runner::start_reads(std::span<flow> flows, int tile, int queue) {
  const auto t = static_cast<std::size_t>(tile);
  for (auto& f : flows) {
    const auto& data = *f.of->data;
    const slabs needed{t == 0 ? f.of->first[0] : std::max(f.of->last[t - 1], f.of->first[t]), f.of->last[t]};
    enum class kind : std::uint8_t { here, written_first, missing };
    const auto kind_of = [&](int s) {
      return t == 0 && f.data->held.contains(s) ? kind::here : f.unread.contains(s) ? kind::written_first : kind::missing;
    };
    for_each_run(needed, kind_of, [&](slabs run, kind k) {
      if (k == kind::missing) transfer_window(f, backing_store::direction::read, run, version::current, queue);
      if (k != kind::written_first || !f.clears) return;
      // What no loop has ever written reads as zero.
      std::memset(place_of(data, *f.data, f.shift, run.low), 0, bytes_of(data, run.high - run.low));
    });
    if (t == 0) f.data->held = {};
  }
}

void slot_runner::read_ahead(std::span<flow> flows, int groups) {
  for (const auto& f : flows) {
    auto& d = *f.data;
    const auto ahead = ahead_of(*f.of, groups);
    d.shift = (f.shift + bytes_of(*f.of->data, f.of->last.back() - f.of->first[0])) % d.ring.bytes();
    auto next = f;
    next.shift = d.shift;
    // One interval is remembered: up to what the next chain will not read, or from there on.
    const int low = std::clamp(f.unread.low, ahead.low, ahead.high), high = std::clamp(f.unread.high, ahead.low, ahead.high);
    d.held = f.unread.empty() ? ahead : low > ahead.low ? slabs{ahead.low, low} : slabs{high, ahead.high};
    const auto is_new = [&](int s) { return std::any_of(f.pending.begin(), f.pending.end(), [s](slabs w) { return w.contains(s); }); };
    for_each_run(d.held, is_new, [&](slabs run, bool is_pending) {
      transfer_window(next, backing_store::direction::read, run, is_pending ? version::next : version::current, ahead_queue);
    });
  }
}

void slot_runner::start_writes(std::span<flow> flows, int tile, int queue) {
  const auto t = static_cast<std::size_t>(tile);
  for (auto& f : flows) {
    const slabs left{std::max(f.of->first[t], f.written.low), std::min({f.of->first[t + 1], f.of->last[t], f.written.high})};
    if (left.empty()) continue;
    transfer_window(f, backing_store::direction::write, left, version::next, queue);
    f.pending.push_back(left);
  }
}

void slot_runner::run_tiles(chain loops, const stream_plan& p, std::span<flow> flows, std::span<loop_time> times, chain_statistics& statistics) {
  const auto wait = [&](int queue) {
    const auto start = clock::now();
    store_->wait(queue);
    statistics.wait_seconds += seconds_since(start);
  };
  start_reads(flows, 0, read_queue);
  for (int t = 0; t < p.groups; ++t) {
    wait(read_queue + t % 2);   // the right footprint of this tile is there
    wait(write_queue + t % 2);  // the left footprint of tile t-2 has left: its place is free
    if (t + 1 < p.groups) {
      start_reads(flows, t + 1, read_queue + (t + 1) % 2);
    } else {
      read_ahead(flows, p.groups);
    }
    for (const auto& f : flows) {
      const int first = f.of->first[static_cast<std::size_t>(t)];
      set_origin(*f.of->data, first, place_of(*f.of->data, *f.data, f.shift, first));
    }
    const auto start = clock::now();
    runner_.run_tiles(loops, p.tiles, std::int64_t{t} * p.rows * p.row, std::min(std::int64_t{t + 1} * p.rows * p.row, p.tiles.tile_count()), times);
    statistics.compute_seconds += seconds_since(start);
    start_writes(flows, t, write_queue + t % 2);
  }
  wait(write_queue);
  wait(write_queue + 1);
}

// What other chains hold makes room if it must; rings that fit are kept, since new pages cost time.
void slot_runner::prepare_rings(const stream_plan& p) {
  auto leaving = residents();
  std::size_t held = 0;
  for (const auto* data : leaving) held += data->bytes;
  const auto is_streamed = [&](const dataset_core* data) {
    return std::any_of(p.streams.begin(), p.streams.end(), [&](const stream& s) { return s.data == data; });
  };
  if (held + p.bytes <= fast_bytes_) std::erase_if(leaving, [&](const dataset_core* data) { return !is_streamed(data); });
  evict(leaving);
  held = 0;
  for (const auto& [data, d] : stored_) held += d.ring.bytes() + (d.is_resident ? data->bytes : 0);
  for (const auto& s : p.streams) {
    if (const auto& d = stored_.at(s.data); d.ring.bytes() < s.ring_bytes) held += s.ring_bytes - d.ring.bytes();
  }
  if (held > fast_bytes_) {
    for (auto& [data, d] : stored_) d.drop_ring();
  }
  for (const auto& s : p.streams) {
    auto& d = stored_.at(s.data);
    if (d.ring.bytes() >= s.ring_bytes) continue;
    d.drop_ring();
    d.ring = mirrored_ring{s.ring_bytes};
  }
}

void slot_runner::run(chain loops, const stream_plan& p, std::span<const data_use> uses, std::span<loop_time> times, chain_statistics& statistics) {
  const auto start = clock::now();
  settle();
  statistics.wait_seconds += seconds_since(start);
  prepare_rings(p);
  std::vector<flow> flows;
  for (const auto& s : p.streams) {
    const auto& u = *std::find_if(uses.begin(), uses.end(), [&](const data_use& use) { return use.data == s.data; });
    auto& d = stored_.at(s.data);
    auto& f = flows.emplace_back(flow{&s, &d, d.shift, unread(u), {}, !contains_inside(u.filled, s.data->valid, s.data->dims - 1), {}});
    if (!s.data->is_cyclic_temporary) f.written = slabs_of(*s.data, u.written);
  }
  const undo before{loops};
  try {
    run_tiles(loops, p, flows, times, statistics);
  } catch (...) {
    wait_for_all();  // nothing may come into the rings when they are gone
    before.put_back();
    for (const auto& f : flows) f.of->data->origin = nullptr, f.data->held = {};
    throw;
  }
  for (const auto& f : flows) {
    f.of->data->origin = nullptr;
    for (const auto w : f.pending) make_current(*f.of->data, w);
  }
  for (const auto& u : uses) {
    if (!u.data->is_cyclic_temporary) widen(stored_.at(u.data).defined, u.written);
  }
}

void slot_runner::for_each_part(dataset_core& data, const box& what, bool is_store, const std::function<void(const box&)>& f) {
  settle();
  auto& d = stored_.at(&data);
  if (is_store) {
    d.held = {};
    widen(d.defined, what);
  }
  if (d.is_resident) {
    if (is_store) widen(d.changed, slabs_of(data, what));
    return f(what);
  }
  const int outer = outer_of(data);
  const auto all = slabs_of(data, what);
  const int count = std::clamp(all.high - all.low, 1, static_cast<int>(std::max<std::size_t>(1, bounce_bytes / data.slab_bytes)));
  const pages bounce{bytes_of(data, count)};
  try {
    for (int from = all.low; from < all.high; from += count) {
      const slabs now{from, std::min(from + count, all.high)};
      transfer(data, backing_store::direction::read, bounce.data(), now, version::current, read_queue);
      store_->wait(read_queue);
      set_origin(data, from, bounce.data());
      box part = what;
      part.low[outer] = std::max(what.low[outer], first_point(data, now.low));
      part.high[outer] = std::min(what.high[outer], first_point(data, now.high));
      f(part);
      if (!is_store) continue;
      transfer(data, backing_store::direction::write, bounce.data(), now, version::next, write_queue);
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
