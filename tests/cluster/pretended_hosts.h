// Hosts within the process: places that are threads, each of one of several hosts, and a server for each host.
//
// All memory is here, in truth, but what is of another host is not touched by its fabric: it goes over a test_network.
// Messages, barriers and the like go by shared memory as ever.
#pragma once

#include <situ/fabric/detail/far.h>
#include <situ/situ.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cluster/far_place.h"
#include "cluster/operations.h"
#include "cluster/test_network.h"
#include "memory/liveness.h"
#include "runtime/place_network.h"
#include "runtime/serve.h"

namespace situ::test {

// A host's server: a thread that takes in what comes.
class server_thread final : wire_receiver {
 public:
  server_thread(const situ::detail::place_context& own, std::span<const situ::detail::place_home> homes,
                std::uint16_t host, test_network& network, wire_peer end)
      : network_{network},
        end_{end},
        access_{own},
        done_{access_.context, homes, host, network.end_of(end)},
        wire_{network.end_of(end)} {
    for (std::uint32_t p = 0; p < homes.size(); ++p) done_.add_peer(p, homes[p].host);
    network.set_waker(end, [this] {
      const std::lock_guard lock{mutex_};
      has_come_ = true;
      come_.notify_one();
    });
    thread_ = std::thread{[this] { run(); }};
  }
  ~server_thread() override { stop(); }
  // Takes nothing in any more.
  void stop() {
    if (!thread_.joinable()) return;
    network_.set_waker(end_, nullptr);
    {
      const std::lock_guard lock{mutex_};
      is_ending_ = true;
      come_.notify_one();
    }
    thread_.join();
  }
  // Once it has stopped.
  [[nodiscard]] const operations::counts& count() const noexcept { return done_.count(); }

 private:
  void run() {
    for (;;) {
      while (wire_.progress(*this)) {}
      std::unique_lock lock{mutex_};
      come_.wait(lock, [this] { return has_come_ || is_ending_; });
      if (is_ending_) return;
      has_come_ = false;
    }
  }
  std::byte* room_for(wire_peer from, wire_message kind, std::span<const std::byte> head,
                      std::uint64_t bytes) noexcept override {
    return kind == wire_message::operation ? done_.room_for(from, head, bytes) : nullptr;
  }
  void received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                std::span<const std::byte> data) noexcept override {
    if (kind == wire_message::operation) done_.received(from, head, data);
  }

  test_network& network_;
  wire_peer end_;
  situ::detail::access_context access_;
  operations done_;
  host_wire& wire_;
  std::mutex mutex_;
  std::condition_variable come_;
  bool has_come_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

// Made before the places are launched, and ended after them. Place p is of host p % hosts.
class pretended_hosts {
 public:
  pretended_hosts(std::uint32_t places, std::uint32_t hosts, const test_network::options& how)
      : servers_(hosts), network_{places + hosts, how} {
    for (std::uint32_t p = 0; p < places; ++p)
      homes_.push_back({static_cast<std::uint16_t>(p % hosts), static_cast<std::uint16_t>(p / hosts)});
  }
  pretended_hosts(const pretended_hosts&) = delete;
  pretended_hosts& operator=(const pretended_hosts&) = delete;
  ~pretended_hosts() { servers_.clear(); }

  [[nodiscard]] test_network& network() noexcept { return network_; }
  [[nodiscard]] std::span<const situ::detail::place_home> homes() const noexcept { return homes_; }
  [[nodiscard]] wire_peer end_of_server(std::uint32_t host) const noexcept {
    return static_cast<wire_peer>(homes_.size() + host);
  }
  [[nodiscard]] server_thread& server(std::uint32_t host) noexcept { return *servers_[host]; }

  // The calling place is of its host as long as this lives. Collective.
  class membership {
   public:
    explicit membership(pretended_hosts& of) : network_{of.network_}, here_{situ::here().index()} {
      const std::uint32_t here = here_;
      const std::uint16_t host = of.homes_[here].host;
      if (of.homes_[here].index == 0)
        of.servers_[host] = std::make_unique<server_thread>(*situ::detail::current, of.homes_, host, of.network_,
                                                            of.end_of_server(host));
      std::vector<wire_peer> servers;
      for (std::uint32_t h = 0; h < of.servers_.size(); ++h) servers.push_back(of.end_of_server(h));
      barrier();
      of.network_.set_waker(
          here, [&slot = situ::detail::current->job->slot(here)] { situ::detail::wake_after_change(slot); });
      far_.emplace(*situ::detail::current, of.homes_, host, of.network_.end_of(here), std::move(servers));
      far_->set_task_waiter(&situ::detail::wait_as_task);
      join_hosts(*situ::detail::current, *far_);
    }
    ~membership() {
      leave_hosts(*situ::detail::current);
      far_.reset();
      network_.set_waker(here_, nullptr);
    }
    membership(const membership&) = delete;
    membership& operator=(const membership&) = delete;
    [[nodiscard]] far_place& far() noexcept { return *far_; }

   private:
    test_network& network_;
    std::uint32_t here_;
    std::optional<far_place> far_;
  };

 private:
  std::vector<situ::detail::place_home> homes_;
  std::vector<std::unique_ptr<server_thread>> servers_;
  test_network network_;
};

}  // namespace situ::test
