// A network within the process: what is sent comes after a while, in another order, or is cut off.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/racing_reads.h"
#include "cluster/wire.h"

namespace situ::test {

using namespace situ::detail::cluster;

// Its ends are numbered, and know each other by these numbers. Thread-safe, but for an end's progress().
class test_network {
  using clock = std::chrono::steady_clock;

 public:
  struct options {
    std::uint64_t seed = 1;
    // One message of eight takes up to this, so that others overtake it.
    std::chrono::microseconds most_delay{0};
  };

  test_network(std::size_t ends, const options& how) : most_delay_{how.most_delay}, random_{how.seed} {
    for (std::size_t i = 0; i < ends; ++i) ends_.push_back(std::make_unique<end>(*this, static_cast<wire_peer>(i)));
    carrier_ = std::thread{[this] { carry(); }};
  }
  ~test_network() {
    {
      const std::lock_guard lock{mutex_};
      is_ending_ = true;
    }
    changed_.notify_all();
    carrier_.join();
  }
  test_network(const test_network&) = delete;
  test_network& operator=(const test_network&) = delete;

  [[nodiscard]] host_wire& end_of(wire_peer number) { return *ends_[number]; }
  // From now on nothing comes to that end or from it.
  void cut(wire_peer number) {
    const std::lock_guard lock{mutex_};
    ends_[number]->is_cut = true;
  }
  // And to or from it again. What was sent meanwhile does not come.
  void mend(wire_peer number) {
    const std::lock_guard lock{mutex_};
    ends_[number]->is_cut = false;
  }
  // Sends as `from`, whatever it is.
  void send_as(wire_peer from, wire_peer to, wire_message kind, std::span<const std::byte> head,
               std::span<const std::byte> data) {
    parcel sent{from, to, kind, {head.begin(), head.end()}, {}, data};
    if (is_copied(kind, data.size())) {
      sent.copied.assign(data.begin(), data.end());
      sent.data = sent.copied;
    }
    {
      const std::lock_guard lock{mutex_};
      ++sent_;
      const std::uint64_t dice = random_();
      const bool is_late = most_delay_.count() != 0 && dice % 8 == 0;
      sent.due = clock::now() + std::chrono::microseconds{is_late ? dice / 8 % most_delay_.count() : 0};
      sent.order = sent_;
      under_way_.push_back(std::make_unique<parcel>(std::move(sent)));
      std::push_heap(under_way_.begin(), under_way_.end(), &is_later);
    }
    changed_.notify_all();
  }
  [[nodiscard]] std::uint64_t sent() {
    const std::lock_guard lock{mutex_};
    return sent_;
  }

 private:
  struct parcel {
    wire_peer from;
    wire_peer to;
    wire_message kind;
    std::vector<std::byte> head;
    std::vector<std::byte> copied;
    std::span<const std::byte> data;
    clock::time_point due{};
    std::uint64_t order = 0;
    std::byte* room = nullptr;
  };
  static bool is_later(const std::unique_ptr<parcel>& a, const std::unique_ptr<parcel>& b) noexcept {
    return std::pair{a->due, a->order} > std::pair{b->due, b->order};
  }

  class end final : public host_wire {
   public:
    end(test_network& network, wire_peer number)
        : descriptor_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)}, network_{network}, number_{number} {}
    ~end() override { ::close(descriptor_); }
    end(const end&) = delete;
    end& operator=(const end&) = delete;
    void send(wire_peer to, wire_message kind, std::span<const std::byte> head,
              std::span<const std::byte> data) noexcept override {
      network_.send_as(number_, to, kind, head, data);
    }
    void give_up(wire_peer peer) noexcept override {
      given_up_.insert(peer);
      std::erase_if(announced_, [peer](const auto& each) { return each->from == peer; });
    }
    // Long data comes in the turn after its head.
    bool progress(wire_receiver& receiver) override {
      std::vector<std::unique_ptr<parcel>> come;
      {
        const std::lock_guard lock{network_.mutex_};
        come.swap(inbox);
      }
      const bool worked = !come.empty() || !announced_.empty();
      for (auto& each : std::exchange(announced_, {})) {
        std::optional<detail::racing_reads> of_slices;  // what an answer brings may change meanwhile (wire.h)
        if (each->kind == wire_message::answer) of_slices.emplace();
        std::memcpy(each->room, each->data.data(), each->data.size());
        of_slices.reset();
        receiver.received(each->from, each->kind, each->head, {each->room, each->data.size()});
      }
      for (auto& each : come) {
        if (given_up_.contains(each->from)) continue;
        if (is_copied(each->kind, each->data.size())) {
          receiver.received(each->from, each->kind, each->head, each->data);
        } else {
          each->room = receiver.room_for(each->from, each->kind, each->head, each->data.size());
          if (each->room != nullptr) announced_.push_back(std::move(each));
        }
      }
      return worked;
    }
    bool arm() noexcept override {
      std::uint64_t rung = 0;
      const std::lock_guard lock{network_.mutex_};
      (void)!::read(descriptor_, &rung, sizeof rung);
      return inbox.empty() && announced_.empty();
    }
    int descriptor() const noexcept override { return descriptor_; }
    bool is_idle() const noexcept override { return true; }
    // pre: the network's mutex is held.
    void take(std::unique_ptr<parcel> come) {
      inbox.push_back(std::move(come));
      constexpr std::uint64_t once = 1;
      (void)!::write(descriptor_, &once, sizeof once);
    }
    std::vector<std::unique_ptr<parcel>> inbox;  // the network's mutex
    bool is_cut = false;

   private:
    const int descriptor_;
    test_network& network_;
    wire_peer number_;
    std::set<wire_peer> given_up_;
    std::vector<std::unique_ptr<parcel>> announced_;
  };

  void carry() {
    std::unique_lock lock{mutex_};
    while (!is_ending_) {
      if (under_way_.empty()) {
        changed_.wait(lock);
      } else if (const clock::time_point due = under_way_.front()->due; due > clock::now()) {
        changed_.wait_until(lock, due);
      } else {
        std::pop_heap(under_way_.begin(), under_way_.end(), &is_later);
        std::unique_ptr<parcel> next = std::move(under_way_.back());
        under_way_.pop_back();
        end& to = *ends_[next->to];
        if (to.is_cut || ends_[next->from]->is_cut) continue;
        to.take(std::move(next));
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<end>> ends_;
  std::vector<std::unique_ptr<parcel>> under_way_;  // a heap, the next one first
  std::chrono::microseconds most_delay_;
  std::mt19937_64 random_;
  std::uint64_t sent_ = 0;
  bool is_ending_ = false;
  std::thread carrier_;
};

}  // namespace situ::test
