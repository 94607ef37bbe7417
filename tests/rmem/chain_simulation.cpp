#include "rmem/chain_simulation.h"

#include <situ/rmem/keys.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <span>
#include <stdexcept>

#include "rmem/follower.h"
#include "rmem/handshake.h"
#include "rmem/service.h"
#include "rmem/session.h"

namespace situ_rmem_test {
namespace {

using namespace situ::rmem;
using namespace situ::rmem::detail;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint32_t server_index = 7;
constexpr std::uint64_t region_bytes = 300'000;  // more than one part of a copy
constexpr std::size_t client_count = 4;
constexpr std::size_t register_count = 2;
constexpr std::size_t calls_of_a_client = 20;
constexpr std::uint64_t last_ns = 120'000 * ms;

const std::vector<application_key>& keys() {
  static const std::vector<application_key> all{application_key::generate("clients"),
                                                application_key::generate("cluster", true)};
  return all;
}

class simulation;
struct machine;

// One end of a connection; the other end is told of bytes and of its end.
struct wire_end {
  machine* at = nullptr;  // null: a client, which is never stopped
  std::weak_ptr<wire_end> other;
  std::unique_ptr<party> with;  // who takes the bytes; or the function
  std::function<void(std::span<const std::byte>)> heard;
  std::function<void()> closed;
  std::vector<std::byte> inbox;
  std::uint64_t last_arrival = 0;
  bool is_open = true;
  bool is_broken = false;  // something of it was lost: nothing comes by it any more
};
using end_pointer = std::shared_ptr<wire_end>;

struct machine {
  std::uint64_t node = 0;
  std::optional<service> serves;
  std::vector<end_pointer> ends;
  end_pointer source;
  std::uint64_t connecting = 0;  // which try; 0: none
  bool is_dead = false;
  bool is_stopped = false;
  std::uint64_t next_session = 1;
  std::vector<std::function<void()>> backlog;
};

class simulation {
 public:
  explicit simulation(std::uint64_t seed) : random_{seed} {}
  ~simulation() {  // who takes bytes ends before what they are for
    for (const auto& each : keep_) each->with.reset();
    for (const auto& each : machines_)
      for (const auto& end : each->ends) end->with.reset();
  }
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  // --- time ---
  std::uint64_t now() const { return now_; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + random_() % (high - low + 1); }
  void after(std::uint64_t delay, std::function<void()> what) {
    events_.push({now_ + delay, ++turn_, std::move(what)});
  }
  bool step() {
    if (events_.empty()) return false;
    event next = events_.top();
    events_.pop();
    now_ = next.when;
    next.what();
    return true;
  }

  // --- machines ---
  machine& add(std::uint32_t index, std::uint32_t replicas) {
    machine& made = *machines_.emplace_back(std::make_unique<machine>());
    made.node = machines_.size();
    made.serves.emplace(server_index, std::uint64_t{4} << 20, situ::memory_kind{}, keys(), 100);
    made.serves->become_replica(made.node, index, replicas, "node:" + std::to_string(made.node));
    after(between(0, 20 * ms), [this, &made] { beat(made); });
    after(between(0, 20 * ms), [this, &made] { look_for_source(made); });
    return made;
  }
  machine& at(std::uint64_t node) { return *machines_.at(node - 1); }
  std::size_t size() const { return machines_.size(); }
  view_keeper& views() { return views_; }

  // On a machine, when it runs.
  void on(machine& where, std::function<void()> what) {
    if (where.is_dead) return;
    if (where.is_stopped) {
      where.backlog.push_back(std::move(what));
      return;
    }
    where.serves->set_now(now_);
    what();
    pump(where);
  }
  void stop(machine& which) { which.is_stopped = true; }
  void go_on(machine& which) {
    which.is_stopped = false;
    std::vector<std::function<void()>> waited;
    waited.swap(which.backlog);
    for (auto& each : waited) on(which, std::move(each));
  }
  void kill(machine& which) {
    which.is_dead = true;
    std::vector<end_pointer> ends;
    ends.swap(which.ends);
    for (const end_pointer& each : ends) close(each);
    which.source.reset();
  }
  // Nothing arrives between two any more; 0 is the name server.
  void cut(std::uint64_t a, std::uint64_t b, bool is_cut) { cuts_[{std::min(a, b), std::max(a, b)}] = is_cut; }
  bool is_cut(std::uint64_t a, std::uint64_t b) { return cuts_[{std::min(a, b), std::max(a, b)}]; }

