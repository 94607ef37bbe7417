// Nodes spread over the places, and the rounds in which they send each other messages.
//
// A kernel K is a class without state:
//   K::node, K::make(problem, v)           what a node knows, and what it knows at first; lives at its place
//   K::message                             what nodes send: part of a closure, which travels as an object graph
//   K::captures_links                      whether closures take the links along
//   K::step(turn, node, stage)             a node's turn in a round: reads the messages of the rounds before, sends
//                                          others
//   K::receive(turn, node, closure)        instead of an inbox: run as soon as a message arrives, and may send on
//   K::show(node, query)                   what asking neighbours may see: a pointer to an object that nobody changes
//                                          in that round
//   K::run(driver)                         at place 0: the rounds, until done
//   K::result(node)                        the node's row of the answer
//
// A round is a `finish` around one `async_at` for each node; within it, each message is an `async_at` to the receiver's
// place, and asking is an `at`. It ends when all messages have arrived, so nobody sees one of its own round. What a
// node finds in its inbox is ordered by sender, hence independent of the number of places and of the order of arrival.
// Nodes of a place take their turns as tasks of that place, never at the same time; only asking waits, and meanwhile
// others take theirs.
//
// A closure stays where it is until its call is over, since the receiver may pull it; then the continuation that owns
// it goes.
#pragma once

#include "at_timers.h"
#include "instance.h"
#include "kernels/kernels.h"

#include <situ/graph.h>
#include <situ/situ.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

namespace imsuite {

// What a node is told to do in a round.
struct order {
  std::int32_t stage = 0;
  std::int32_t argument = 0;
  std::int32_t beat = 0;  // of a stage's rounds, from 0
};

// What a round amounted to.
struct tally {
  std::int64_t sent = 0;    // messages
  std::int64_t awake = 0;   // nodes that want another round, though they may have sent nothing
  std::int64_t report = 0;  // the sum of what the nodes reported
  tally& operator+=(const tally& other) noexcept {
    sent += other.sent;
    awake += other.awake;
    report += other.report;
    return *this;
  }
};

template <class K>
using letter = closure<typename K::message>;

template <class K>
struct part : part_base {
  const problem* given = nullptr;
  const instance* resident = nullptr;
  vertex first = 0;
  std::vector<typename K::node> nodes;
  std::vector<std::vector<situ::owned<letter<K>>>> inboxes;

  [[nodiscard]] std::size_t index(vertex v) const noexcept { return static_cast<std::size_t>(v - first); }
};
// The calling place's part, by what a closure captured.
template <class K>
[[nodiscard]] part<K>& part_here(const instance& self) {
  return *static_cast<part<K>*>(self.where->parts[situ::here().index()].local());
}

template <class K>
typename K::shown const* answer_query(const closure<std::int32_t>* c);
template <class K>
void deliver(situ::owned<letter<K>> c);

// A node's turn.
template <class K>
class turn {
 public:
  using inbox = std::vector<situ::owned<letter<K>>>;
  turn(part<K>& here, const instance& self, vertex v, std::int32_t round, order what, inbox received)
      : here_{here}, self_{self}, self_vertex_{v}, round_{round}, order_{what}, received_{std::move(received)} {}

  [[nodiscard]] vertex self() const noexcept { return self_vertex_; }
  [[nodiscard]] vertex nodes() const noexcept { return self_.what->nodes; }
  [[nodiscard]] const parameters& what() const noexcept { return *self_.what; }
  [[nodiscard]] std::int32_t beat() const noexcept { return order_.beat; }
  [[nodiscard]] std::int32_t argument() const noexcept { return order_.argument; }
  [[nodiscard]] const inbox& received() const noexcept { return received_; }
  [[nodiscard]] const tally& outcome() const noexcept { return tally_; }

  // The node's links, by what the closure captured, or else by what its place knows.
  [[nodiscard]] std::vector<link> links() const {
    if (self_.links == nullptr) return here_.given->net.links[static_cast<std::size_t>(self_vertex_)];
    std::vector<link> found;
    const auto n = static_cast<std::size_t>(self_.links->nodes);
    for (std::size_t to = 0; to < n; ++to)
      if (const std::int32_t weight = self_.links->weights[static_cast<std::size_t>(self_vertex_) * n + to];
          weight != 0)
        found.push_back({static_cast<vertex>(to), weight});
    return found;
  }

  void send(vertex to, typename K::message message) {
    auto c = make_in_segment<letter<K>>(here_.resident, self_vertex_, to, round_,
                                        static_cast<std::int32_t>(tally_.sent++), std::move(message));
    auto* const graph = c.get();
    const at_timer time;
    situ::async_at(self_.where->place_of(to), &deliver<K>, graph).then([kept = std::move(c), time] { time.end(); });
  }
  void send_to_all(const typename K::message& message, vertex except = no_vertex) {
    for (const link& l : links())
      if (l.to != except) send(l.to, message);
  }
  // What node `of` shows, as a copy. Waits.
  [[nodiscard]] auto ask(vertex of, std::int32_t query = 0) {
    const auto c = make_in_segment<closure<std::int32_t>>(here_.resident, self_vertex_, of, round_, 0, query);
    const at_timer time;
    auto shown = situ::at(self_.where->place_of(of), &answer_query<K>, c.get());
    time.end();
    return shown;
  }
  void report(std::int64_t value) noexcept { tally_.report += value; }
  void stay_awake() noexcept { tally_.awake = 1; }

