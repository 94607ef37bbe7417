#include <situ/task/place_graph.h>

#include <situ/base/error.h>
#include <situ/fabric/detail/far.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/runtime.h>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <set>

#include "base/float_settings.h"
#include "task/graph_core.h"

namespace situ {
namespace detail {

// The graph has one thread, the place's. It runs a unit by starting a task that makes the call.
class place_graph_core {
 public:
  explicit place_graph_core(const place_graph_options& options)
      : at_once_{options.at_once},
        added_(place_count()),
        under_way_(place_count()),
        waiting_(place_count()),
        units_at_(place_count()),
        is_checked_{options.checked},
        units_{{.threads = 1,
                .window = options.window,
                .checked = options.checked,
                .granularity_bytes = options.granularity_bytes},
               [this] { await_end(); }} {
    if (at_once_ == 0) throw error{errc::bad_argument, "a place graph with at_once 0 would ask nobody: give 1 or more"};
  }

  [[nodiscard]] place place_of(std::span<const declared_access> accesses, bool reaches_all, bool goes_first) {
    bytes_.assign(under_way_.size(), 0);
    std::uint64_t all = 0;
    std::uint32_t written = 0;
    for (const declared_access& each : accesses)
      visit_regions(each, [&](const memory_region& region) {
        if (region.size() == 0) return;
        const std::uint32_t at = ptr<const std::byte>{static_cast<const std::byte*>(region.begin)}.place().index();
        bytes_[at] += region.size();
        all += region.size();
        if (each.mode != access_mode::read) written = at;
      });
    std::uint32_t best = 0;
    for (std::uint32_t p = 1; p < bytes_.size(); ++p)
      if (bytes_[p] > bytes_[best] || (bytes_[p] == bytes_[best] && added_[p] < added_[best])) best = p;
    if (goes_first) {  // a place that waits for the unit runs nothing that keeps its thread after that
      const std::uint32_t own = here().index();
      const bool is_half_here = 2 * bytes_[own] == all && bytes_[own] == bytes_[written];
      best = is_half_here ? own : written;
    }
    if (!reaches_all) check_reached_from(place{best});
    return place{best};
  }

  void has_added(place where) {
    ++added_[where.index()];
    if (!own_.empty()) (void)start_own();  // units that were ready when add() waited for room
  }

  void wait() {
    try {
      units_.wait();
      if (loss_ != nullptr) std::rethrow_exception(loss_);
    } catch (const place_lost_error&) {
      loss_ = nullptr;
      std::ranges::fill(added_, 0);
      throw;
    } catch (...) {
      std::ranges::fill(added_, 0);  // units that never ran have not decremented it
      throw;
    }
  }

  [[nodiscard]] unit_order order_of_next(bool goes_first) {
    const std::uint64_t number = ++numbers_;
    if (!goes_first) return {number, nullptr};
    first_.insert(number);
    return {number, std::shared_ptr<void>{this, [this, number](void*) { first_.erase(number); }}};
  }

  // Units of this place begin once the others have been asked for theirs, and once what goes first has ended: they keep
  // the thread until they end or wait.
  void start(place where, const unit_order& order, std::function<void()> call) {
    work_unit& unit = units_.defer();
    call_to_come next{&unit, std::move(call), order};
    if (where == here() && order.first == nullptr)
      own_.push_back(std::move(next));
    else
      start_now(where, std::move(next));
  }

  // Other units go on after it, those of this place too.
  void wait_for(std::initializer_list<declared_access> accesses) {
    try {
      units_.wait_for(std::span{accesses.begin(), accesses.size()});
    } catch (...) {
      (void)start_own();
      throw;
    }
    (void)start_own();
  }

  graph_core& units() noexcept { return units_; }
  [[nodiscard]] bool runs_units_here() const noexcept { return is_checked_; }
  [[nodiscard]] const std::vector<std::uint64_t>& units_at() const noexcept { return units_at_; }

 private:
  // Throws if a unit at `where` cannot reach all bytes that it declares: bytes_, by place.
  void check_reached_from(place where) const {
    if (current->far == nullptr) return;
    const std::span<const place_home> homes = current->far->homes();
    const std::uint16_t host = is_checked_ ? current->far->host() : homes[where.index()].host;
    for (std::uint32_t p = 0; p < bytes_.size(); ++p)
      if (bytes_[p] != 0 && homes[p].host != host)
        throw_error(errc::not_supported,
                    fmt::format("a unit of a place graph declares bytes of place {}, which is on another host than the "
                                "place where it runs: declare what lies on one host, and get() the rest in the unit",
                                p));
  }