  // --- connections ---
  std::uint64_t delay() { return between(0, 9) == 0 ? between(1, 30) * ms : between(20'000, 500'000); }

  bool is_broken(wire_end& from, const wire_end& to) {
    from.is_broken |= from.at != nullptr && to.at != nullptr && is_cut(from.at->node, to.at->node);
    return from.is_broken;
  }
  // What an end sends arrives in order, or never.
  void send(const end_pointer& from, std::vector<std::byte> bytes) {
    const end_pointer to = from->other.lock();
    if (to == nullptr || is_broken(*from, *to)) return;
    const std::uint64_t when = std::max(now_ + delay(), to->last_arrival + 1);
    to->last_arrival = when;
    after(when - now_, [this, to, bytes = std::move(bytes)] {
      run_at(to, [to, bytes] {
        if (!to->is_open) return;
        if (to->heard)
          to->heard(bytes);
        else
          to->inbox.insert(to->inbox.end(), bytes.begin(), bytes.end());
      });
    });
  }
  void close(const end_pointer& which) {
    if (!which->is_open) return;
    which->is_open = false;
    if (which->at != nullptr) which->at->serves->set_now(now_);
    which->with.reset();
    const end_pointer to = which->other.lock();
    if (to == nullptr || is_broken(*which, *to)) return;
    const std::uint64_t when = std::max(now_ + delay(), to->last_arrival + 1);
    after(when - now_, [this, to] {
      run_at(to, [this, to] {
        if (!to->is_open) return;
        close(to);
        if (to->closed) to->closed();
      });
    });
  }
  // A new one to a machine; null where nobody is there. The machine's end is kept by it.
  end_pointer connect(machine* from, machine& to) {
    if (to.is_dead || (from != nullptr && is_cut(from->node, to.node))) return nullptr;
    auto mine = std::make_shared<wire_end>();
    auto theirs = std::make_shared<wire_end>();
    mine->at = from;
    theirs->at = &to;
    mine->other = theirs;
    theirs->other = mine;
    keep_.push_back(theirs);
    after(delay(), [this, theirs, &to] {
      on(to, [this, theirs, &to] {
        theirs->with = std::make_unique<session>(*to.serves, to.next_session++);
        to.ends.push_back(theirs);
      });
    });
    return mine;
  }

 private:
  struct event {
    std::uint64_t when;
    std::uint64_t turn;
    std::function<void()> what;
    bool operator<(const event& other) const { return std::pair{when, turn} > std::pair{other.when, other.turn}; }
  };

  void run_at(const end_pointer& to, std::function<void()> what) {
    if (to->at != nullptr)
      on(*to->at, std::move(what));
    else
      what();
  }

  // All that a machine can do now is done.
  void pump(machine& of) {
    for (bool is_news = true; is_news;) {
      is_news = false;
      for (std::size_t i = 0; i < of.ends.size(); ++i) {
        const end_pointer each = of.ends[i];
        if (!each->is_open || each->with == nullptr) continue;
        is_news |= pump(each);
      }
      std::erase_if(of.ends, [](const end_pointer& each) { return !each->is_open; });
    }
  }
  bool pump(const end_pointer& each) {
    bool is_news = false;
    if (auto* const source = dynamic_cast<follower*>(each->with.get())) source->look();
    while (!each->inbox.empty()) {
      const std::span<std::byte> room = each->with->room();
      const std::size_t bytes = std::min(room.size(), each->inbox.size());
      if (bytes == 0) break;
      std::copy_n(each->inbox.begin(), bytes, room.begin());
      each->with->received(bytes);
      each->inbox.erase(each->inbox.begin(), each->inbox.begin() + static_cast<std::ptrdiff_t>(bytes));
      is_news = true;
    }
    for (;;) {
      const party::pieces out = each->with->output();
      std::vector<std::byte> bytes{out[0].begin(), out[0].end()};
      bytes.insert(bytes.end(), out[1].begin(), out[1].end());
      if (bytes.empty()) break;
      each->with->sent(bytes.size());
      send(each, std::move(bytes));
      is_news = true;
    }
    if (each->with->has_ended()) {
      close(each);
      is_news = true;
    }
    return is_news;
  }

