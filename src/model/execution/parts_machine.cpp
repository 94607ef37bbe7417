#include "model/execution/parts_machine.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "model/parts/memory_rooms.h"
#include "model/parts/modelled_machine.h"

namespace situ::model {
namespace {

class parts_machine final : public memory_port {
 public:
  parts_machine(machine_spec spec, std::uint32_t memories, const std::optional<intent>& wanted,
                std::function<void(const std::string&)> out_of_memory)
      : machine_{std::move(spec)} {
    const machine_spec& its = machine_.spec();
    for (std::uint32_t i = 0; i < its.memories.size(); ++i)
      if (its.memories[i].tile == none) shared_.push_back(i);
    if (memories > shared_.size())
      throw_error(errc::bad_argument, fmt::format("{}: {} memories shall be used, but {} belong to no tile", its.name,
                                                  memories, shared_.size()));
    if (memories != 0) shared_.resize(memories);
    if (shared_.empty()) shared_.push_back(0);
    has_local_ = std::ranges::all_of(
        its.tiles, [](const tile_spec& tile) { return tile.cores.empty() || tile.local_memory != none; });
    orders_ = memory_orders(its, shared_, has_local_, wanted.value_or(intent::latency));
    std::vector<memory_order> of_process = orders_;
    if (!wanted)
      for (std::size_t tile = 0; tile < of_process.size(); ++tile)
        begin_with(of_process[tile],
                   has_local_ && its.tiles[tile].local_memory != none ? its.tiles[tile].local_memory : shared_.front());
    rooms_.emplace(its, std::move(of_process), has_local_);
    machine_.find_pages_by([this, over = std::move(out_of_memory)](std::uint64_t address, std::uint32_t tile) {
      try {
        return rooms_->find(address, tile);
      } catch (const error& none_left) {
        over(std::string{none_left.message()});
        throw;
      }
    });
    machine_.map_range(0, ~std::uint64_t{0}, by_page);
  }

  [[nodiscard]] std::string_view name() const override { return machine_.spec().name; }
  [[nodiscard]] std::uint32_t core_count() const override { return machine_.core_count(); }
  [[nodiscard]] std::uint32_t tile_of(std::uint32_t core) const override { return machine_.tile_of(core); }
  [[nodiscard]] time_ps period_ps(std::uint32_t core) const override { return machine_.period(core); }
  [[nodiscard]] const machine::instruction_cycles& cycles(std::uint32_t core) const override {
    return machine_.spec().cores[core].cycles;
  }
  [[nodiscard]] double width(std::uint32_t core) const override { return machine_.spec().cores[core].width; }
  [[nodiscard]] hardware_thread thread_of(std::uint32_t core) const override {
    const core_spec& its = machine_.spec().cores[core];
    return {.core = its.core, .number = its.thread, .count = its.threads};
  }
  void share_core(std::uint32_t core, std::uint32_t active) override { machine_.share_core(core, active); }
  [[nodiscard]] front_cache front(std::uint32_t core) const override {
    if (!machine_.has_data_cache(core)) return {};
    const set_associative_cache& cache = machine_.first_data_cache(core);
    if (machine_.goes_ahead(core)) return {.line_bytes = cache.line_bytes()};
    return {.entries = cache.entries(),
            .sets = cache.sets(),
            .ways = cache.stride(),
            .line_bytes = cache.line_bytes(),
            .hit_ps = machine_.first_hit_time(core),
            .page_bytes = machine_.spec().cores[core].page_bytes};
  }

  [[nodiscard]] bool first_cache_holds(std::uint32_t core, std::uintptr_t address) const override {
    if (!machine_.has_data_cache(core)) return false;
    const set_associative_cache& cache = machine_.first_data_cache(core);
    return cache.holds(cache.line_of(address));
  }
  [[nodiscard]] front_cache fetch_front(std::uint32_t core) const override {
    if (!machine_.has_instruction_cache(core)) return {};
    const set_associative_cache& cache = machine_.first_instruction_cache(core);
    return {.entries = cache.entries(),
            .sets = cache.sets(),
            .ways = cache.stride(),
            .line_bytes = cache.line_bytes(),
            .hit_ps = machine_.first_fetch_time(core),
            .page_bytes = machine_.spec().cores[core].itlb.page_bytes};
  }
  time_ps translate_fetch(std::uint32_t core, std::uintptr_t address, time_ps now) override {
    return machine_.translate_fetch(core, address, now);
  }
  [[nodiscard]] std::uint64_t walk_instructions(std::uint32_t core) const override {
    return machine_.walk_instructions(core);
  }
  [[nodiscard]] bool fetch_hit(std::uint32_t core, std::uint64_t line) override {
    return machine_.first_instruction_cache(core).hit(line);
  }
  void add_fetch_hits(std::uint32_t core, std::uint64_t lines) override { machine_.count_fetch_hits(core, lines); }

