// The agreement of a job's hosts on the team of places that go on after a loss (survivors()), as one host sees it.
//
// A state machine without clock, network or process: the host's server shows it what it sees of the job, and gives it
// the news of other servers; it returns the news to send, and the last team that the hosts have agreed on. The
// *decider* of a round is the first of the hosts that the last verdict left (hosts_alive.h).
//
//   every host --- how far its live places have come, which these are, the last team that it knows ---> the decider
//   the decider, once all have come --- the team of the round ---> every host
//
// Invariants
//   1. The team of a round is decided once all live places of all hosts that go on have come to it. Its members are the
//      places that lived when their hosts said so; one that dies later stays a member, and its end is told of then.
//   2. A host takes a team from the decider of the last verdict that it knows only, and nothing of a lost host. A decider
//      decides only when it has the news of each other host since the verdict that it knows. So a team that an earlier
//      decider gave to any host that goes on reaches a later decider, which takes it over: the hosts that go on have one
//      team for each round.
//   3. Rounds are agreed on in order. A place comes to the next only once it has the team of the last.
// This is the view change with a flush of virtual synchrony (Birman and Joseph, 1987), on verdicts that are decisions
// of Paxos. Belongs to one thread.
#pragma once

#include <situ/memory/detail/place_home.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cluster/host_set.h"
#include "cluster/protocol.h"

namespace situ::detail::cluster {

class survivors_agreement {
 public:
  // The job as the host's server sees it.
  struct view {
    std::uint32_t verdicts = 0;  // that it knows
    host_set hosts;              // that go on, by the last of them
    place_set living;            // of all hosts: places that have not ended
    std::uint64_t round = 0;     // that all live places of this host have come to; 0: not even to the first
    bool may_decide = true;      // false while the others may have given this host up
    friend bool operator==(const view&, const view&) = default;
  };
  struct letter {
    std::uint16_t to;
    rest_news what;
  };

  // homes: of all places; they outlive this.
  survivors_agreement(std::span<const place_home> homes, std::uint16_t hosts, std::uint16_t self)
      : homes_{homes}, self_{self}, others_(hosts) {}

  // The inputs. The owner calls look() whenever the view may have changed, and before each hear().
  void look(const view& now);
  void hear(std::uint16_t from, const rest_news& what);

  // Returns the news to send since the last call.
  [[nodiscard]] std::vector<letter> take_letters() noexcept { return std::exchange(letters_, {}); }
  // Returns the last round that was agreed on, and the members of its team. 0: none.
  [[nodiscard]] std::uint64_t round() const noexcept { return agreed_; }
  [[nodiscard]] const place_set& team() const noexcept { return team_; }

 private:
  struct other {
    std::optional<rest_news> said;  // last
    std::uint64_t told = 0;         // the last round whose team this host, as the decider, has sent to it
  };

  void step();
  void adopt(const rest_news& from);
  void decide();
  [[nodiscard]] bool has_come(std::uint16_t host, std::uint64_t to, place_set& members) const;
  void tell_others();
  void tell_decider(std::uint16_t decider);
  [[nodiscard]] place_set of_host(const place_set& places, std::uint16_t host) const;
  [[nodiscard]] rest_news own_news() const;

  const std::span<const place_home> homes_;
  const std::uint16_t self_;
  view seen_;
  std::vector<other> others_;
  std::vector<letter> letters_;
  std::uint64_t number_ = 0;  // of this host's news
  std::uint64_t agreed_ = 0;
  place_set team_;
  // The last news to a decider, and that host: nothing is said twice.
  std::optional<rest_news> told_;
  std::uint16_t told_to_ = host_set::none;
};

}  // namespace situ::detail::cluster
