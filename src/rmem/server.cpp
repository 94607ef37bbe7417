#include <situ/rmem/server.h>

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "os/descriptor.h"
#include "os/host.h"
#include "os/local_socket.h"
#include "os/network_socket.h"
#include "os/short_turns.h"
#include "rmem/admission.h"
#include "rmem/follower.h"
#include "rmem/handshake.h"
#include "rmem/membership.h"
#include "rmem/registrar.h"
#include "rmem/server_connection.h"
#include "rmem/server_options.h"
#include "rmem/session.h"
#include "rmem/sockets.h"

namespace situ::rmem {
namespace {

using situ::detail::steady_ns;

// The number of low-priority actions after each round of clients: accepting a connection, serving a stranger, closing a
// connection that has hung up. Each takes up to ten times as long as a client's request.
constexpr int most_low_priority_a_turn = 2;
// The connections that the server checks for silence between two rounds of clients, and the silent ones that it ends.
constexpr int most_looked_at_a_turn = 256;
constexpr int most_ended_a_turn = 1;
// The number that an event carries. In epoll_: the wake-up, low_priority_, or a connection. In low_priority_: a
// listener, from 1 on and below listener_numbers, or a connection. Connections have numbers above listener_numbers.
constexpr std::uint64_t wake_number = 0;
constexpr std::uint64_t low_priority_number = 1;
constexpr std::uint64_t listener_numbers = 1'000'000;

}  // namespace

class server::impl {
 public:
  explicit impl(server_options options);
  ~impl();
  void run();
  void stop() noexcept;
  [[nodiscard]] const std::vector<std::string>& endpoints() const noexcept { return options_.listen; }
  [[nodiscard]] statistics counted() const { return service_.counted(); }

 private:
  using connection = detail::server_connection;

  void watch(const os::descriptor& by, int what, std::uint64_t number, std::uint32_t events, int how);
  void wait_for(connection& one, std::uint64_t number, std::uint32_t events, bool is_low_priority);
  void dispatch(std::uint64_t number, std::uint32_t events);
  void begin_work();
  void serve_low_priority();
  void accept_from(std::size_t listener);
  void has_no_descriptors(int why);
  void welcome_stranger(std::size_t listener, os::descriptor socket);
  void ask_for_strangers(bool is_wanted);
  void turn_away(std::uint64_t number);
  void add(std::uint64_t number, std::unique_ptr<detail::party> with, os::descriptor socket);
  void post(std::function<void()> what);
  void do_posted();
  [[nodiscard]] detail::membership::calls calls_of_member();
  [[nodiscard]] std::pair<detail::member_entry, detail::follow_entry> wish();
  void source_connected(std::uint64_t node, os::descriptor socket, std::span<const std::byte> come);
  void serve_chain();
  void serve(std::uint64_t number);
  template <class Call>
  void do_or_close(std::uint64_t number, Call&& call);
  void exchange(connection& one, std::uint64_t number);
  void settle(connection& one, std::uint64_t number);
  void close(std::uint64_t number, std::string_view why_lost = {});
  void report_losses();
  void end_silent_ones();
  void end() noexcept;

  server_options options_;
  detail::service service_;
  detail::descriptor_plan plan_;
  detail::admission admission_;
  bool has_complained_ = false;  // the log has said that there are no descriptors
  std::vector<detail::listener> listeners_;
  os::descriptor epoll_;         // clients, the wake-up, low_priority_
  os::descriptor low_priority_;  // an epoll, too: listeners, strangers, clients that have hung up
  os::descriptor wake_;
  std::map<std::uint64_t, std::unique_ptr<connection>> connections_;  // by number, the oldest first
  std::uint64_t next_number_ = listener_numbers;
  std::size_t awaited_ = 0;            // connections whose client owes something
  std::uint64_t last_look_ns_ = 0;     // when all connections were looked at
  std::uint64_t next_to_look_at_ = 0;  // by number; 0: no look is under way
  situ::detail::short_turns turns_;    // of run()'s thread
  std::atomic<bool> is_stopped_ = false;