  time_ps access(std::uint32_t core, std::uintptr_t address, std::uint32_t bytes, access_kind kind,
                 time_ps now) override {
    return machine_.access(core, address, bytes, kind, now);
  }
  [[nodiscard]] bool goes_ahead(std::uint32_t core) const override { return machine_.goes_ahead(core); }
  time_ps access_ahead(std::uint32_t core, const window_access& of, time_ps now) override {
    return machine_.access_ahead(core, of, now);
  }
  time_ps branch(std::uint32_t core, bool foreseen, std::uint64_t instruction, time_ps restart, time_ps now) override {
    return machine_.branch(core, foreseen, instruction, restart, now);
  }
  time_ps wait_for_all(std::uint32_t core, time_ps now) override { return machine_.wait_for_all(core, now); }
  [[nodiscard]] bool begin_warming() override {
    machine_.begin_warming();
    return true;
  }
  void end_warming() override { machine_.end_warming(); }
  void warm(std::uint32_t core, std::uintptr_t address, std::uint32_t bytes, access_kind kind, time_ps now) override {
    machine_.warm(core, address, bytes, kind, now);
  }
  time_ps write_back(std::uint32_t core, std::uintptr_t begin, std::uintptr_t end, time_ps now) override {
    return machine_.write_back(core, begin, end, now);
  }
  time_ps invalidate(std::uint32_t core, std::uintptr_t begin, std::uintptr_t end, time_ps now) override {
    if (machine_.spec().cores[core].data_path.empty()) return now;
    const std::uintptr_t line = machine_.spec().caches[machine_.spec().cores[core].data_path.back()].line_bytes;
    const std::uintptr_t first_whole = (begin + line - 1) / line * line, last_whole = end / line * line;
    if (first_whole >= last_whole) return machine_.flush(core, begin, end, now);
    if (begin < first_whole) now = machine_.flush(core, begin, first_whole, now);
    if (last_whole < end) now = machine_.flush(core, last_whole, end, now);
    return machine_.invalidate(core, first_whole, last_whole, now);
  }
  time_ps flush(std::uint32_t core, std::uintptr_t begin, std::uintptr_t end, time_ps now) override {
    return machine_.flush(core, begin, end, now);
  }
  void set_cause(std::uintptr_t code) override {
    if (shadow_) shadow_->set_cause(code);
  }
  time_ps send(std::uint32_t core, std::uint32_t target_tile, std::uint32_t bytes, time_ps now) override {
    return machine_.send(core, target_tile, bytes, now);
  }
  time_ps dma(std::uint32_t core, std::uintptr_t to, std::uintptr_t from, std::size_t bytes, time_ps now) override {
    return machine_.dma(core, to, from, bytes, now);
  }
  void map_slice(std::uint32_t tile, std::uint32_t place, std::uintptr_t begin, std::uintptr_t heap,
                 std::uintptr_t end) override {
    memory_order of_heap = orders_[tile];
    std::erase_if(of_heap, [&](std::uint32_t memory) { return machine_.spec().memories[memory].tile != none; });
    begin_with(of_heap, shared_[place % shared_.size()]);
    rooms_->map_slice(tile, begin, std::max(heap, begin), end, std::move(of_heap));
    machine_.pages_changed();
    // An earlier launch may have had its segment here, but this segment's bytes are new: no cache holds any of them.
    machine_.forget(begin, end);
    machine_.forget_homes(begin, end);
    if (shadow_) shadow_->add_region(reinterpret_cast<void*>(begin), end - begin);
  }

