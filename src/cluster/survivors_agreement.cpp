#include "cluster/survivors_agreement.h"

namespace situ::detail::cluster {

void survivors_agreement::look(const view& now) {
  if (now == seen_) return;
  seen_ = now;
  step();
}

void survivors_agreement::hear(std::uint16_t from, const rest_news& what) {
  if (from >= others_.size() || from == self_ || !seen_.hosts.has(from)) return;
  other& its = others_[from];
  if (its.said && what.number <= its.said->number) return;  // later news came first
  its.said = what;
  const std::uint16_t decider = seen_.hosts.first();
  if (from == decider || self_ == decider) adopt(what);
  step();
}

void survivors_agreement::adopt(const rest_news& from) {
  if (from.agreed <= agreed_) return;
  agreed_ = from.agreed;
  team_ = from.team;
}

void survivors_agreement::step() {
  const std::uint16_t decider = seen_.hosts.first();
  if (decider != self_) return tell_decider(decider);
  decide();
  tell_others();
}

// Only the decider calls it.
void survivors_agreement::decide() {
  const std::uint64_t next = agreed_ + 1;
  place_set members = of_host(seen_.living, self_);
  if (!seen_.may_decide || (!members.is_empty() && seen_.round < next)) return;
  for (std::uint16_t h = 0; h < others_.size(); ++h)
    if (h != self_ && seen_.hosts.has(h) && !has_come(h, next, members)) return;
  if (members.is_empty()) return;
  agreed_ = next;
  team_ = members;
}

// Returns whether all live places of that host have come to the round, and adds them.
bool survivors_agreement::has_come(std::uint16_t host, std::uint64_t to, place_set& members) const {
  place_set living = of_host(seen_.living, host);
  if (living.is_empty()) return true;  // its server may have ended
  const std::optional<rest_news>& said = others_[host].said;
  if (!said || said->verdicts < seen_.verdicts) return false;
  living.keep(said->living);
  if (!living.is_empty() && said->round < to) return false;
  members.add(living);
  return true;
}

void survivors_agreement::tell_others() {
  for (std::uint16_t h = 0; h < others_.size(); ++h) {
    other& its = others_[h];
    if (h == self_ || !seen_.hosts.has(h) || !its.said || its.said->agreed >= agreed_ || its.told >= agreed_) continue;
    its.told = agreed_;
    rest_news news = own_news();
    news.number = ++number_;
    letters_.push_back({h, std::move(news)});
  }
}

// A host whose places have not come says nothing: the decider waits for it.
void survivors_agreement::tell_decider(std::uint16_t decider) {
  if (decider == host_set::none || seen_.round == 0) return;
  rest_news news = own_news();
  if (told_to_ == decider && told_ == news) return;
  told_to_ = decider;
  told_ = news;
  news.number = ++number_;
  letters_.push_back({decider, std::move(news)});
}

place_set survivors_agreement::of_host(const place_set& places, std::uint16_t host) const {
  place_set found{places.size()};
  for (std::uint32_t place = 0; place < places.size(); ++place)
    if (homes_[place].host == host && places.has(place)) found.add(place);
  return found;
}

rest_news survivors_agreement::own_news() const {
  return {.verdicts = seen_.verdicts,
          .round = seen_.round,
          .agreed = agreed_,
          .living = of_host(seen_.living, self_),
          .team = team_.size() == homes_.size() ? team_ : place_set{static_cast<std::uint32_t>(homes_.size())}};
}

}  // namespace situ::detail::cluster