  // Members that only a replica uses.
  std::uint64_t source_ = 0;        // number of the connection to the previous member; 0: none
  std::uint64_t next_ = 0;          // number of the connection to the next member; 0: none
  std::uint64_t acknowledged_ = 0;  // the acknowledgment at which held_ was last served
  std::set<std::uint64_t> held_;    // connections that wait for other members
  bool waits_for_room_ = false;     // one of them waits until less is kept for the next member
  std::mutex lock_;                 // guards posted_
  std::vector<std::function<void()>> posted_;
};

server::impl::impl(server_options options)
    : options_{(detail::check(options), std::move(options))},
      service_{options_.index, options_.capacity_bytes, options_.memory, options_.keys, options_.most_clients},
      plan_{detail::plan_descriptors(options_.most_clients)},
      admission_{plan_.strangers},
      epoll_{::epoll_create1(EPOLL_CLOEXEC)},
      low_priority_{::epoll_create1(EPOLL_CLOEXEC)},
      wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (!epoll_ || !low_priority_ || !wake_)
    throw_error(errc::bad_launch, fmt::format("cannot wait for clients: {}", std::strerror(errno)));
  watch(epoll_, wake_.number(), wake_number, EPOLLIN, EPOLL_CTL_ADD);
  watch(epoll_, low_priority_.number(), low_priority_number, EPOLLIN, EPOLL_CTL_ADD);
  service_.memory().set_most_mapped(options_.most_mapped_bytes);
  service_.memory().set_most_files(plan_.region_files);
  service_.set_now(steady_ns());
  service_.set_lease(static_cast<std::uint32_t>(options_.lease.count()));
  service_.set_patience(options_.patience);
  try {
    for (std::string& endpoint : options_.listen) {
      listeners_.emplace_back(endpoint);
      watch(low_priority_, listeners_.back().socket().number(), listeners_.size(), EPOLLIN, EPOLL_CTL_ADD);
    }
  } catch (...) {
    end();
    throw;
  }
  if (options_.replicas == 0 && !options_.is_spare) return;
  std::uint64_t node = 0;
  while (node == 0) detail::fill_random(std::as_writable_bytes(std::span{&node, 1}));
  service_.become_replica(node, options_.is_spare ? detail::any_server : options_.index, options_.replicas,
                          detail::advertised(options_));
}

server::impl::~impl() { end(); }

// Closes all sockets, so that no client waits for an answer.
void server::impl::end() noexcept {
  listeners_.clear();
  connections_.clear();
  awaited_ = 0;
}

void server::impl::watch(const os::descriptor& by, int what, std::uint64_t number, std::uint32_t events, int how) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  if (::epoll_ctl(by.number(), how, what, &event) != 0)
    throw_error(errc::bad_launch, fmt::format("cannot wait for a client: {}", std::strerror(errno)));
}

void server::impl::wait_for(connection& one, std::uint64_t number, std::uint32_t events, bool is_low_priority) {
  const os::descriptor& by = is_low_priority ? low_priority_ : epoll_;
  if (is_low_priority != one.is_low_priority) {
    watch(one.is_low_priority ? low_priority_ : epoll_, one.socket.number(), number, 0, EPOLL_CTL_DEL);
    watch(by, one.socket.number(), number, events, EPOLL_CTL_ADD);
  } else if (events != one.events) {
    watch(by, one.socket.number(), number, events, EPOLL_CTL_MOD);
  }
  one.is_low_priority = is_low_priority;
  one.events = events;
}

void server::impl::stop() noexcept {
  is_stopped_ = true;
  const std::uint64_t one = 1;
  (void)!::write(wake_.number(), &one, sizeof one);
}

// Called by other threads: the server's thread will call `what`.
void server::impl::post(std::function<void()> what) {
  {
    const std::lock_guard held{lock_};
    posted_.push_back(std::move(what));
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_.number(), &one, sizeof one);
}

void server::impl::do_posted() {
  std::uint64_t rung = 0;
  (void)!::read(wake_.number(), &rung, sizeof rung);
  std::vector<std::function<void()>> now;
  {
    const std::lock_guard held{lock_};
    now.swap(posted_);
  }
  for (const auto& each : now) each();
}