  void beat(machine& of) {
    if (of.is_dead) return;
    on(of, [this, &of] {
      of.serves->look();
      const beat_entry said = of.serves->member()->beat(now_);
      const std::uint64_t asked = now_;
      if (!is_cut(0, of.node))
        after(delay(), [this, &of, said, asked] {
          view_entry told{};
          if (!views_.beat(said, now_, told)) throw std::logic_error{"the name server is told nonsense"};
          if (!is_cut(0, of.node))
            after(delay(), [this, &of, told, asked] {
              on(of, [&of, told, asked] { of.serves->member()->install(told, asked); });
            });
        });
      after(between(40, 60) * ms, [this, &of] { beat(of); });
    });
  }

  void look_for_source(machine& of);

  std::mt19937_64 random_;
  std::uint64_t now_ = ms;
  std::uint64_t turn_ = 0;
  std::priority_queue<event> events_;
  std::vector<end_pointer> keep_;
  view_keeper views_{400};
  std::map<std::pair<std::uint64_t, std::uint64_t>, bool> cuts_;
  std::vector<std::unique_ptr<machine>> machines_;
};

// The client's side of a connection: logs in, then sends requests and hears answers.
class caller {
 public:
  using answered = std::function<void(const answer_head&, std::span<const std::byte>)>;
  caller(simulation& of, end_pointer by, const application_key& key) : of_{of}, by_{std::move(by)}, key_{key} {
    by_->heard = [this](std::span<const std::byte> bytes) { hear(bytes); };
  }
  ~caller() {
    if (!is_released_) by_->heard = [](auto) {};
  }
  void ask(const request_head& head, std::span<const std::byte> rest, answered then) {
    const auto bytes = bytes_of(head);
    asked_.insert(asked_.end(), bytes.begin(), bytes.end());
    asked_.insert(asked_.end(), rest.begin(), rest.end());
    then_ = std::move(then);
    give();
  }
  const end_pointer& end() const { return by_; }
  // What has come behind the last answer; from here on the connection is another one's.
  std::vector<std::byte> release() {
    is_released_ = true;
    return std::move(in_);
  }

 private:
  void give() {
    if (step_ != 2 || asked_.empty()) return;
    of_.send(by_, std::exchange(asked_, {}));
  }
  void hear(std::span<const std::byte> bytes) {
    in_.insert(in_.end(), bytes.begin(), bytes.end());
    if (step_ == 0 && in_.size() >= sizeof(hello)) {
      const auto heard = take<hello>();
      login said{protocol_magic, protocol_version, 0, fixed<application_bytes>(key_.application), {}, {}};
      said.proof = client_proof(key_, heard, said);
      const auto out = bytes_of(said);
      of_.send(by_, {out.begin(), out.end()});
      step_ = 1;
    }
    if (step_ == 1 && in_.size() >= sizeof(welcome)) {
      if (take<welcome>().status != 0) throw std::logic_error{"a login is refused"};
      step_ = 2;
      give();
    }
    if (step_ != 2 || in_.size() < sizeof(answer_head) || !then_) return;
    const auto head = situ::os::byte_reader{in_}.take<answer_head>();
    if (in_.size() < sizeof head + head.body_bytes) return;
    const std::vector<std::byte> body{in_.begin() + sizeof head,
                                      in_.begin() + static_cast<std::ptrdiff_t>(sizeof head + head.body_bytes)};
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(sizeof head + body.size()));
    std::exchange(then_, {})(head, body);  // this may be gone after it
  }
  template <class T>
  T take() {
    const T got = situ::os::byte_reader{in_}.take<T>();
    in_.erase(in_.begin(), in_.begin() + sizeof(T));
    return got;
  }

