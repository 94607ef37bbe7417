#include <situ/stencil/context.h>

#include "base/float_settings.h"
#include "stencil/context_parts.h"

#include <situ/base/error_code.h>
#include <situ/machine/discover.h>

#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <string>

namespace situ::stencil {
namespace {

bool holds_data(const machine::node& n) {
  return n.kind == machine::node_kind::cache && n.cache != machine::cache_kind::instruction &&
         n.cache != machine::cache_kind::memory_side;
}

cache_sizes caches_of(const machine::tree& tree, std::uint64_t wanted_bytes, int threads) {
  std::uint32_t last = 0;
  for (const auto& n : tree.nodes()) last = holds_data(n) ? std::max(last, n.level) : last;
  std::uint64_t shared = 0, below = 0;
  for (const auto& n : tree.nodes()) {
    if (!holds_data(n)) continue;
    if (n.level == last) shared += n.bytes;
    if (n.level + 1 == last) below = std::max(below, n.bytes);
  }
  if (wanted_bytes > 0 || shared == 0) shared = wanted_bytes > 0 ? wanted_bytes : std::uint64_t{8} << 20;
  const auto part = std::max<std::uint64_t>(1, shared / static_cast<std::uint64_t>(threads));
  return {shared, below > 0 ? std::min(below, part) : part};
}

// The machine is discovered once: discovery takes tens of milliseconds, and the result does not change.
const machine::tree& this_machine() {
  static const machine::tree found = machine::discover({.devices = false});
  return found;
}

}  // namespace

namespace {

// Describes the parts that the curve depends on: processors and caches. The amount of memory is left out, since the
// host of a virtual machine changes it while the machine runs.
std::string parts_that_compute(const machine::tree& tree) {
  std::string text;
  for (const auto& n : tree.nodes()) {
    if (n.kind != machine::node_kind::memory && n.kind != machine::node_kind::device)
      text += fmt::format("{} {} {} {} {}\n", n.depth, static_cast<int>(n.kind), n.name, n.level, n.bytes);
  }
  return text;
}

// Measures once for each number of threads: two contexts at once would disturb each other.
machine::reuse_curve reuse_of(const machine::tree& tree, thread_pool& pool, std::uint64_t most_bytes) {
  static std::mutex lock;
  static std::map<std::pair<int, std::uint64_t>, machine::reuse_curve> known;
  const std::lock_guard held{lock};
  const auto [it, is_new] = known.try_emplace({pool.size(), most_bytes});
  if (is_new) {
    const auto machine = fmt::format("{} threads {} bytes {} {:016x}", tree.name(), pool.size(), most_bytes,
                                     std::hash<std::string>{}(parts_that_compute(tree)));
    it->second = machine::kept_reuse(machine::kept_directory(), machine, [&] {
      return machine::measure_reuse([&](const auto& f) { pool.run(f); }, pool.size(), most_bytes);
    });
  }
  return it->second;
}

}  // namespace

tile_costs context::parts::costs() {
  // At eight times the share of the cache, accesses reach memory; beyond 128 MiB nothing changes any more.
  constexpr std::uint64_t least = 8 << 20, most = 128 << 20;
  const auto share = caches.shared_bytes / static_cast<std::uint64_t>(pool.size());
  return {.reuse = reuse_of(tree, pool, std::clamp(share * 8, least, most)),
          .own_bytes = static_cast<double>(caches.own_bytes),
          .share_bytes = static_cast<double>(share)};
}

std::string_view name(executor e) noexcept {
  switch (e) {
    case executor::plain: return "plain";
    case executor::tiled: return "tiled";
    case executor::out_of_core: return "out_of_core";
  }
  return "?";
}

context::parts::parts(options o)
    : how{std::move(o)},
      tree{this_machine()},
      source{how.memory, how.memory_populate},
      pool{tree, how.threads, how.bind_threads},
      caches{caches_of(tree, how.cache_bytes, pool.size())},
      runner{pool, how.small_points} {
  if (how.run_by != executor::out_of_core) return;
  slots =
      std::make_unique<slot_runner>(runner, how, source, how.fast_bytes > 0 ? how.fast_bytes : tree.memory_bytes() / 2);
}

context::context(options how) : parts_{std::make_unique<parts>(std::move(how))} {}
context::~context() { parts_->write_report(); }

const options& context::how() const noexcept { return parts_->how; }
int context::threads() const noexcept { return parts_->pool.size(); }
const chain_statistics& context::statistics() const noexcept { return parts_->statistics; }
bool context::is_queued() const noexcept { return !parts_->queue.empty(); }

int context::add_block(std::string name, int dims) {
  if (dims < 1 || dims > max_dims)
    throw_error(errc::bad_argument,
                fmt::format("block '{}' has {} dimensions; 1 to {} are possible", name, dims, max_dims));
  parts_->blocks.emplace_back(std::move(name), dims);
  return static_cast<int>(parts_->blocks.size()) - 1;
}

dataset_core* context::add_dataset(int block, std::string name, int dims, const dataset_layout& layout,
                                   std::size_t element_bytes, std::string type_name) {
  auto made = std::make_unique<dataset_core>();
  made->name = std::move(name);
  made->type_name = std::move(type_name);
  made->owner = this;
  made->index = parts_->next_index++;
  made->block = block;
  made->dims = dims;
  made->element_bytes = element_bytes;
  lay_out(*made, layout, false);
  // Layers are whole pages of whole points; components that are stored apart in a line have no layers.
  made->in_file = parts_->slots != nullptr && layout.memory == nullptr && made->bytes > parts_->how.resident_bytes &&
                  backing_store::page_bytes % element_bytes == 0 &&
                  (dims > 1 || layout.components == 1 || layout.order == component_order::interleaved);
  if (made->in_file) {
    lay_out(*made, layout, true);
    parts_->slots->add(*made);
  } else if (layout.memory != nullptr) {
    made->is_foreign = true;
    made->memory = static_cast<std::byte*>(layout.memory);
    made->origin = made->memory - made->offset(made->valid.low) * static_cast<std::ptrdiff_t>(element_bytes);
  } else {
    parts_->allocate(*made);
  }
  parts_->datasets.push_back(std::move(made));
  return parts_->datasets.back().get();
}

void context::parts::allocate(dataset_core& data) {
  // Without the offset the same point of all datasets would be in one set of the caches. The first inner point of a
  // row, not the first ghost point, is at the beginning of a cache line: vectors of most loops begin there, and none
  // of them then crosses a line.
  const auto ghosts = static_cast<std::size_t>((data.inner.low[0] - data.valid.low[0]) * data.stride[0]);
  const auto shift = static_cast<std::size_t>(data.index * 5 % 64) * 64 + (64 - ghosts * data.element_bytes % 64) % 64;
  sourced_pages p = source.map(data.bytes + 64 * 64, fmt::format("dataset '{}'", data.name));
  data.memory = p.data() + shift;
  data.origin = data.memory - data.offset(data.valid.low) * static_cast<std::ptrdiff_t>(data.element_bytes);
  // The threads touch the pages first, by the partition of the loops.
  if (!source.populates() && data.bytes > std::size_t{1} << 20) {
    pool.run([&](int thread) {
      const box mine = slice(data.valid, data.dims, [](int) { return true; }, thread, pool.size());
      const int last = data.dims - 1;
      const auto from = static_cast<std::size_t>(mine.low[last] - data.valid.low[last]) * data.layer_bytes;
      const auto to = mine.high[last] == data.valid.high[last]
                          ? data.bytes
                          : static_cast<std::size_t>(mine.high[last] - data.valid.low[last]) * data.layer_bytes;
      if (!mine.empty()) std::memset(data.memory + from, 0, to - from);
    });
  }
  memory.emplace(&data, std::move(p));
}

void context::require_own(const dataset_core& data) const {
  if (data.owner != this) throw_error(errc::bad_argument, fmt::format("dataset '{}' is of another context", data.name));
}

void context::remove_dataset(dataset_core* data) {
  require_own(*data);
  execute();
  parts_->memory.erase(data);
  if (parts_->slots != nullptr) parts_->slots->forget(*data);
  parts_->forget_plans();  // their keys name datasets by address
  std::erase_if(parts_->datasets, [data](const auto& d) { return d.get() == data; });
}

reduction_core* context::add_reduction(std::string name, std::size_t element_bytes, int count) {
  auto made = std::make_unique<reduction_core>();
  made->name = std::move(name);
  made->owner = this;
  made->element_bytes = element_bytes;
  made->count = count;
  made->value.resize(element_bytes * static_cast<std::size_t>(count));
  parts_->reductions.push_back(std::move(made));
  return parts_->reductions.back().get();
}

void context::use(reduction_core* r, reduction_kind kind, const std::string& loop_name, const void* identities,
                  std::size_t bytes) {
  if (r->owner != this)
    parts_->refuse_loop(fmt::format("kernel '{}' uses '{}' of another context", loop_name, r->name));
  if (bytes > r->value.size()) {
    parts_->refuse_loop(fmt::format("kernel '{}' reduces {} bytes into '{}', which was declared with {}", loop_name,
                                    bytes, r->name, r->value.size()));
  }
  if (r->is_fresh) {
    r->kind = kind;
    r->used_by = loop_name;
    std::memcpy(r->value.data(), identities, bytes);
    parts_->claimed.push_back(r);
    r->is_fresh = false;
  } else if (r->kind != kind) {
    parts_->refuse_loop(fmt::format(
        "reduction '{}' is used by kernel '{}' in another way than by kernel '{}' before; take its result in between",
        r->name, loop_name, r->used_by));
  }
}

// Leaves the reductions of a refused loop unclaimed, and throws: a loop that is not queued has used nothing.
void context::parts::refuse_loop(const std::string& why) {
  for (auto* const r : std::exchange(claimed, {})) r->is_fresh = true;
  throw_error(errc::bad_argument, why);
}

namespace {

// Returns why a loop cannot run, or an empty string if it can.
std::string wrong_context(const context& owner, const loop& l) {
  for (const auto& a : l.arguments()) {
    const context* const other = a.data != nullptr ? a.data->owner : a.into->owner;
    if (other != &owner)
      return fmt::format("kernel '{}' uses '{}' of another context", l.name(),
                         a.data != nullptr ? a.data->name : a.into->name);
  }
  return {};
}

std::string wrong_dims(const loop& l) {
  const auto& r = l.range();
  const auto text = [&](const std::string& what, int dims) {
    return fmt::format("kernel '{}' runs over a block of {} dimensions, but {} has {}", l.name(), l.dims(), what, dims);
  };
  if (r.dims != 0 && r.dims != l.dims()) return text("its range", r.dims);
  for (int d = l.dims(); d < max_dims; ++d) {
    if (r.low[d] != 0 || r.high[d] != 1) return text("its range", d + 1);
  }
  for (const auto& a : l.arguments()) {
    if (a.data == nullptr) continue;
    if (a.data->dims != l.dims()) return text(fmt::format("dataset '{}'", a.data->name), a.data->dims);
    if (a.where->dims() != l.dims())
      return text(fmt::format("stencil '{}' of dataset '{}'", a.where->name(), a.data->name), a.where->dims());
  }
  return {};
}

std::string wrong_bounds(const loop& l) {
  int index = 0;
  for (const auto& a : l.arguments()) {
    ++index;
    if (a.data == nullptr) continue;
    for (int d = 0; d < l.dims(); ++d) {
      const int low = a.where->map(d, l.range().low[d]) + a.where->lowest(d);
      const int high = a.where->map(d, l.range().high[d] - 1) + a.where->highest(d) + 1;
      if (low >= a.data->valid.low[d] && high <= a.data->valid.high[d]) continue;
      return fmt::format(
          "kernel '{}', argument {}: range [{}, {}) with stencil '{}' touches [{}, {}) of dataset '{}' in dimension "
          "{}, which has [{}, {}) with its "
          "ghost points",
          l.name(), index, l.range().low[d], l.range().high[d], a.where->name(), low, high, a.data->name, d,
          a.data->valid.low[d], a.data->valid.high[d]);
    }
  }
  return {};
}

}  // namespace

void context::enqueue(std::unique_ptr<loop> l) {
  auto wrong = wrong_context(*this, *l);
  if (wrong.empty()) wrong = wrong_dims(*l);
  const bool is_empty = l->range().empty();
  if (wrong.empty() && !is_empty && parts_->how.check_bounds) wrong = wrong_bounds(*l);
  if (!wrong.empty()) parts_->refuse_loop(wrong);
  parts_->claimed.clear();
  if (is_empty) return;
  l->set_float_settings(detail::float_settings::of_this_thread().code());
  parts_->queue.push_back(std::move(l));
  if (static_cast<int>(parts_->queue.size()) >= parts_->how.max_chain_loops) parts_->execute_whole_steps();
}

// Executes whole steps. The loops after them stay queued: they begin the next chain as they began this one.
void context::parts::execute_whole_steps() {
  auto loops = std::exchange(queue, {});
  const auto count = static_cast<std::ptrdiff_t>(whole_steps(loops));
  std::vector<std::unique_ptr<loop>> rest{std::make_move_iterator(loops.begin() + count),
                                          std::make_move_iterator(loops.end())};
  loops.resize(static_cast<std::size_t>(count));
  execute(std::move(loops));
  queue = std::move(rest);
}

void context::execute() {
  if (parts_->queue.empty()) return;
  // The queue is emptied first: it is empty afterwards even if execution fails.
  parts_->execute(std::exchange(parts_->queue, {}));
}

void context::on_all_threads(const std::function<void(int)>& f) { parts_->pool.run(f); }

void context::fetch(const dataset_core& data, const box& what, component_order order, void* to) {
  require_own(data);
  execute();
  // Reading changes the origin for a while, nothing else.
  parts_->copy(const_cast<dataset_core&>(data), what, order, static_cast<std::byte*>(to), true);
}

void context::store(dataset_core& data, const box& what, component_order order, const void* from) {
  require_own(data);
  execute();
  parts_->copy(data, what, order, const_cast<std::byte*>(static_cast<const std::byte*>(from)), false);
}

void context::begin_cyclic(std::span<dataset_core* const> temporaries) {
  for (const auto* const data : temporaries) require_own(*data);
  execute();
  for (auto* const data : temporaries) data->is_cyclic_temporary = true;
  parts_->forget_plans();  // the plans' knowledge of temporaries has changed
}

void context::check_count(const dataset_core& data, const box& what, std::size_t values) {
  const auto needed = static_cast<std::size_t>(what.points()) * static_cast<std::size_t>(data.components);
  if (values == needed) return;
  throw_error(errc::bad_argument,
              fmt::format("{} values are stored in dataset '{}' where {} are needed: {} points of {} components",
                          values, data.name, needed, what.points(), data.components));
}

void context::parts::for_each_part(dataset_core& data, const box& what, bool in_place,
                                   const std::function<void(const box&)>& f) {
  if (data.in_file) {
    slots->for_each_part(data, what, in_place, f);
  } else {
    f(what);
  }
}

namespace {

// Copies line by line between a part of a dataset and a buffer laid out for all of `what`.
void copy_part(const dataset_core& data, const box& what, const box& part, component_order order, std::byte* buffer,
               bool to_buffer) {
  const auto element = static_cast<std::ptrdiff_t>(data.element_bytes);
  const bool interleaved = order == component_order::interleaved;
  const std::ptrdiff_t buffer_step = interleaved ? data.components : 1;
  const std::ptrdiff_t buffer_component = interleaved ? 1 : static_cast<std::ptrdiff_t>(what.points());
  const auto n = static_cast<std::ptrdiff_t>(part.extent(0));
  const auto step = data.stride[0];
  coordinates at = part.low;
  for (std::int64_t line = 0; line < part.points(); line += n) {
    std::ptrdiff_t position = 0;
    for (int d = max_dims - 1; d >= 0; --d) position = position * what.extent(d) + (at[d] - what.low[d]);
    for (int c = 0; c < data.components; ++c) {
      std::byte* const here = data.origin + (data.offset(at) + c * data.component_stride) * element;
      std::byte* const there = buffer + (position * buffer_step + c * buffer_component) * element;
      if (step == 1 && buffer_step == 1) {
        to_buffer ? std::memcpy(there, here, static_cast<std::size_t>(n * element))
                  : std::memcpy(here, there, static_cast<std::size_t>(n * element));
        continue;
      }
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        std::byte* const a = here + i * step * element;
        std::byte* const b = there + i * buffer_step * element;
        to_buffer ? std::memcpy(b, a, data.element_bytes) : std::memcpy(a, b, data.element_bytes);
      }
    }
    for (int d = 1; d < max_dims; ++d) {
      if (++at[d] < part.high[d]) break;
      at[d] = part.low[d];
    }
  }
}

}  // namespace

void context::parts::copy(dataset_core& data, const box& what, component_order order, std::byte* buffer,
                          bool to_buffer) {
  if (what.dims != 0 && what.dims != data.dims) {
    throw_error(errc::bad_argument, fmt::format("a range of {} dimensions is not one of dataset '{}', which has {}",
                                                what.dims, data.name, data.dims));
  }
  if (data.is_cyclic_temporary) {
    throw_error(errc::bad_argument, fmt::format("dataset '{}' was declared a cyclic temporary: between chains it holds "
                                                "nothing that can be fetched or stored",
                                                data.name));
  }
  for (int d = 0; d < max_dims; ++d) {
    if (what.low[d] < data.valid.low[d] || what.high[d] > data.valid.high[d]) {
      throw_error(
          errc::bad_argument,
          fmt::format("[{}, {}) in dimension {} is not inside dataset '{}', which has [{}, {}) with its ghost points",
                      what.low[d], what.high[d], d, data.name, data.valid.low[d], data.valid.high[d]));
    }
  }
  if (what.empty()) return;
  for_each_part(data, what, !to_buffer,
                [&](const box& part) { copy_part(data, what, part, order, buffer, to_buffer); });
}

}  // namespace situ::stencil