 private:
  part<K>& here_;
  const instance& self_;
  vertex self_vertex_;
  std::int32_t round_;
  order order_;
  inbox received_;
  tally tally_;
};

template <class K>
concept receives_at_once = requires(turn<K>& t, typename K::node& n, const letter<K>& c) { K::receive(t, n, c); };

template <class K>
void deliver(situ::owned<letter<K>> c) {
  const function_timer time;
  part<K>& here = part_here<K>(*c->self);
  const std::size_t index = here.index(c->to);
  if constexpr (receives_at_once<K>) {
    turn<K> now{here, *c->self, c->to, c->round, {}, {}};
    K::receive(now, here.nodes[index], *c);
  } else {
    here.inboxes[index].push_back(std::move(c));
  }
}

template <class K>
typename K::shown const* answer_query(const closure<std::int32_t>* c) {
  const function_timer time;
  part<K>& here = part_here<K>(*c->self);
  return K::show(here.nodes[here.index(c->to)], c->message);
}

// Takes what was sent before `round`, ordered by sender and sequence.
template <class K>
[[nodiscard]] typename turn<K>::inbox take_inbox(part<K>& here, std::size_t index, std::int32_t round) {
  auto& waiting = here.inboxes[index];
  const auto is_of_this_round = [round](const auto& c) { return c->round >= round; };
  const auto older = std::stable_partition(waiting.begin(), waiting.end(), is_of_this_round);
  typename turn<K>::inbox taken(std::make_move_iterator(older), std::make_move_iterator(waiting.end()));
  waiting.erase(older, waiting.end());
  std::sort(taken.begin(), taken.end(), [](const auto& a, const auto& b) {
    return std::pair{a->from, a->sequence} < std::pair{b->from, b->sequence};
  });
  return taken;
}

template <class K>
tally take_turn(const closure<order>* c) {
  const function_timer time;
  part<K>& here = part_here<K>(*c->self);
  const std::size_t index = here.index(c->to);
  turn<K> now{here, *c->self, c->to, c->round, c->message, take_inbox(here, index, c->round)};
  K::step(now, here.nodes[index], c->message.stage);
  return now.outcome();
}

// At place 0.
template <class K>
class driver {
 public:
  explicit driver(const instance& self) : self_{self} {}
  [[nodiscard]] const parameters& what() const noexcept { return *self_.what; }

  // One round of all nodes.
  tally round(std::int32_t stage, std::int32_t argument = 0, std::int32_t beat = 0) {
    return round_of(0, self_.what->nodes, {stage, argument, beat});
  }
  // A turn of one node.
  tally start(vertex v, std::int32_t stage) { return round_of(v, v + 1, {stage, 0, 0}); }
  // Rounds until nothing is sent and all nodes sleep.
  tally settle(std::int32_t stage, std::int32_t argument = 0) {
    tally total;
    for (std::int32_t beat = 0;; ++beat) {
      const tally now = round(stage, argument, beat);
      total += now;
      if (now.sent == 0 && now.awake == 0) return total;
    }
  }

 private:
  tally round_of(vertex begin, vertex end, order what) {
    ++round_;
    std::vector<segment_owner<closure<order>>> orders;
    std::vector<situ::future<tally>> turns;
    situ::finish([&] {
      for (vertex v = begin; v < end; ++v) {
        orders.push_back(make_in_segment<closure<order>>(&self_, no_vertex, v, round_, 0, what));
        const at_timer time;
        turns.push_back(situ::async_at(self_.where->place_of(v), &take_turn<K>, orders.back().get()));
        if (timers_here().is_on) turns.back() = turns.back().then([time](tally result) { return time.end(), result; });
      }
    });
    tally total;
    for (auto& turn : turns) total += turn.get();
    return total;
  }

  const instance& self_;
  std::int32_t round_ = 0;
};

// Plays a kernel through. Collective. The answer is complete at place 0. The hooks are called at every place around the
// region of interest, in which the kernel runs; nothing else is counted or timed.
template <class K>
[[nodiscard]] answer play(const problem& p, const hooks& around) {
  const std::vector<vertex> first = blocks(p.size(), situ::place_count());
  const std::uint32_t me = situ::here().index();
  const auto mine = make_in_segment<part<K>>();
  mine->given = &p;
  mine->first = first[me];
  for (vertex v = first[me]; v < first[me + 1]; ++v) mine->nodes.push_back(K::make(p, v));
  mine->inboxes.resize(mine->nodes.size());
  const std::vector<situ::ptr<part_base>> parts = situ::all_gather(situ::ptr<part_base>{mine.get()});
  const resident_instance resident{p, first, parts, K::captures_links};
  mine->resident = &resident.get();
  situ::barrier();

  around.enter();
  situ::barrier();
  if (me == 0) {
    driver<K> conductor{resident.get()};
    K::run(conductor);
  }
  situ::barrier();
  around.leave();

  answer rows;
  for (const typename K::node& node : mine->nodes) rows.push_back(K::result(node));
  answer all;
  for (answer& of_place : situ::gather(rows, 0))
    for (row& r : of_place) all.push_back(std::move(r));
  return all;
}

}  // namespace imsuite