  simulation& of_;
  end_pointer by_;
  const application_key& key_;
  int step_ = 0;
  bool is_released_ = false;
  std::vector<std::byte> in_;
  std::vector<std::byte> asked_;
  answered then_;
};

void simulation::look_for_source(machine& of) {
  if (of.is_dead) return;
  on(of, [this, &of] {
    after(between(40, 60) * ms, [this, &of] { look_for_source(of); });
    replica& member = *of.serves->member();
    const member_entry to = member.wanted_source();
    if (to.node == member.source() || of.connecting != 0 || to.node == 0) return;
    const end_pointer by = connect(&of, at(to.node));
    if (by == nullptr) return;
    const std::uint64_t mine = of.connecting = ++turn_;
    auto call = std::make_shared<caller>(*this, by, keys()[1]);
    // Whatever becomes of it, it is given up after a while.
    const auto ends = [this, &of, call, by, mine] {
      if (of.connecting != mine) return;
      of.connecting = 0;
      close(by);
    };
    by->closed = [&of, mine] {
      if (of.connecting == mine) of.connecting = 0;
    };
    after(300 * ms, [this, &of, ends] { on(of, ends); });
    request_head head{};
    head.operation = static_cast<std::uint16_t>(operation::follow);
    head.body_bytes = sizeof(follow_entry);
    const follow_entry said = member.follow();
    call->ask(head, bytes_of(said), [this, &of, by, to, self = call.get()](const answer_head& got, auto) {
      of.connecting = 0;
      if (got.status != 0 || of.serves->member()->wanted_source().node != to.node) {
        on(of, [this, by] { close(by); });
        return;
      }
      if (of.source != nullptr) close(of.source);
      by->closed = {};
      by->with = std::make_unique<follower>(*of.serves, to.node);
      by->inbox = self->release();
      by->heard = {};
      of.source = by;
      of.ends.push_back(by);
    });
  });
}

// A client, as src/rmem/link.cpp is one.
class simulated_client {
 public:
  simulated_client(simulation& of, std::uint64_t number) : of_{of}, number_{number} {}

  // A request until it has an answer; then(null): whether it was done is not known.
  void ask(request_head head, std::vector<std::byte> rest,
           std::function<void(const answer_head*, std::span<const std::byte>)> then) {
    head.id = ++last_id_;
    head_ = head;
    rest_ = std::move(rest);
    then_ = std::move(then);
    is_waiting_ = true;
    ++call_;
    if (is_ready_)
      give();
    else
      find();
    look(call_);
  }

  void leave() {
    is_ready_ = false;
    ++connection_;
    if (line_ == nullptr) return;
    of_.close(line_->end());
    of_.after(0, [old = std::shared_ptr<caller>(std::move(line_))] {});
  }

 private:
  void find() {
    const std::uint64_t call = call_;
    of_.after(of_.between(1, 20) * ms, [this, call] {
      if (call != call_ || !is_waiting_ || is_ready_) return;
      const view_entry* const view = of_.views().find(server_index, of_.now());
      if (view == nullptr) return find();
      node_ = view->chain[0].node;
      const std::uint64_t epoch = view->epoch;
      const end_pointer by = of_.connect(nullptr, of_.at(node_));
      if (by == nullptr) return find();
      leave();
      line_ = std::make_unique<caller>(of_, by, keys()[0]);
      const std::uint64_t mine = ++connection_;
      by->closed = [this, mine] { lost(mine); };
      request_head enroll{};
      enroll.operation = static_cast<std::uint16_t>(operation::enroll);
      enroll.flags = has_enrolled_ ? flag_known : std::uint16_t{0};
      enroll.address = epoch;
      enroll.operand = number_;
      line_->ask(enroll, {}, [this, mine](const answer_head& got, auto) {
        if (mine != connection_) return;
        if (static_cast<status>(got.status) == status::outcome_lost) return finish(nullptr, {});
        if (got.status != 0) return lost(mine);
        has_enrolled_ = is_ready_ = true;
        if (is_waiting_) give();
      });
    });
  }
  void give() {
    const std::uint64_t mine = connection_;
    line_->ask(head_, rest_, [this, mine](const answer_head& got, std::span<const std::byte> body) {
      if (mine != connection_ || !is_waiting_) return;
      if (static_cast<status>(got.status) == status::not_serving) return lost(mine);
      if (static_cast<status>(got.status) == status::outcome_lost) return finish(nullptr, {});
      if (got.status != 0) throw std::logic_error{"a call is refused: " + std::to_string(got.status)};
      finish(&got, body);
    });
  }
  void finish(const answer_head* got, std::span<const std::byte> body) {
    is_waiting_ = false;
    if (got == nullptr) {
      number_ += 1000;
      has_enrolled_ = false;
      leave();
    }
    // What comes next begins anew, so that this may be destroyed.
    of_.after(of_.between(1, 150) * ms,
              [then = std::move(then_), got = got == nullptr ? std::optional<answer_head>{} : *got,
               body = std::vector<std::byte>{body.begin(), body.end()}] { then(got ? &*got : nullptr, body); });
  }
  void lost(std::uint64_t connection) {
    if (connection != connection_) return;
    leave();
    if (is_waiting_) find();
  }
  // One that is silent for long may have been replaced.
  void look(std::uint64_t call) {
    of_.after(200 * ms, [this, call] {
      if (call != call_ || !is_waiting_) return;
      const view_entry* const view = of_.views().find(server_index, of_.now());
      if (view != nullptr && line_ != nullptr && view->chain[0].node != node_) {
        leave();
        find();
      }
      look(call);
    });
  }