// The thread sleeps in epoll while nothing happens, without a time limit if no client owes anything.
void server::impl::run() {
  turns_ = situ::detail::short_turns::take();
  const auto by = std::find_if(options_.keys.begin(), options_.keys.end(), [](const auto& k) { return k.is_operator; });
  std::optional<detail::registrar> named;
  std::optional<detail::membership> member;
  if (service_.member() != nullptr) {
    member.emplace(options_.names, *by, [this](auto what) { post(std::move(what)); }, calls_of_member());
  } else if (!options_.names.empty()) {
    named.emplace(options_.names, *by, detail::server_name(options_.index), detail::advertised(options_));
  }
  std::array<epoll_event, 64> events{};
  const int look_ms = static_cast<int>(std::clamp<std::int64_t>(options_.patience.count() / 4, 1, 1000));
  for (;;) {
    const int idle_ms = service_.losses().has_left_out() ? 1000 : -1;
    const int usual_ms = next_to_look_at_ != 0 ? 0 : awaited_ > 0 ? look_ms : idle_ms;
    const std::uint64_t waits_from = steady_ns();
    const int sleep_ms = admission_.sleep_ms(waits_from, usual_ms);
    const int got = ::epoll_wait(epoll_.number(), events.data(), events.size(), sleep_ms);
    turns_.waited(waits_from, steady_ns());
    if (got < 0 && errno != EINTR)
      throw_error(errc::bad_launch, fmt::format("cannot wait for clients: {}", std::strerror(errno)));
    bool has_low_priority = false;
    for (int i = 0; i < got; ++i) {
      const epoll_event& what = events[static_cast<std::size_t>(i)];
      if (what.data.u64 == low_priority_number)
        has_low_priority = true;
      else
        dispatch(what.data.u64, what.events);
    }
    if (has_low_priority) serve_low_priority();
    if (is_stopped_) break;
    end_silent_ones();
    if (admission_.take_end_of_rest(steady_ns())) ask_for_strangers(true);
    report_losses();
  }
  member.reset();  // nothing answers its requests any more
  end();
}

void server::impl::dispatch(std::uint64_t number, std::uint32_t events) {
  begin_work();
  if (number == wake_number) {
    do_posted();
  } else if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    do_or_close(number, [&](connection& one) {
      one.has_hung_up = true;
      wait_for(one, number, one.events, true);
    });
  } else {
    serve(number);
  }
  serve_chain();
}

void server::impl::begin_work() {
  std::uint64_t now = steady_ns();
  if (turns_.yield_if_over(now)) now = steady_ns();
  service_.set_now(now);
}

void server::impl::serve_low_priority() {
  std::array<epoll_event, most_low_priority_a_turn> events{};
  const int got = ::epoll_wait(low_priority_.number(), events.data(), events.size(), 0);
  for (int i = 0; i < got; ++i) {
    begin_work();
    const std::uint64_t number = events[static_cast<std::size_t>(i)].data.u64;
    if (number < listener_numbers)
      accept_from(number - 1);
    else
      serve(number);
    serve_chain();
  }
}

// --- a replica ---

detail::membership::calls server::impl::calls_of_member() {
  return {
      [this] {
        service_.look();
        return service_.beat_of_member(steady_ns());
      },
      [this](const detail::view_entry& told, std::uint64_t asked_ns) {
        service_.install(told, asked_ns);
        if (service_.member()->is_drained()) stop();
      },
      [this] { return wish(); },
      [this](std::uint64_t node, os::descriptor socket, const std::vector<std::byte>& come) {
        source_connected(node, std::move(socket), come);
      },
  };
}

std::pair<detail::member_entry, detail::follow_entry> server::impl::wish() {
  const detail::member_entry to = service_.member()->wanted_source();
  if (to.node == service_.member()->source()) return {};
  return {to, service_.member()->follow()};
}

void server::impl::source_connected(std::uint64_t node, os::descriptor socket, std::span<const std::byte> come) {
  if (node != service_.member()->wanted_source().node) return;
  if (source_ != 0) close(source_);
  source_ = ++next_number_;
  os::set_blocking(socket, false);
  add(source_, std::make_unique<detail::follower>(service_, node), std::move(socket));
  detail::party& with = *connections_[source_]->with;
  while (!come.empty()) {
    const std::span<std::byte> room = with.room();
    const std::size_t bytes = std::min(room.size(), come.size());
    if (bytes == 0) break;
    std::memcpy(room.data(), come.data(), bytes);
    with.received(bytes);
    come = come.subspan(bytes);
  }
  serve(source_);
}

