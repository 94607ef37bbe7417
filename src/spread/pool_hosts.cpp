#include "spread/pool_hosts.h"

#include <situ/base/detail/type_name.h>
#include <situ/base/error.h>
#include <situ/fabric/atomic.h>
#include <situ/fabric/detail/far.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/at.h>
#include <situ/runtime/deadline.h>
#include <situ/runtime/detail/scheduler.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <utility>

namespace situ::detail {
namespace {

// A gift that was promised comes with the answer that promises it, or soon after; a later one finds an idle place.
constexpr std::chrono::milliseconds longest_wait_for_gift{1};

std::uint32_t run_of(std::uint64_t active) noexcept { return static_cast<std::uint32_t>(active / one_pool_run); }

std::uint16_t host_of(std::uint32_t place) noexcept {
  return current->far == nullptr ? std::uint16_t{0} : current->far->homes()[place].host;
}

// Throws unless the bytes are tasks, each with its trailer.
void check_tasks(std::span<const std::byte> tasks) {
  for (std::size_t left = tasks.size(); left != 0;) {
    pool_trailer trailer{};
    if (left >= sizeof(trailer)) std::memcpy(&trailer, tasks.data() + left - sizeof(trailer), sizeof(trailer));
    if (trailer.bytes < sizeof(trailer) || trailer.bytes > left || trailer.bytes % 8 != 0)
      throw_error(errc::bad_message,
                  fmt::format("tasks of a pool, sent by another host, do not decode {} bytes after their begin: places "
                              "of different builds, or a stray write",
                              left));
    left -= trailer.bytes;
  }
}

}  // namespace

hosts_of_team::hosts_of_team(const team& members) {
  std::vector<std::uint16_t> hosts;
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const std::uint16_t host = host_of(members.member(i).index());
    const auto at = static_cast<std::size_t>(std::find(hosts.begin(), hosts.end(), host) - hosts.begin());
    if (at == hosts.size()) {
      hosts.push_back(host);
      groups.emplace_back();
    }
    groups[at].push_back(i);
    if (i == members.index()) own = at;
  }
}

// Counts a call while it runs in the object, which must not end before.
class pool_hosts::visit {
 public:
  explicit visit(pool_hosts& of) noexcept : of_{of} { ++of_.visitors_; }
  ~visit() { --of_.visitors_; }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;

 private:
  pool_hosts& of_;
};

pool_hosts::pool_hosts(pool_core& core, const hosts_of_team& hosts, ptr<pool_state> counting)
    : core_{core},
      id_{next_object_id(core.members(), name_hash<pool_core>())},
      own_{static_cast<std::uint32_t>(hosts.own)},
      active_hosts_{reinterpret_cast<std::uint64_t*>(counting.address() + offsetof(pool_state, active_hosts))} {
  for (const std::vector<std::uint32_t>& group : hosts.groups) {
    places_.emplace_back();
    for (const std::uint32_t member : group) places_.back().push_back(core.members().member(member));
  }
  register_object(id_, this);
}

pool_hosts::~pool_hosts() {
  if (current->runtime == nullptr) return;
  unregister_object(id_);
  struct all_gone : waiter {
    const pool_hosts* of;
  } w;
  w.of = this;
  w.whom.outlives_losses = true;  // they wait for answers of hosts, which come or are lost
  w.is_done = [](waiter* each) { return static_cast<all_gone*>(each)->of->visitors_ == 0; };
  if (visitors_ != 0) (void)current->scheduler->wait_unless_lost(w);
}

void pool_hosts::await_answers() noexcept {
  struct all_answered : waiter {
    const pool_hosts* of;
  } w;
  w.of = this;
  w.whom.outlives_losses = true;  // the question to a lost place ends with it
  w.is_done = [](waiter* each) {
    return static_cast<all_answered*>(each)->of->are_answered() || is_lost(*current->job, current->place);
  };
  if (!w.is_done(&w)) (void)current->scheduler->wait_unless_lost(w);
}

bool pool_hosts::are_answered() const noexcept {
  return std::ranges::all_of(asked_, [](const future<bool>& each) { return each.is_ready(); });
}

pool_hosts& pool_hosts::find(const object_id& id) { return *static_cast<pool_hosts*>(find_object(id)); }

// --- Asking and giving ---

void pool_hosts::ask() {
  std::erase_if(asked_, [](const future<bool>& each) { return each.is_ready(); });
  for (std::uint32_t step = 1; step < places_.size(); ++step) {
    const std::uint32_t host = (own_ + step) % static_cast<std::uint32_t>(places_.size());
    if (link(host).has_asked.exchange(1, std::memory_order_relaxed) != 0) continue;
    const std::vector<place>& members = places_[host];
    try {
      asked_.push_back(async_at(
          members[core_.random_ % members.size()],
          [](const object_id& id, std::uint32_t from, std::uint32_t for_place) {
            pool_hosts& here = find(id);
            const visit counted{here};
            return here.note_want({from, place{for_place}});
          },
          id_, own_, current->place));
    } catch (...) {
      link(host).has_asked.store(0, std::memory_order_relaxed);
      throw;
    }
  }
}

// Returns true if the want is served already.
bool pool_hosts::note_want(const want& noted) {
  put_want(noted);
  give();
  return link(noted.host).wanted_by.load(std::memory_order_relaxed) == 0;
}

void pool_hosts::put_want(const want& noted) noexcept {
  if (link(noted.host).wanted_by.exchange(noted.of.index() + 1, std::memory_order_acq_rel) == 0)
    core_.state_->wanting.fetch_add(1, std::memory_order_release);
}