  simulation& of_;
  std::uint64_t number_;
  std::uint64_t last_id_ = 0;
  std::uint64_t node_ = 0;
  std::unique_ptr<caller> line_;
  std::uint64_t connection_ = 0;
  bool is_ready_ = false;
  bool has_enrolled_ = false;
  bool is_waiting_ = false;
  std::uint64_t call_ = 0;
  request_head head_{};
  std::vector<std::byte> rest_;
  std::function<void(const answer_head*, std::span<const std::byte>)> then_;
};

// The whole of it.
class history {
 public:
  explicit history(std::uint64_t seed) : of_{seed} { made_.registers.resize(register_count); }

  simulated_history run() {
    const std::size_t members = of_.between(1, 3);
    for (std::size_t i = 0; i < members; ++i) of_.add(server_index, static_cast<std::uint32_t>(members));
    for (std::size_t i = 0; i < 2; ++i) of_.add(any_server, 0);
    while (!is_whole(members) && of_.step()) {}
    for (std::size_t i = 0; i < client_count; ++i) clients_.push_back(std::make_unique<simulated_client>(of_, i + 1));
    request_head head{};
    head.operation = static_cast<std::uint16_t>(operation::allocate);
    head.bytes = region_bytes;
    clients_[0]->ask(head, {}, [this](const answer_head* got, std::span<const std::byte> body) {
      if (got == nullptr) throw std::logic_error{"the first call is lost"};
      mine_ = {got->value, region_bytes, rights::all, got->second,
               situ::os::byte_reader{body}.take<capability_secret>()};
      left_ = client_count;
      for (std::size_t i = 0; i < client_count; ++i) next(i, calls_of_a_client);
      plan_faults(of_.now());
    });
    while (left_ > 0 && of_.now() < last_ns && of_.step()) {}
    if (const view_entry* const view = of_.views().find(server_index, of_.now())) made_.epochs = view->epoch;
    return std::move(made_);
  }

 private:
  bool is_whole(std::size_t members) {
    const view_entry* const view = of_.views().find(server_index, of_.now());
    if (of_.now() > last_ns) throw std::logic_error{"the chain does not begin"};
    return view != nullptr && view->members == members && view->joining == 0;
  }