  bool check_coherence(std::function<void(const coherence_report&)> found) override {
    const machine_spec& its = machine_.spec();
    if (its.coherent || its.caches.empty()) return false;
    const auto outermost = std::ranges::max_element(its.caches, {}, &cache_spec::level);
    shadow_.emplace(static_cast<std::uint32_t>(its.tiles.size()), outermost->line_bytes, std::move(found));
    machine_.observe(&*shadow_);
    return true;
  }
  void see(std::uint32_t core, std::uintptr_t address, std::uint32_t bytes, access_kind kind,
           std::uintptr_t at) override {
    if (!shadow_) return;
    const std::uint32_t tile = machine_.tile_of(core);
    const std::uint32_t home = machine_.spec().memories[machine_.memory_of(address, tile)].tile;
    // A tile's own memory is never stale for the tile, and other tiles access it word by word, as homed pages.
    if (!is_atomic(kind) && home == none && !machine_.is_homed(address, tile))
      return shadow_->see(tile, address, bytes, kind == access_kind::write, at);
    shadow_->see_memory(address, bytes, changes(kind), at);
  }
  void see_memory(std::uintptr_t address, std::size_t bytes, bool writes) override {
    if (shadow_) shadow_->see_memory(address, bytes, writes);
  }
  void see_tile(std::uint32_t tile, std::uintptr_t address, std::uint32_t bytes) override {
    if (!shadow_) return;
    if (machine_.is_homed(address, tile)) return shadow_->see_memory(address, bytes, false);
    shadow_->see(tile, address, bytes, false);
  }
  [[nodiscard]] modelled_machine* parts() noexcept override { return &machine_; }
  void add_front_hits(std::uint32_t core, std::uint64_t reads, std::uint64_t writes) override {
    machine_.count_hits(core, reads, writes);
  }
  [[nodiscard]] std::vector<part_counters> counters() const override {
    std::vector<part_counters> all = machine_.counters();
    machine_.add_prefetched(all);
    if (more_) more_(all);
    return all;
  }
  [[nodiscard]] sharing_counts sharing(std::uint32_t core) const override { return machine_.sharing(core); }
  [[nodiscard]] time_ps transfer_ps(std::uint32_t core) const override { return machine_.transfer_time(core); }
  void observe_sharing(sharing_observer* observer) override { machine_.observe_sharing(observer); }
  [[nodiscard]] bool observe_memories(memory_observer* observer) override {
    machine_.observe_memories(observer);
    return true;
  }
  [[nodiscard]] std::uint64_t state_hash() const override { return machine_.state_hash(); }
  void save_state(state_words& to) const override { machine_.save_state(to); }
  void load_state(state_reader& from) override { machine_.load_state(from); }
  void add_counters(std::function<void(std::vector<part_counters>&)> more) override { more_ = std::move(more); }

  [[nodiscard]] bool take_room(std::uint32_t tile, std::uintptr_t begin, std::uintptr_t end) override {
    const bool is_taken = rooms_->take(tile, begin, end);
    machine_.pages_changed();
    return is_taken;
  }
  [[nodiscard]] bool has_room(std::uint32_t tile, std::size_t bytes) override { return rooms_->has_room(tile, bytes); }
  void give_room_back(std::uintptr_t begin, std::uintptr_t end) override {
    rooms_->give_back(begin, end);
    machine_.forget_homes(begin, end);
  }
  void set_page_size(std::uintptr_t begin, std::uintptr_t end, std::uint32_t shift) override {
    machine_.set_page_size(begin, end, shift);
  }
  time_ps home_pages(std::uintptr_t begin, std::uintptr_t end, std::uint32_t tile, time_ps now) override {
    return machine_.home_range(begin, end, tile, now);
  }
  [[nodiscard]] std::uint64_t bytes_for_places() const override {
    std::uint64_t sum = 0;
    for (const std::uint32_t each : shared_) {
      if (machine_.spec().memories[each].bytes == 0) return 0;
      sum += machine_.spec().memories[each].bytes;
    }
    return sum;
  }
  [[nodiscard]] const memory_rooms* rooms() const noexcept override { return &*rooms_; }

 private:
  static void begin_with(memory_order& order, std::uint32_t first) {
    std::erase(order, first);
    order.insert(order.begin(), first);
  }

  mutable modelled_machine machine_;   // first_data_cache() is not const
  std::vector<std::uint32_t> shared_;  // memories that belong to no tile
  bool has_local_ = false;
  std::vector<memory_order> orders_;  // of each tile
  std::optional<memory_rooms> rooms_;
  std::optional<coherence_shadow> shadow_;
  std::function<void(std::vector<part_counters>&)> more_;
};

}  // namespace

std::unique_ptr<memory_port> make_parts_machine(machine_spec spec, std::uint32_t memories,
                                                const std::optional<intent>& wanted,
                                                std::function<void(const std::string&)> out_of_memory) {
  return std::make_unique<parts_machine>(std::move(spec), memories, wanted, std::move(out_of_memory));
}

}  // namespace situ::model