// Others may wait for what one connection has just done: the next member for a batch, the previous member for an
// acknowledgment, clients for their answers.
void server::impl::serve_chain() {
  detail::replica* const member = service_.member();
  if (member == nullptr) return;
  const auto serve_if_ready = [&](std::uint64_t number) {
    const auto found = connections_.find(number);
    if (found == connections_.end()) return;
    if (auto* const source = dynamic_cast<detail::follower*>(found->second->with.get())) source->look();
    const detail::party::pieces out = found->second->with->output();
    const bool is_stuck = (found->second->events & EPOLLOUT) != 0;  // its socket takes nothing
    const bool may_take = !is_stuck && (found->second->events & EPOLLIN) == 0 && !found->second->with->room().empty();
    if (found->second->with->has_ended() || (!is_stuck && !out[0].empty()) || may_take) serve(number);
  };
  serve_if_ready(next_);
  serve_if_ready(source_);
  const bool has_room = waits_for_room_ && !member->is_full();
  if (has_room) waits_for_room_ = false;
  if (const bool has_ended = service_.take_ended(); has_ended || has_room || member->acknowledged() != acknowledged_) {
    acknowledged_ = member->acknowledged();
    std::set<std::uint64_t> waited;
    waited.swap(held_);
    if (has_ended)
      for (const auto& [number, each] : connections_)
        if (each->with->has_ended()) waited.insert(number);
    for (const std::uint64_t number : waited) serve(number);
    serve_if_ready(next_);
  }
}

// Accepts one connection. If there is no memory for it, it alone is closed.
void server::impl::accept_from(std::size_t listener) {
  const std::uint64_t now = steady_ns();
  const std::optional<std::uint64_t> overdue = admission_.overdue(now);
  if (admission_.is_full() && !overdue) {
    admission_.rest_for_room(now);
    ask_for_strangers(false);
    return;
  }
  os::descriptor socket = os::accept_from(listeners_[listener].socket(), SOCK_NONBLOCK);
  if (!socket) return has_no_descriptors(errno);
  if (admission_.is_full()) turn_away(*overdue);
  try {
    welcome_stranger(listener, std::move(socket));
  } catch (const std::exception& failure) {  // this process or the kernel has no memory
    log(log_level::warning, fmt::format("remote memory: a connection is turned away: {}", failure.what()));
    ++service_.counters().turned_away;
  }
}

// accept4 has failed with `why`. If descriptors or memory have run out, the server closes a stranger that is overdue.
// If there is none, accepting rests, since the waiting connection would wake this thread again at once. No client is
// closed for it.
void server::impl::has_no_descriptors(int why) {
  if (why != EMFILE && why != ENFILE && why != ENOBUFS && why != ENOMEM) return;
  if (!has_complained_)
    log(log_level::warning,
        fmt::format("remote memory: no further client can be accepted now: {}; those that come wait. Let this process "
                    "have more file descriptors (ulimit -n)",
                    std::strerror(why)));
  has_complained_ = true;
  const std::uint64_t now = steady_ns();
  if (const auto overdue = admission_.overdue(now)) return turn_away(*overdue);
  admission_.rest_for_descriptors(now);
  ask_for_strangers(false);
}

// If the kernel refuses to listen again, the server tries once more after a rest.
void server::impl::ask_for_strangers(bool is_wanted) {
  try {
    for (std::size_t i = 0; i < listeners_.size(); ++i)
      watch(low_priority_, listeners_[i].socket().number(), i + 1, is_wanted ? std::uint32_t{EPOLLIN} : 0U,
            EPOLL_CTL_MOD);
  } catch (const error&) {
    if (is_wanted) admission_.rest_for_descriptors(steady_ns());
  }
}

void server::impl::turn_away(std::uint64_t number) {
  ++service_.counters().turned_away;
  close(number);
}

void server::impl::welcome_stranger(std::size_t listener, os::descriptor socket) {
  const bool is_on_this_host = detail::is_on_this_host(options_.listen[listener]);
  detail::set_stream_options(socket, options_.patience);
  if (is_on_this_host) detail::bound_buffers(socket);
  const std::uint64_t number = ++next_number_;
  auto with = std::make_unique<detail::session>(service_, number, detail::text_of_peer(socket, is_on_this_host));
  if (is_on_this_host) with->allow_memory();
  add(number, std::move(with), std::move(socket));
  serve(number);
}