  struct call_to_come {
    work_unit* unit;
    std::function<void()> call;
    unit_order order;
  };

  void start_now(place where, call_to_come next) {
    std::deque<call_to_come>& waiting = waiting_[where.index()];
    if (under_way_[where.index()] < at_once_)
      run(where, std::move(next));
    else if (next.order.first != nullptr)
      waiting.push_front(std::move(next));
    else
      waiting.push_back(std::move(next));
  }

  void run(place where, call_to_come first) {
    (void)async([this, where, next = std::move(first)]() mutable {
      while (next.unit != nullptr) {
        std::exception_ptr failure;
        try {
          const float_settings_scope as{float_settings{next.unit->float_settings}};
          next.call();  // which carries the settings to the place of the unit
        } catch (...) {
          failure = std::current_exception();
        }
        ++units_at_[where.index()];
        --added_[where.index()];
        units_.end(*next.unit, failure);
        std::deque<call_to_come>& waiting = waiting_[where.index()];
        next = {};
        if (waiting.empty()) {
          --under_way_[where.index()];
        } else {
          next = std::move(waiting.front());
          waiting.pop_front();
        }
        if (ended_) std::exchange(ended_, std::nullopt)->set_value();
      }
    });
    ++under_way_[where.index()];
  }

  // Starts the units of this place that are ready, but for those behind one that goes first. Returns false if there is
  // no memory for the task of one: it has ended.
  bool start_own() {
    const auto waits = [this](const call_to_come& each) {
      return !first_.empty() && *first_.begin() < each.order.number;
    };
    const auto begin = std::stable_partition(own_.begin(), own_.end(), waits);
    std::vector<call_to_come> all{std::make_move_iterator(begin), std::make_move_iterator(own_.end())};
    own_.erase(begin, own_.end());
    bool is_started = true;
    for (call_to_come& next : all) {
      work_unit& unit = *next.unit;
      try {
        start_now(here(), std::move(next));
      } catch (...) {
        --added_[here().index()];
        units_.end(unit, std::current_exception());
        is_started = false;
      }
    }
    return is_started;
  }

  // Waits until a unit has ended. A loss stays for wait().
  void await_end() {
    if (!start_own()) return;
    ended_.emplace();
    const std::exception_ptr loss = await_despite_losses(ended_->get_future(), [] {});  // units end, whatever is lost
    if (loss_ == nullptr) loss_ = loss;
  }

  std::uint32_t at_once_;
  std::vector<std::uint64_t> bytes_;
  std::vector<std::uint64_t> added_;  // units that have not ended, by place
  std::vector<std::uint32_t> under_way_;
  std::vector<std::deque<call_to_come>> waiting_;
  std::vector<call_to_come> own_;  // of this place, not begun
  std::uint64_t numbers_ = 0;
  std::set<std::uint64_t> first_;  // the numbers of units that go first, and have not ended
  std::vector<std::uint64_t> units_at_;
  std::optional<promise<>> ended_;
  std::exception_ptr loss_;  // not yet thrown by wait()
  bool is_checked_;
  graph_core units_;
};

void check_not_lost_here() {
  if (is_lost(*current->job, current->place)) throw_loss_of(*current->job, current->place);
}

place place_of_unit(place_graph_core& core, std::span<const declared_access> accesses, bool reaches_all,
                    bool goes_first) {
  return core.place_of(accesses, reaches_all, goes_first);
}
bool runs_units_here(const place_graph_core& core) noexcept { return core.runs_units_here(); }
void unit_added(place_graph_core& core, place where) { core.has_added(where); }
unit_order order_of_next(place_graph_core& core, bool goes_first) { return core.order_of_next(goes_first); }
void start_unit(place_graph_core& core, place where, const unit_order& order, std::function<void()> call) {
  core.start(where, order, std::move(call));
}
graph_core& units_of(place_graph_core& core) noexcept { return core.units(); }

}  // namespace detail

place_graph::place_graph(const place_graph_options& options)
    : core_{std::make_unique<detail::place_graph_core>(options)} {}
place_graph::~place_graph() = default;

void place_graph::wait() { core_->wait(); }
void place_graph::settle() { core_->units().settle_all(); }
void place_graph::wait_for(std::initializer_list<declared_access> accesses) { core_->wait_for(accesses); }
task_graph_statistics place_graph::statistics() const { return detail::units_of(*core_).statistics(); }
const std::vector<std::uint64_t>& place_graph::units_at() const noexcept { return core_->units_at(); }

}  // namespace situ