std::optional<pool_hosts::want> pool_hosts::take_want() noexcept {
  const auto hosts = static_cast<std::uint32_t>(places_.size());
  for (std::uint32_t looks = 0; looks < hosts; ++looks) {
    const std::uint32_t host = next_++ % hosts;
    const std::uint32_t member = link(host).wanted_by.exchange(0, std::memory_order_acq_rel);
    if (member == 0) continue;
    core_.state_->wanting.fetch_sub(1, std::memory_order_relaxed);
    return want{host, place{member - 1}};
  }
  return std::nullopt;
}

void pool_hosts::give() {
  const visit counted{*this};
  settle_gifts();
  while (are_wanting()) {
    struct giving {
      std::uint32_t& chunks;
      explicit giving(std::uint32_t& of) noexcept : chunks{++of} {}
      ~giving() { --chunks; }
    } const now{giving_};
    pool_chunk* const oldest = pool_core::steal(*core_.root_);
    if (oldest == nullptr) return;
    const std::optional<want> to = take_want();
    if (!to) return keep(oldest);  // another member has served it
    send(oldest, *to);
  }
}

// Puts a chunk back.
void pool_hosts::keep(pool_chunk* chunk) {
  if (core_.is_full()) core_.grow();
  core_.share(chunk);
}

void pool_hosts::send(pool_chunk* chunk, const want& to) {
  try {
    gifts_.push_back(async_at(
        to.of,
        [](const object_id& id, std::uint32_t from, const std::vector<std::byte>& tasks) {
          pool_hosts& here = find(id);
          const visit counted{here};
          here.take_gift(from, tasks);
        },
        id_, own_, std::vector<std::byte>(chunk->tasks(), chunk->tasks() + chunk->used)));
  } catch (...) {
    keep(chunk);
    put_want(to);
    throw;
  }
  core_.recycle(chunk);
}

void pool_hosts::take_gift(std::uint32_t from, std::span<const std::byte> tasks) {
  link(from).has_asked.store(0, std::memory_order_relaxed);
  check_tasks(tasks);
  pool_chunk* const chunk = core_.make_chunk(tasks.size());
  std::memcpy(chunk->tasks(), tasks.data(), tasks.size());
  chunk->used = tasks.size();
  try {
    if (core_.is_idle_) (void)core_.stop_idling();  // if the run is over, the tasks are of the next one
  } catch (...) {
    core_.recycle(chunk);
    throw;
  }
  ++core_.stolen_;
  keep(chunk);
}

bool pool_hosts::have_taken_gifts() const noexcept {
  return giving_ == 0 && std::ranges::all_of(gifts_, [](const future<>& each) { return each.is_ready(); });
}

// Forgets the gifts that have arrived. A gift that the receiver has not taken is lost: the run ends with the error.
void pool_hosts::settle_gifts() {
  const auto arrived = std::ranges::stable_partition(gifts_, [](const future<>& each) { return !each.is_ready(); });
  const std::vector<future<>> over{arrived.begin(), arrived.end()};
  gifts_.erase(arrived.begin(), arrived.end());
  for (const future<>& each : over) {
    try {
      each.get();
    } catch (const place_lost_error&) {
      check_not_ended(core_.members());
      throw;
    } catch (...) {
      core_.note_failure();
    }
  }
}

bool pool_hosts::find_tasks() {
  settle_gifts();
  ask();
  const auto are_settled = [this] { return have_taken_gifts() && are_answered(); };
  const auto have_come = [this] { return core_.has_tasks() || core_.others_share(); };
  while (!have_come() && !are_settled()) core_.sleep([&] { return core_.has_tasks() || are_settled(); });
  settle_gifts();
  if (have_come()) return true;
  if (is_gift_promised())
    core_.sleep([this] { return core_.has_tasks(); }, deadline{longest_wait_for_gift}.nanoseconds());
  return have_come() || !have_taken_gifts();
}

// pre: all have answered.
bool pool_hosts::is_gift_promised() {
  bool is_promised = false;
  for (const future<bool>& each : std::exchange(asked_, {})) {
    try {
      is_promised |= each.get();
    } catch (const place_lost_error&) {
      throw;
    } catch (const error&) {  // after a loss the pool may have ended there
    }
  }
  return is_promised;
}

// --- The end of a run ---

bool pool_hosts::join() {
  const visit counted{*this};
  if (run_of(atomic_fetch_add(active_hosts_, 1)) != core_.runs_) {
    leave();
    return false;
  }
  const std::uint64_t before = core_.state_->active.fetch_add(1, std::memory_order_acq_rel);
  if (before % one_pool_run != 0) leave();  // another member has counted this host, too
  return true;
}

void pool_hosts::leave() {
  const visit counted{*this};
  const std::uint64_t now = atomic_fetch_add(active_hosts_, -1) - 1;
  if (now % one_pool_run != 0) return;
  const std::uint64_t next = now + one_pool_run + places_.size();
  if (atomic_compare_exchange(active_hosts_, now, next) != now) return;  // another place ends it
  for (std::uint32_t host = 0; host < places_.size(); ++host)
    if (host != own_) untold_.push_back(host);
  core_.begin_next_run();
  tell_end();
}

void pool_hosts::tell_end() {
  const visit counted{*this};
  while (!untold_.empty()) {
    const std::uint32_t host = untold_.back();
    untold_.pop_back();
    try {
      (void)async_at(
          places_[host].front(),
          [](const object_id& id) {
            pool_hosts& here = find(id);
            const visit counted_there{here};
            here.core_.begin_next_run();
          },
          id_);
    } catch (...) {
      untold_.push_back(host);
      throw;
    }
  }
}

}  // namespace situ::detail
