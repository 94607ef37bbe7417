#include "rmem/portals.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <cmath>
#include <coroutine>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "model/parts/modelled_machine.h"

namespace situ::studies::rmem {
namespace {

using model::time_ps;

// What happens next, in the order of time, and of asking where that is equal.
class agenda {
 public:
  [[nodiscard]] time_ps now() const noexcept { return now_; }
  void at(time_ps when, std::function<void()> what) { next_.push({when, ++asked_, std::move(what)}); }
  void run() {
    while (!next_.empty()) {
      const entry first = next_.top();
      next_.pop();
      now_ = first.when;
      first.what();
    }
  }
  // For a process: goes on then.
  auto until(time_ps when) {
    struct awaiter {
      agenda& of;
      time_ps when;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> who) {
        of.at(when, [who] { who.resume(); });
      }
      void await_resume() const noexcept {}
    };
    return awaiter{*this, when};
  }
  auto spend(double microseconds) { return until(now_ + static_cast<time_ps>(std::llround(microseconds * 1e6))); }

 private:
  struct entry {
    time_ps when;
    std::uint64_t number;
    std::function<void()> what;
    friend bool operator<(const entry& a, const entry& b) {
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };
  time_ps now_ = 0;
  std::uint64_t asked_ = 0;
  std::priority_queue<entry> next_;
};

// Runs from its beginning on, and ends with its object at the latest.
class process {
 public:
  struct promise_type {
    process get_return_object() { return process{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { throw; }
  };
  process(process&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  process& operator=(process&&) = delete;
  ~process() {
    if (frame_) frame_.destroy();
  }

 private:
  explicit process(std::coroutine_handle<promise_type> frame) : frame_{frame} {}
  std::coroutine_handle<promise_type> frame_;
};

// What one process waits for and others let arrive; arrivals that nobody waits for are kept.
class arrivals {
 public:
  void arrive() {
    if (!who_) return static_cast<void>(++kept_);
    std::exchange(who_, {}).resume();
  }
  auto wait() {
    struct awaiter {
      arrivals& at;
      bool await_ready() const noexcept { return at.kept_ > 0 && (--at.kept_, true); }
      void await_suspend(std::coroutine_handle<> who) const noexcept { at.who_ = who; }
      void await_resume() const noexcept {}
    };
    return awaiter{*this};
  }

 private:
  std::uint64_t kept_ = 0;
  std::coroutine_handle<> who_;
};

// One end of a pair: a process's core, and what reaches it.
struct end {
  std::uint32_t core = 0;
  std::uint32_t tile = 0;
  std::uint64_t memory = 0;  // the address of its block
  arrivals mail;
  arrivals permission;
  arrivals data;     // all of it
  arrivals written;  // what it has sent
};

constexpr std::uint32_t header_bytes = 64;  // of a mail
constexpr std::uint32_t permit_bytes = 8;   // a mask
constexpr std::uint64_t block_room = 1U << 24;

class exchange {
 public:
  exchange(const model::machine_spec& spec, const library_times& takes, const block_moves& of)
      : machine_{spec}, takes_{takes}, of_{of} {
    std::uint32_t server_tile = model::none, ddr = model::none;
    for (std::uint32_t i = 0; i < spec.tiles.size() && server_tile == model::none; ++i)
      for (std::uint32_t m = 0; m < spec.memories.size(); ++m)
        if (spec.tiles[i].local_memory == model::none && !spec.tiles[i].cores.empty() &&
            spec.memories[m].x == spec.tiles[i].x && spec.memories[m].y == spec.tiles[i].y) {
          server_tile = i;
          ddr = m;
        }
    std::vector<std::uint32_t> clusters;
    for (std::uint32_t i = 0; i < spec.tiles.size(); ++i)
      if (spec.tiles[i].local_memory != model::none && !spec.tiles[i].cores.empty()) clusters.push_back(i);
    if (server_tile == model::none || clusters.size() < of.peers)
      throw_error(errc::bad_argument,
                  fmt::format("{} peers and a server need as many clusters with a memory of their own, and one beside "
                              "another memory; {} has {} and {}",
                              of.peers, spec.name, clusters.size(), server_tile == model::none ? "none" : "one"));
    const std::vector<std::uint32_t>& servers = spec.tiles[server_tile].cores;
    for (std::uint32_t i = 0; i < of.peers; ++i) {
      pairs_.push_back(std::make_unique<pair>());
      pair& made = *pairs_.back();
      const std::uint32_t tile = clusters[i];
      const std::uint64_t at = 2 * i * block_room;
      made.peer.core = spec.tiles[tile].cores.front();
      made.peer.tile = tile;
      made.peer.memory = at;
      made.server.core = servers[i % servers.size()];
      made.server.tile = server_tile;
      made.server.memory = at + block_room;
      machine_.map_range(at, at + block_room, spec.tiles[tile].local_memory);
      machine_.map_range(at + block_room, at + 2 * block_room, ddr);
      if (of.bytes == 0 || of.bytes > spec.memories[spec.tiles[tile].local_memory].bytes || of.bytes > block_room)
        throw_error(errc::bad_argument,
                    fmt::format("a block of {} bytes does not fit the memory of a cluster of {}", of.bytes, spec.name));
    }
  }

  double run() {
    for (const auto& each : pairs_) {
      processes_.push_back(serve(*each));
      processes_.push_back(use(*each));
    }
    agenda_.run();
    double sum = 0;
    for (const auto& each : pairs_)
      sum += static_cast<double>(of_.bytes * of_.blocks) / (static_cast<double>(each->took) * 1e-6);
    return sum / static_cast<double>(pairs_.size());
  }

 private:
  struct pair {
    end peer;
    end server;
    time_ps took = 0;
  };

  // Short messages, as soon as they are there.
  void send(const end& from, const end& to, std::uint32_t bytes, arrivals& where) {
    agenda_.at(machine_.send(from.core, to.tile, bytes, agenda_.now()), [&where] { where.arrive(); });
  }
  // A block from the one end's memory to the other's, packet by packet.
  process move(end& from, end& to) {
    auto going = machine_.begin_dma(from.core, to.memory, from.memory, of_.bytes, agenda_.now());
    while (!going.is_over()) {
      co_await agenda_.until(going.next);
      machine_.step_dma(going);
    }
    co_await agenda_.until(going.done);
    to.data.arrive();
    from.written.arrive();
  }

  // The server process of a peer.
  process serve(pair& of) {
    for (;;) {
      if (of_.by == protocol::two_steps || !of_.is_write) {
        co_await of.server.mail.wait();
        co_await agenda_.spend(takes_.take_mail);
      }
      if (of_.is_write) {
        if (of_.by == protocol::two_steps) co_await agenda_.spend(takes_.open);
        co_await agenda_.spend(takes_.prepare + takes_.permit);
        send(of.server, of.peer, permit_bytes, of.peer.permission);
        co_await of.server.data.wait();
        continue;
      }
      co_await agenda_.spend(2 * takes_.open);  // the portal, and the sync that it waits at
      if (of_.by == protocol::one_step) {
        co_await agenda_.spend(takes_.permit);
        send(of.server, of.peer, permit_bytes, of.peer.permission);
      }
      co_await of.server.permission.wait();
      co_await agenda_.spend(takes_.write);
      moves_.push_back(move(of.server, of.peer));
      co_await of.server.written.wait();
    }
  }
  // The peer: one block after the other.
  process use(pair& of) {
    const time_ps begin = agenda_.now();
    for (std::uint32_t block = 0; block < of_.blocks; ++block) {
      if (of_.by == protocol::two_steps || !of_.is_write) {
        co_await agenda_.spend(takes_.send_mail);
        send(of.peer, of.server, header_bytes, of.server.mail);
      }
      if (of_.is_write) {
        co_await of.peer.permission.wait();
        co_await agenda_.spend(takes_.write);
        moves_.push_back(move(of.peer, of.server));
        co_await of.peer.written.wait();
        continue;
      }
      if (of_.by == protocol::one_step) co_await of.peer.permission.wait();
      co_await agenda_.spend(takes_.open + takes_.prepare + takes_.permit);
      send(of.peer, of.server, permit_bytes, of.server.permission);
      co_await of.peer.data.wait();
    }
    of.took = agenda_.now() - begin;
  }

  model::modelled_machine machine_;
  library_times takes_;
  block_moves of_;
  agenda agenda_;
  std::vector<std::unique_ptr<pair>> pairs_;
  std::vector<process> moves_;
  std::vector<process> processes_;
};

}  // namespace

double megabytes_per_second(const model::machine_spec& machine, const library_times& takes, const block_moves& of) {
  return exchange{machine, takes, of}.run();
}

}  // namespace situ::studies::rmem
