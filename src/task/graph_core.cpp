#include "task/graph_core.h"

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "base/float_settings.h"

namespace situ::detail {
namespace {

bool uses(const std::vector<staged_tile>& tiles, const staging& of) {
  return std::any_of(tiles.begin(), tiles.end(), [&](const staged_tile& each) { return each.of == &of; });
}

constexpr int looks_before_sleep = 2000;         // about 20 us
constexpr std::uint32_t records_looked_at = 32;  // before the adding thread runs a unit itself
constexpr std::uint32_t first_records = 64;      // of the window; more once these are all under way
constexpr std::size_t most_parts = 64;           // most parts of a reduction before they are combined
// The last line of a report.
constexpr const char* sight_of_spans =
    ".\n  declared_span sees each element, on any thread, but accesses through itself alone; "
    "SITU_CHECK_UNITS=pages sees those by any code to a situ::watched_array";
constexpr unit_name failed_unit{unit_name::failed, 0};

dependence* const ended_mark = [] {
  static dependence mark;
  return &mark;
}();

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void fetch_record(const work_unit& unit) noexcept {
  __builtin_prefetch(&unit, 1);
  __builtin_prefetch(unit.body, 1);
  __builtin_prefetch(unit.edges.data(), 1);
}

}  // namespace

void drop_tiles::operator()(std::vector<staged_tile>* tiles) const noexcept { delete tiles; }

dependence* work_unit::ended() noexcept { return ended_mark; }

static bool touch(const memory_region& a, const memory_region& b) noexcept {  // compares the bounds
  const auto begin_a = reinterpret_cast<std::uint64_t>(a.begin), begin_b = reinterpret_cast<std::uint64_t>(b.begin);
  const auto extent = [](const memory_region& r) { return (r.rows - 1) * r.stride + r.bytes; };
  return a.size() != 0 && b.size() != 0 && begin_a < begin_b + extent(b) && begin_b < begin_a + extent(a);
}

std::span<const declared_access> prepare_unit(graph_core& core, std::span<const declared_access> accesses) {
  return core.prepare(accesses);
}

std::span<const declared_access> graph_core::prepare(std::span<const declared_access> accesses) {
  if (std::any_of(accesses.begin(), accesses.end(), [](const auto& each) { return each.pieces != nullptr; })) {
    in_pieces_.clear();
    for (const declared_access& each : accesses)
      visit_regions(each, [&](const memory_region& region) { in_pieces_.push_back({region, each.mode}); });
    accesses = in_pieces_;
  }
  for (const declared_access& each : accesses)
    if (each.region.rows > 1 && each.region.stride < each.region.bytes)
      throw error{errc::bad_argument, fmt::format("a declared region has rows of {} bytes that begin {} bytes after "
                                                  "each other: give rows that do not overlap",
                                                  each.region.bytes, each.region.stride)};
  if (!reductions_.empty())
    for (const declared_access& each : accesses) close_reductions(each.region);
  tiles_.clear();
  for (staging* const each : stagings_) {
    for (const declared_access& access : accesses) each->collect(access, tiles_);
    each->check(tiles_);
  }
  return accesses;
}

std::size_t grain_of(const graph_core& core) noexcept { return core.grain(); }

work_unit& begin_unit(graph_core& core) { return core.free_unit(); }

void check_declared(const void* begin, std::size_t bytes, bool writes, const char* array, std::size_t index) {
  const auto first = reinterpret_cast<std::uint64_t>(begin);
  for (const declared_access& each : *checked_unit->declared) {
    const auto base = reinterpret_cast<std::uint64_t>(each.region.begin);
    const std::uint64_t row =
        each.region.rows > 1 && first >= base ? std::min((first - base) / each.region.stride, each.region.rows - 1) : 0;
    const std::uint64_t start = base + row * each.region.stride;
    const bool is_in = start <= first && first + bytes <= start + each.region.bytes;
    if (is_in && (writes ? each.mode != access_mode::read : each.mode != access_mode::write)) return;
    if (is_in && !writes) return;  // a unit may read bytes that it declared to write
  }
  throw error{
      errc::bad_argument,
      fmt::format("unit {}{} {} {}[{}], which it has not declared: add {}() of it{}", checked_unit->number,
                  checked_unit->name == nullptr ? "" : fmt::format(" ({})", checked_unit->name),
                  writes ? "writes" : "reads", array, index, writes ? "writes() or updates" : "reads", sight_of_spans)};
}
void end_unit(graph_core& core, work_unit& unit, std::span<const declared_access> accesses) {
  core.add(unit, accesses);
}

graph_core::graph_core(const task_graph_options& options, std::function<void()> await_end, std::optional<task_nodes> on)
    : window_{options.window},
      units_{nullptr},
      is_checked_{options.checked || options.checked_by_pages},
      checks_pages_{options.checked_by_pages},
      grain_{options.granularity_bytes},
      await_end_{std::move(await_end)} {
  if (!std::has_single_bit(window_) || window_ > (1U << 20))
    throw error{errc::bad_argument,
                fmt::format("a task graph's window is {}: give a power of two, 2^20 at most", window_)};
  if (!std::has_single_bit(grain_))
    throw error{errc::bad_argument, fmt::format("a granularity of {} bytes: give a power of two", grain_)};
  units_.reset(
      static_cast<work_unit*>(::operator new(window_ * sizeof(work_unit), std::align_val_t{alignof(work_unit)})));
  make_records(std::min(window_, first_records));
  const std::uint32_t count = checks_pages_ ? 1 : options.threads != 0 ? options.threads : allowed_processors();
  if (!on) on = count > 1 ? nodes_of_thread() : task_nodes{};
  ready_.deal(*on, count, units_.get(), window_);
  if (ready_.has_homes()) homes_of_units_ = std::make_unique<unit_homes>(*on);
  try {
    for (std::uint32_t i = 1; i < count; ++i)
      workers_.emplace_back([this, i] { work(i); },
                            ready_.has_homes() ? &on->nodes[ready_.part(i).home_number].processors : nullptr);
  } catch (...) {
    stop();
    throw;
  }
}

graph_core::~graph_core() {
  settle_all();
  stop();
  std::destroy_n(units_.get(), in_use_);
}

// Makes records on demand, so that a short graph does not touch all of its window.
void graph_core::make_records(std::uint32_t count) {
  for (; in_use_ < count; ++in_use_)
    (new (units_.get() + in_use_) work_unit)->successors.store(ended_mark, std::memory_order_relaxed);
}

void graph_core::check_thread(const char* what) const {
  if (std::this_thread::get_id() != owner_ || is_in_unit_)
    throw error{errc::bad_argument,
                fmt::format("{} of a task graph by one of its units, or another thread than the one that made it: "
                            "make a graph of the unit's own",
                            what)};
}

void graph_core::check_new_watch(const std::byte* begin, std::size_t bytes) const {
  check_thread("a situ::watched_array");
  for (const staging* const each : stagings_)
    if (begin < each->base() + each->bytes() && each->base() < begin + bytes)
      throw error{errc::bad_argument,
                  fmt::format("elements of {}, a staged array: its checked graph protects them already", each->name())};
}

// --- adding ---------------------------------------------------------------------------------------------------------

work_unit& graph_core::free_unit() {
  check_thread("add()");
  for (int looks = 0;;) {
    for (std::uint32_t i = 0; i < std::min(records_looked_at, in_use_); ++i) {
      work_unit& unit = record(next_record_++ & (in_use_ - 1));
      fetch_record(record((next_record_ + 4) & (in_use_ - 1)));
      if (unit.has_ended()) {
        // The map knows a failure by the unit's name: rename it before the record is used again.
        if (unit.has_failed.load(std::memory_order_relaxed)) sweep();
        return unit;
      }
    }
    if (in_use_ < window_) {
      next_record_ = in_use_;
      make_records(2 * in_use_);
      continue;
    }
    if (run_one(0, looks)) {
      looks = 0;
      continue;
    }
    looks = std::min(looks + 1, ready_units::looks_before_far);
    if (await_end_)
      await_end_();
    else
      pause();
  }
}

bool graph_core::is_over(unit_name name) const noexcept {
  if (name.record >= unit_name::failed) return name.record == unit_name::none;
  const work_unit& unit = record(name.record);
  return unit.generation != name.generation || (unit.has_ended() && !unit.has_failed.load(std::memory_order_relaxed));
}

// Gives all failed units one common name in the map, so that their records can be used again.
void graph_core::sweep() {
  if (has_failed_.load(std::memory_order_acquire)) {
    std::vector<bool> failed(in_use_);  // as of now: others may fail during the sweep
    for (std::uint32_t i = 0; i < in_use_; ++i)
      failed[i] = record(i).has_ended() && record(i).has_failed.load(std::memory_order_relaxed);
    accesses_.rename([&](unit_name name) {
      const bool is_meant =
          name.record < in_use_ && failed[name.record] && record(name.record).generation == name.generation;
      return is_meant ? failed_unit : name;
    });
    for (std::uint32_t i = 0; i < in_use_; ++i)
      if (failed[i]) record(i).has_failed.store(false, std::memory_order_relaxed);
  }
  accesses_.sweep([this](unit_name name) { return is_over(name); });
}

dependence& graph_core::edge_of(work_unit& unit, std::uint32_t i) {
  if (i < work_unit::inline_dependences) return unit.edges[i];
  i -= work_unit::inline_dependences;
  std::unique_ptr<more_dependences>* more = &unit.more;
  for (;; i -= 32, more = &(*more)->next) {
    if (*more == nullptr) *more = std::make_unique<more_dependences>();
    if (i < 32) return (*more)->edges[i];
  }
}

void graph_core::depend(work_unit& unit, unit_name on, std::uint32_t& found) {
  if (on.record == unit_name::none) return;
  if (on.record == unit_name::failed) return unit.is_cancelled.store(true, std::memory_order_relaxed);
  work_unit& before = record(on.record);
  if (&before == &unit || before.generation != on.generation) return;
  dependence* head = before.successors.load(std::memory_order_acquire);
  if (head != ended_mark) {
    dependence& edge = edge_of(unit, found);
    edge.after = &unit;
    do {
      edge.next = head;
      if (before.successors.compare_exchange_weak(head, &edge, std::memory_order_acq_rel, std::memory_order_acquire)) {
        ++found;
        return;
      }
    } while (head != ended_mark);
  }
  if (before.has_failed.load(std::memory_order_relaxed)) unit.is_cancelled.store(true, std::memory_order_relaxed);
}

void graph_core::declare(work_unit& unit, const memory_region& region, access_mode mode, std::uint32_t& found) {
  const unit_name self = name_of(unit);
  const bool is_wait = unit.run == nullptr;  // it ends before another unit is added, so no unit has to know of it
  if (region.bytes == 0) return;
  std::uint64_t last = 0;  // the end of the previous row
  for (std::size_t row = 0; row < region.rows; ++row) {
    const auto first = reinterpret_cast<std::uint64_t>(region.begin) + row * region.stride;
    const std::uint64_t begin = std::max(first & ~(grain_ - 1), last);
    const std::uint64_t end = (first + region.bytes + grain_ - 1) & ~(grain_ - 1);
    last = end;
    accesses_.visit(begin, end, [&](interval& it) {
      if (mode == access_mode::read) {
        if (it.writer == self) return;
        depend(unit, it.writer, found);
        if (is_wait) return;
        access_map::add_reader(it, self, [this](unit_name name) { return is_over(name); });
        return;
      }
      bool waited = false;  // readers have waited for the writer
      for (std::uint32_t i = 0; i < it.readers; ++i) {
        const unit_name reader = access_map::reader_of(it, i);
        depend(unit, reader, found);
        waited |= reader != self;
      }
      if (!waited) depend(unit, it.writer, found);
      if (is_wait) return;
      it.readers = 0;
      it.writer = self;
    });
  }
}

// --- reductions -----------------------------------------------------------------------------------------------------

open_reduction& open_reduction_of(graph_core& core, const memory_region& target, const void* operation,
                                  std::span<const declared_access> accesses) {
  for (const declared_access& each : accesses)
    visit_regions(each, [&](const memory_region& region) {
      if (touch(region, target))
        throw error{errc::bad_argument,
                    "a unit declares an access to what it reduces into: it has a part of its own, which it is given"};
    });
  return core.reduction_of(target, operation);
}

open_reduction& graph_core::reduction_of(const memory_region& target, const void* operation) {
  check_thread("reduce()");
  const std::uint32_t settings = float_settings::of_this_thread().code();
  const auto known = std::find_if(reductions_.begin(), reductions_.end(), [&](const open_reduction& each) {
    return each.target.begin == target.begin && each.target.bytes == target.bytes && each.operation == operation &&
           each.float_settings == settings;
  });
  if (known != reductions_.end() && known->parts.size() < most_parts) return *known;
  close_reductions(target);
  return reductions_.emplace_back(open_reduction{.target = target, .operation = operation, .float_settings = settings});
}

// A unit that touches a target must come after the unit that combines its parts.
void graph_core::close_reductions(const memory_region& touched) {
  for (std::size_t i = 0; i < reductions_.size();) {
    if (!touch(touched, reductions_[i].target)) {
      ++i;
      continue;
    }
    open_reduction closed = std::move(reductions_[i]);
    reductions_.erase(reductions_.begin() + static_cast<std::ptrdiff_t>(i));
    const float_settings_scope as{float_settings{closed.float_settings}};
    closed.add_combiner(*this, closed);
  }
}

void graph_core::add(work_unit& unit, std::span<const declared_access> accesses) {
  if (accesses_.wants_sweep()) sweep();
  ++unit.generation;
  unit.number = ++added_;
  unit.float_settings = float_settings::of_this_thread().code();
  unit.made_ready_by = 0;
  unit.home = homes_of_units_ == nullptr ? 0 : homes_of_units_->find(accesses);
  unit.is_cancelled.store(false, std::memory_order_relaxed);
  unit.waits_for.store(work_unit::being_added, std::memory_order_relaxed);
  unit.successors.store(nullptr, std::memory_order_relaxed);
  std::uint32_t found = 0;
  std::uint32_t tiles = 0;  // number of stagings that the unit waits for
  std::size_t asked = 0;
  std::exception_ptr no_room;
  try {
    if (is_checked_) unit.declared = std::make_unique<std::vector<declared_access>>(accesses.begin(), accesses.end());
    for (const declared_access& each : accesses) declare(unit, each.region, each.mode, found);
    if (!tiles_.empty() && unit.run != nullptr) {
      unit.staged.reset(new std::vector<staged_tile>(std::exchange(tiles_, {})));
      for (; asked < stagings_.size(); ++asked)
        if (uses(*unit.staged, *stagings_[asked]) && stagings_[asked]->request(unit)) ++tiles;
    }
  } catch (...) {  // the unit still waits for the dependences found so far, but does nothing
    no_room = std::current_exception();
    for (; unit.staged != nullptr && asked < stagings_.size(); ++asked)
      std::erase_if(*unit.staged, [&](const staged_tile& each) { return each.of == stagings_[asked]; });
    if (unit.destroy != nullptr) unit.destroy(unit);
    unit.destroy = nullptr;
    unit.run = nullptr;
  }
  edges_ += found;
  const std::uint32_t all = found + tiles;
  if (all == 0 ||
      unit.waits_for.fetch_sub(work_unit::being_added - all, std::memory_order_acq_rel) == work_unit::being_added - all)
    ready_.push_fresh(unit);
  if (no_room) std::rethrow_exception(no_room);
}

// --- running --------------------------------------------------------------------------------------------------------

void graph_core::fail(const work_unit& unit, std::exception_ptr failure) noexcept {
  const std::scoped_lock lock{failure_mutex_};
  if (failure_ == nullptr || unit.number < failed_number_) {
    failure_ = std::move(failure);
    failed_number_ = unit.number;
  }
  has_failed_.store(true, std::memory_order_release);
}

work_unit& graph_core::defer() noexcept { return *std::exchange(running_, nullptr); }

void graph_core::end(work_unit& unit, const std::exception_ptr& failure) noexcept {
  if (failure) fail(unit, failure);
  settle(unit, 0, failure != nullptr);
}

void graph_core::run_checked(work_unit& unit) {
  struct as_checked_unit {
    explicit as_checked_unit(const work_unit& unit) { checked_unit = &unit; }
    ~as_checked_unit() { checked_unit = outer; }
    const work_unit* const outer = checked_unit;
  } const as{unit};
  std::optional<unit_pages> pages;
  if (checks_pages_) pages.emplace(watches_, unit);
  unit.run(unit);
}

void graph_core::run(work_unit& unit, std::uint32_t thread) {
  ready_units::thread_part& part = ready_.part(thread);
  bool failed = unit.run != nullptr && unit.is_cancelled.load(std::memory_order_relaxed);
  if (failed) {
    part.never_run.store(part.never_run.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  } else if (unit.run != nullptr) {
    if (await_end_) running_ = &unit;
    if (thread == 0) is_in_unit_ = true;
    try {
      const float_settings_scope as{float_settings{unit.float_settings}};
      if (is_checked_)
        run_checked(unit);
      else
        unit.run(unit);
    } catch (...) {
      fail(unit, std::current_exception());
      failed = true;
    }
    if (thread == 0) is_in_unit_ = false;
    if (await_end_ && running_ == nullptr && !failed) return;  // deferred; it may have ended already
  }
  settle(unit, thread, failed);
}

// Ends a unit: frees its record, and makes those units ready that waited for it last.
void graph_core::settle(work_unit& unit, std::uint32_t thread, bool failed) noexcept {
  ready_units::thread_part& part = ready_.part(thread);
  if (unit.destroy != nullptr) unit.destroy(unit);
  if (const auto tiles = std::move(unit.staged))
    for (std::size_t i = 0; i < tiles->size(); ++i) {
      staging* const of = (*tiles)[i].of;  // each staging once
      if (std::none_of(tiles->begin(), tiles->begin() + static_cast<std::ptrdiff_t>(i),
                       [of](const staged_tile& t) { return t.of == of; }))
        of->release(*tiles, failed);
    }
  if (failed) unit.has_failed.store(true, std::memory_order_relaxed);
  dependence* next = unit.successors.exchange(ended_mark, std::memory_order_acq_rel);
  // From here on the record may be another unit's. Its successors are still valid: they have waited for this unit.
  std::uint32_t ready = 0;
  while (next != nullptr) {
    work_unit& after = *next->after;
    next = next->next;
    if (failed) after.is_cancelled.store(true, std::memory_order_relaxed);
    if (after.waits_for.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      after.made_ready_by = thread;
      if (ready_.push(part, after)) ++ready;
    }
  }
  part.ended.store(part.ended.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (ready > 1) ready_.wake_helper(part);
  ready_.wake_owner();
}

bool graph_core::run_one(std::uint32_t thread, int looks) {
  ready_units::thread_part& part = ready_.part(thread);
  std::uint32_t taken = part.own.pop();
  if (taken == no_unit) taken = ready_.take(thread, looks);
  if (taken == no_unit) return false;
  if (const std::uint32_t next = part.own.peek(); next != no_unit) fetch_record(record(next));
  work_unit& unit = record(taken);
  if (unit.made_ready_by != thread)
    part.taken.store(part.taken.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (unit.home != part.home_number && unit.home != no_home)
    part.far.store(part.far.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  run(unit, thread);
  return true;
}

void graph_core::has_tiles(work_unit& unit, const std::exception_ptr& failure) noexcept {
  if (failure) {
    fail(unit, failure);
    unit.is_cancelled.store(true, std::memory_order_relaxed);
  }
  if (unit.waits_for.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  unit.made_ready_by = no_unit;
  ready_.push_late(unit);
  ready_.wake_owner();
}

// --- working --------------------------------------------------------------------------------------------------------

void graph_core::work(std::uint32_t thread) {
  int looks = 0;
  const auto is_over = [this] { return is_stopping_.load(std::memory_order_acquire); };
  while (!is_over()) {
    if (run_one(thread, looks)) {
      looks = 0;
    } else if (++looks < looks_before_sleep) {
      pause();
    } else {
      ready_.sleep_unless(thread, is_over);
      looks = 0;
    }
  }
}

template <class Done>
void graph_core::work_until(Done done) {
  for (int looks = 0; !done();) {
    if (run_one(0, looks)) {
      looks = 0;
    } else if (await_end_) {
      await_end_();
    } else if (++looks < looks_before_sleep) {
      pause();
    } else {
      ready_.owner_sleeps_unless(done);
      looks = 0;
    }
  }
}

void graph_core::stop() noexcept {
  is_stopping_.store(true, std::memory_order_release);
  ready_.wake_all();
  workers_.clear();  // waits for the threads
}

// --- waiting --------------------------------------------------------------------------------------------------------

void graph_core::settle_all() {
  work_until([this] { return ready_.ended() == added_; });
}

// Logs, once in the process, that there is nothing to protect; and for each array that its pages cannot be.
void graph_core::warn_of_unwatched() const {
  static std::atomic<bool> has_warned{false};
  if (watches_.empty() && stagings_.empty() && !has_warned.exchange(true))
    log(log_level::warning, "a task graph is checked by pages and watches no array: make a situ::watched_array");
  for (page_watch* const each : watches_) each->warn_of_refusal();
}

void graph_core::wait() {
  check_thread("wait()");
  while (!reductions_.empty()) close_reductions(reductions_.back().target);
  work_until([this] { return ready_.ended() == added_; });
  if (checks_pages_) warn_of_unwatched();
  accesses_.clear();
  if (homes_of_units_ != nullptr) homes_of_units_->forget();
  if (!has_failed_.load(std::memory_order_acquire)) return;
  for (std::uint32_t i = 0; i < in_use_; ++i) record(i).has_failed.store(false, std::memory_order_relaxed);
  has_failed_.store(false, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

void graph_core::wait_for(std::span<const declared_access> accesses) {
  check_thread("wait_for()");
  accesses = prepare(accesses);
  work_unit& unit = free_unit();
  unit.run = nullptr;
  unit.destroy = nullptr;
  add(unit, accesses);
  work_until([&] { return unit.has_ended(); });
  if (!unit.is_cancelled.load(std::memory_order_relaxed)) return;
  const std::scoped_lock lock{failure_mutex_};
  std::rethrow_exception(failure_);
}

task_graph_statistics graph_core::statistics() const {
  task_graph_statistics sum{.units = added_, .edges = edges_};
  ready_.add_to(sum);
  return sum;
}

}  // namespace situ::detail
