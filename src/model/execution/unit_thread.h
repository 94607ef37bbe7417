// A unit of the machine while a program runs: a thread of the engine on a core of its own, which takes up one work
// after the other. Its clock is the unit's time; each of its accesses waits for its turn, so that cores, and other
// units, get theirs in the order of time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "model/execution/engine.h"
#include "model/graph_units/ports.h"

namespace situ::model {

class unit_thread final : public unit_surroundings {
 public:
  struct work {
    // Carries it out from `begin` on, without instructions; returns the end.
    std::function<time_ps(time_ps begin)> run;
    // Then called on the unit's core, which takes no time; the unit goes on afterwards.
    std::function<void()> over;
  };
  struct counters {
    std::uint64_t works = 0;
    std::uint64_t blocked = 0;  // found all places taken, and waited outside
    std::uint64_t most_waiting = 0;
    time_ps waiting = 0;  // of all works, until the unit began with them
    time_ps busy = 0;
  };

  // places: of the queue before it.
  unit_thread(engine& runs, std::string name, std::size_t places)
      : engine_{runs}, name_{std::move(name)}, places_{places} {}

  // Asks at a time that may be yet to come. The first begins the thread.
  void submit(time_ps when, work asked);

  void take_turn(time_ps now) override;
  void see_memory(std::uintptr_t address, std::uint64_t bytes, bool writes) override {
    engine_.machine().see_memory(address, bytes, writes);
  }
  void see_cache(std::uint32_t tile, std::uintptr_t address, std::uint64_t bytes) override {
    engine_.machine().see_tile(tile, address, static_cast<std::uint32_t>(bytes));
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const counters& counted() const noexcept { return counters_; }
  // Of the unit's core, where it has one.
  [[nodiscard]] time_ps now() const noexcept { return core_->clock; }

 private:
  struct waiting_work {
    work asked;
    time_ps since;
  };
  static void* serve(void* self);
  void serve_next();
  void arrive(const work& asked, time_ps when);

  engine& engine_;
  std::string name_;
  std::size_t places_;
  core* core_ = nullptr;
  std::deque<waiting_work> waiting_;
  counters counters_;
};

}  // namespace situ::model