void server::impl::add(std::uint64_t number, std::unique_ptr<detail::party> with, os::descriptor socket) {
  auto fresh = std::make_unique<connection>(std::move(with), std::move(socket));
  const bool is_stranger = !fresh->with->is_logged_in();
  fresh->events = EPOLLIN | EPOLLRDHUP;
  fresh->is_low_priority = is_stranger;
  watch(is_stranger ? low_priority_ : epoll_, fresh->socket.number(), number, fresh->events, EPOLL_CTL_ADD);
  connections_[number] = std::move(fresh);
  if (is_stranger) admission_.enter(number, steady_ns());
}

void server::impl::serve(std::uint64_t number) {
  do_or_close(number, [&](connection& one) { exchange(one, number); });
}

// Calls `call` with the connection, if it is still there; closes the connection if the call throws.
template <class Call>
void server::impl::do_or_close(std::uint64_t number, Call&& call) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  try {
    call(*found->second);
  } catch (const std::exception& failure) {  // there is no memory for this client; the others go on
    log(log_level::warning, fmt::format("remote memory: a connection is closed: {}", failure.what()));
    close(number, failure.what());
  }
}

// Serves the connection for a turn, and waits for what comes next.
void server::impl::exchange(connection& one, std::uint64_t number) {
  if (!one.exchange(service_)) return close(number, one.reason());
  settle(one, number);
}

void server::impl::settle(connection& one, std::uint64_t number) {
  wait_for(one, number, one.wanted_events(), one.has_hung_up || !one.with->is_logged_in());
  const bool was_awaited = one.is_awaited();
  one.look(steady_ns());
  if (one.is_awaited() && !was_awaited) ++awaited_;
  if (!one.is_awaited() && was_awaited) --awaited_;
  if (one.with->is_logged_in()) {
    admission_.leave(number);
  } else {
    admission_.enter(number, 0);  // if it was no stranger: a client whose session has ended makes room first
  }
  if (service_.member() == nullptr) return;
  if (one.with->stream() != 0) next_ = number;
  if (number == source_ || !one.with->is_held()) return;
  held_.insert(number);
  waits_for_room_ = waits_for_room_ || service_.member()->is_full();
}

// why_lost: the reason for which the other end is lost, unless it has left in order; empty: it is not.
void server::impl::close(std::uint64_t number, std::string_view why_lost) {
  const auto found = connections_.find(number);
  if (!why_lost.empty()) found->second->with->lost(why_lost);
  if (found->second->is_awaited()) --awaited_;
  if (number == source_) source_ = 0;
  held_.erase(number);
  connections_.erase(found);
  admission_.leave(number);
  admission_.connection_ended();
}

// Ends connections that have owed something for longer than the patience. Each call ends a few of them, since clients
// wait during the call.
void server::impl::end_silent_ones() {
  const std::uint64_t now = steady_ns();
  const std::uint64_t patience_ns = static_cast<std::uint64_t>(options_.patience.count()) * 1'000'000;
  if (awaited_ == 0) next_to_look_at_ = 0;
  if (awaited_ == 0 || (next_to_look_at_ == 0 && now - last_look_ns_ < patience_ns / 8)) return;
  auto each = connections_.lower_bound(next_to_look_at_);
  for (int looked = 0, ended = 0; each != connections_.end(); ++looked) {
    if (looked == most_looked_at_a_turn || ended == most_ended_a_turn) {
      next_to_look_at_ = each->first;
      return;
    }
    const std::uint64_t number = each->first;
    const connection& one = *(each++)->second;
    if (!one.is_silent(patience_ns, now)) continue;
    ++service_.counters().timeouts;
    ++ended;
    close(number, fmt::format("it has not sent the rest of a message, or not taken an answer, for {:.3g} s",
                              static_cast<double>(options_.patience.count()) * 1e-3));
  }
  next_to_look_at_ = 0;
  last_look_ns_ = now;
}

void server::impl::report_losses() {
  for (const std::string& each : service_.losses().take(steady_ns())) log(log_level::warning, each);
}

server::server(server_options options) : impl_{std::make_unique<impl>(std::move(options))} {}
server::~server() = default;
void server::run() { impl_->run(); }
void server::stop() noexcept { impl_->stop(); }
const std::vector<std::string>& server::endpoints() const noexcept { return impl_->endpoints(); }
statistics server::counted() const { return impl_->counted(); }

}  // namespace situ::rmem