  void next(std::size_t client, std::size_t calls) {
    if (calls == 0) {
      --left_;
      return;
    }
    const std::size_t which = of_.between(0, register_count - 1);
    std::vector<register_operation>& all = made_.registers[which];
    register_operation made;
    // The first only reads, by one connection as long as it can; others come by new ones.
    made.what = client == 0 ? register_call::read : static_cast<register_call>(of_.between(0, 3));
    if (client != 0 && of_.between(0, 3) == 0) clients_[client]->leave();
    made.operand = of_.between(1, 5);
    made.expected = of_.between(0, 6);
    made.began = of_.now();
    const std::size_t index = all.size();
    all.push_back(made);
    ++made_.unfinished;

    request_head head{};
    head.address = mine_.address + which * (region_bytes / 2) / 8 * 8;
    head.bytes = 8;
    head.grant = mine_.number;
    head.secret = mine_.secret;
    std::vector<std::byte> rest;
    const auto word = bytes_of(made.operand);
    constexpr operation calls_of[] = {operation::read, operation::write, operation::fetch_add, operation::compare_swap};
    head.operation = static_cast<std::uint16_t>(calls_of[static_cast<std::size_t>(made.what)]);
    if (made.what == register_call::fetch_add) head.operand = made.operand;
    if (made.what == register_call::compare_swap) {
      head.operand = made.expected;
      head.body_bytes = sizeof made.operand;
    }
    if (made.what == register_call::write || made.what == register_call::compare_swap)
      rest.assign(word.begin(), word.end());
    clients_[client]->ask(head, rest, [this, client, calls, which, index](const answer_head* got, auto body) {
      register_operation& of = made_.registers[which][index];
      --made_.unfinished;
      made_.longest_ns = std::max(made_.longest_ns, of_.now() - of.began);
      if (got != nullptr) {
        of.ended = of_.now();
        of.result = of.what == register_call::read ? situ::os::byte_reader{body}.take<std::uint64_t>() : got->value;
      }
      next(client, calls - 1);
    });
  }

  // Up to one server is killed, and the others are stopped or cut off for a while.
  void plan_faults(std::uint64_t begin) {
    const std::size_t count = of_.between(0, 5);
    for (std::size_t i = 0; i < count; ++i)
      of_.after(of_.between(0, 1500) * ms, [this, begin] {
        const view_entry* const seen = of_.views().find(server_index, of_.now());
        const bool is_any = of_.between(0, 3) == 0;  // else one that has the bytes
        machine& which =
            of_.at(is_any ? of_.between(1, of_.size()) : seen->chain[of_.between(0, seen->members - 1)].node);
        const std::uint64_t takes = of_.between(20, 2000) * ms;
        const std::string when = std::to_string((of_.now() - begin) / ms) + " ms: ";
        if (which.is_dead || which.is_stopped) return;
        const view_entry* const view = of_.views().find(server_index, of_.now());
        switch (of_.between(0, 4)) {
          case 0:
            if (has_killed_ || view == nullptr || view->members < 2 || view->replicas < 2) return;
            // Two that go at the same time are more than two replicas survive.
            if (of_.now() < calm_from_) return;
            has_killed_ = true;
            made_.faults += when + "kill " + std::to_string(which.node) + "\n";
            return of_.kill(which);
          case 1:
            made_.faults += when + "stop " + std::to_string(which.node) + "\n";
            of_.stop(which);
            calm_from_ = std::max(calm_from_, of_.now() + takes + 1000 * ms);
            return of_.after(takes, [this, &which] { of_.go_on(which); });
          case 2: {
            (void)of_.views().drain("node:" + std::to_string(which.node), of_.now());
            made_.faults += when + "drain " + std::to_string(which.node) + "\n";
            return;
          }
          default: {
            const std::uint64_t other = of_.between(0, 1) * of_.between(1, of_.size());  // 0: the name server
            if (other == which.node) return;
            made_.faults += when + "cut " + std::to_string(which.node) + " " + std::to_string(other) + "\n";
            of_.cut(which.node, other, true);
            calm_from_ = std::max(calm_from_, of_.now() + takes + 1000 * ms);
            of_.after(takes, [this, &which, other] { of_.cut(which.node, other, false); });
          }
        }
      });
  }

  simulation of_;
  simulated_history made_;
  std::vector<std::unique_ptr<simulated_client>> clients_;
  capability mine_;
  std::size_t left_ = 1;
  bool has_killed_ = false;
  std::uint64_t calm_from_ = 0;  // when what was stopped or cut off is back
};

}  // namespace

simulated_history simulate_chain(std::uint64_t seed) { return history{seed}.run(); }

}  // namespace situ_rmem_test
