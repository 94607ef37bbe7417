// The part of a task pool that reaches members of other hosts, which have no access to the rings of this host.
//
//   host 0                                     host 1: a member has no task and finds none
//   member: between two tasks <---- asks ----- any member                links[0].has_asked
//           wants are noted:   links[1].wanted_by, wanting
//           takes a chunk out of its ring ---- gift: the tasks' bytes ---> into the ring there
//
// A member without tasks asks each other host once: a call, which any member there takes in, notes and answers. A member
// that shares tasks gives the oldest chunk, at once or between two tasks later on. When a gift has come, its host may ask
// that one again. Invariants, beside those of pool_core.h
//   1. `active_hosts` counts the hosts that are not idle, as `active` counts members; it is in the memory of the first
//      member's host. A host is counted before its `active` leaves 0, and until after it has come back to 0. So if
//      `active_hosts` is 0, no host has a task: the place that brings it to 0 starts the next run's count, and tells a
//      member of each host, which does the same for `active`.
//   2. A member that has sent a gift does not become idle before the gift is in the receiver's ring, and the receiver is
//      active before that.
//
// A wait for another host lets other code of this place run. Not thread-safe: it belongs to its place's thread, except
// for the links.
#pragma once

#include <situ/memory/ptr.h>
#include <situ/runtime/future.h>
#include <situ/runtime/team.h>
#include <situ/spread/detail/pool_core.h>
#include <situ/spread/detail/registry.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace situ::detail {

// The questions between this host and another one.
struct pool_link {
  std::atomic<std::uint32_t> wanted_by;  // the place there that wants tasks, + 1; 0: none does
  std::atomic<std::uint32_t> has_asked;  // not 0: this host has asked that one, and nothing has come since
};

// The members of a team by hosts, in the order of each host's first member; members are indices of the team.
struct hosts_of_team {
  explicit hosts_of_team(const team& members);
  std::vector<std::vector<std::uint32_t>> groups;
  std::size_t own = 0;  // the group of this place
};

class pool_hosts {
 public:
  // counting: the state at the first member. pre: `core` has this host's state. Collective.
  pool_hosts(pool_core& core, const hosts_of_team& hosts, ptr<pool_state> counting);
  // Waits for calls of other places that are running in the pool here.
  ~pool_hosts();
  pool_hosts(const pool_hosts&) = delete;
  pool_hosts& operator=(const pool_hosts&) = delete;

  // Returns true if a host wants tasks of this one.
  [[nodiscard]] bool are_wanting() const noexcept {
    return core_.state_->wanting.load(std::memory_order_relaxed) != 0;  // a member looks again after its next task
  }
  // Gives shared tasks of this place to hosts that want some. May wait. Throws place_lost_error; then no task is lost.
  void give();
  // Asks the hosts that have not been asked since their last gift. May wait.
  void ask();
  // Asks, and waits until all have answered and this place's gifts have arrived; returns true if meanwhile this place
  // has got tasks, or another member here shares some. Throws place_lost_error.
  [[nodiscard]] bool find_tasks();
  // Waits until the hosts that this place has asked have answered: when all members have, no call uses the pool's memory.
  void await_answers() noexcept;
  // Returns true if no gift of this place is on its way.
  [[nodiscard]] bool have_taken_gifts() const noexcept;

  // Makes this place active whose host was idle; returns false if the run is over. May wait.
  [[nodiscard]] bool join();
  // This host has become idle. May wait.
  void leave();
  // Tells that the run is over to the hosts that this place has not yet been able to tell. May wait.
  void tell_end();

 private:
  class visit;
  struct want {
    std::uint32_t host;
    place of;
  };

  [[nodiscard]] static pool_hosts& find(const object_id& id);
  [[nodiscard]] bool note_want(const want& noted);
  void put_want(const want& noted) noexcept;
  [[nodiscard]] std::optional<want> take_want() noexcept;
  void keep(pool_chunk* chunk);
  void send(pool_chunk* chunk, const want& to);
  void take_gift(std::uint32_t from, std::span<const std::byte> tasks);
  void settle_gifts();
  [[nodiscard]] bool are_answered() const noexcept;
  [[nodiscard]] bool is_gift_promised();
  [[nodiscard]] pool_link& link(std::uint32_t host) const noexcept { return core_.state_->links[host]; }

  pool_core& core_;
  object_id id_;
  std::vector<std::vector<place>> places_;  // of each host
  std::uint32_t own_;                       // this host
  ptr<std::uint64_t> active_hosts_;
  std::vector<future<bool>> asked_;    // whether a gift follows
  std::vector<future<>> gifts_;        // ready when the tasks are in the receiver's ring
  std::uint32_t giving_ = 0;           // chunks that are out of the ring, and not yet in gifts_
  std::uint32_t visitors_ = 0;         // calls that run in this object
  std::uint32_t next_ = 0;             // the host whose want is looked at first
  std::vector<std::uint32_t> untold_;  // hosts that do not know yet that the run is over
};

}  // namespace situ::detail
