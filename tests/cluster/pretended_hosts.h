// Hosts within the process: places that are threads, each of one of several hosts, and a server for each host.
//
// All memory is here, in truth, but what is of another host is not touched by its fabric: it goes over a test_network,
// and so do messages. Barriers go by shared memory as ever.
#pragma once

#include <situ/fabric/detail/far.h>
#include <situ/situ.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "cluster/delivery.h"
#include "cluster/far_place.h"
#include "cluster/operations.h"
#include "cluster/test_network.h"
#include "memory/bell.h"
#include "memory/job.h"
#include "os/host.h"
#include "runtime/place_network.h"
#include "runtime/serve.h"

namespace situ::test {

// A host's server: a thread that takes in what comes.
class server_thread final : wire_receiver {
 public:
  server_thread(const situ::detail::place_context& own, std::span<const situ::detail::place_home> homes,
                std::uint16_t host, test_network& network, wire_peer end)
      : access_{own},
        done_{access_.context, homes, host, network.end_of(end)},
        messages_{*own.job, homes, host, network.end_of(end), done_},
        bell_{slot_},
        wire_{network.end_of(end)},
        channels_{std::make_unique<situ::detail::channel_pair[]>(homes.size())},
        fences_{own.sender_fences} {
    for (std::uint32_t p = 0; p < homes.size(); ++p) {
      done_.add_peer(p, homes[p].host);
      if (homes[p].host == host) messages_.add_place(p, channels_[p]);
    }
    thread_ = std::thread{[this] { run(); }};
  }
  ~server_thread() override { stop(); }
  // Takes nothing in any more.
  void stop() {
    if (!thread_.joinable()) return;
    is_ending_.store(true);
    situ::detail::ring_bell(slot_.bell.load());
    thread_.join();
  }
  // Its channels to a place of its host.
  [[nodiscard]] situ::detail::channel_pair& channels_to(std::uint32_t place) noexcept { return channels_[place]; }
  [[nodiscard]] situ::detail::place_slot& slot() noexcept { return slot_; }
  // Once it has stopped.
  [[nodiscard]] const operations::counts& count() const noexcept { return done_.count(); }
  [[nodiscard]] const delivery::counts& messages() const noexcept { return messages_.count(); }

 private:
  bool work() {
    const bool has_come = wire_.progress(*this);
    return messages_.deliver() || has_come;
  }
  // As a place sleeps: announce, look once more, sleep.
  void run() {
    while (!is_ending_.load()) {
      while (work()) {}
      if (messages_.is_waiting()) {
        slot_.sleeping.store(situ::detail::asleep_by_bell);
        messages_.ask_for_wake();
        if (!fences_) situ::detail::order_processes();
        if (work()) {
          slot_.sleeping.store(0);
          continue;
        }
      }
      if (wire_.arm()) situ::detail::await_descriptors(wire_.descriptor(), bell_.descriptor(), -1);
      bell_.silence();
      slot_.sleeping.store(0);
    }
  }
  std::byte* room_for(wire_peer from, wire_message kind, std::span<const std::byte> head,
                      std::uint64_t bytes) noexcept override {
    return kind == wire_message::operation ? done_.room_for(from, head, bytes) : nullptr;
  }
  void received(wire_peer from, wire_message kind, std::span<const std::byte> head,
                std::span<const std::byte> data) noexcept override {
    if (kind == wire_message::operation) return done_.received(from, head, data);
    messages_.received(from, kind, head, data);
  }

  situ::detail::access_context access_;
  operations done_;
  delivery messages_;
  situ::detail::place_slot slot_;
  situ::detail::bell bell_;
  host_wire& wire_;
  std::unique_ptr<situ::detail::channel_pair[]> channels_;
  const bool fences_;
  std::atomic<bool> is_ending_{false};
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
    explicit membership(pretended_hosts& of) : all_{of} {
      situ::detail::place_context& own = *situ::detail::current;
      const std::uint32_t here = own.place;
      const std::uint16_t host = of.homes_[here].host;
      ++of.members_;
      if (of.homes_[here].index == 0)
        of.servers_[host] = std::make_unique<server_thread>(own, of.homes_, host, of.network_, of.end_of_server(host));
      std::vector<wire_peer> servers;
      for (std::uint32_t h = 0; h < of.servers_.size(); ++h) servers.push_back(of.end_of_server(h));
      barrier();
      own.endpoint->hear_server(of.servers_[host]->channels_to(here), of.servers_[host]->slot());
      far_.emplace(own, of.homes_, host, of.network_.end_of(here), std::move(servers));
      far_->set_task_waiter(&situ::detail::wait_as_task);
      join_hosts(own, *far_);
      own.endpoint->send_by_hosts();
      barrier();
    }
    ~membership() {
      situ::detail::place_context& own = *situ::detail::current;
      if (std::uncaught_exceptions() == 0) settle(*own.scheduler);
      own.endpoint->send_by_channels();
      leave_hosts(own);
      far_.reset();
      own.endpoint->forget_server();
      if (--all_.members_ == 0)  // the job's memory may go now
        for (const auto& each : all_.servers_)
          if (each != nullptr) each->stop();
    }
    membership(const membership&) = delete;
    membership& operator=(const membership&) = delete;
    [[nodiscard]] far_place& far() noexcept { return *far_; }

   private:
    // Until all messages, here and from here, have come; those that answer them, too.
    void settle(situ::detail::scheduler& by) noexcept {
      try {
        for (int rounds = 0; rounds < 3; ++rounds) {
          by.wait_until([this] { return far_->has_delivered(); }, {.outlives_losses = true});
          barrier();
          while (situ::detail::current->endpoint->poll(true)) {}
        }
        barrier();
      } catch (const place_lost_error&) {}
    }
    pretended_hosts& all_;
    std::optional<far_place> far_;
  };

 private:
  std::vector<situ::detail::place_home> homes_;
  std::vector<std::unique_ptr<server_thread>> servers_;
  test_network network_;
  std::atomic<std::uint32_t> members_ = 0;
};

}  // namespace situ::test
