// A unit of the machine while a program runs: an engine thread on a core of its own, which serves one work item after
// the other. The core's clock is the unit's time; each of the unit's accesses waits for its turn, so that cores and
// other units get theirs in time order.
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
    // Carries out the work from `begin` on, without instructions; returns the end.
    std::function<time_ps(time_ps begin)> run;
    // Called afterwards on the unit's core, in no modelled time; then the unit continues.
    std::function<void()> over;
  };
  struct counters {
    std::uint64_t works = 0;
    std::uint64_t blocked = 0;  // works that found the queue full, and waited outside
    std::uint64_t most_waiting = 0;
    time_ps waiting = 0;  // sum over all works, until the unit began with each
    time_ps busy = 0;
  };

  // places: capacity of the queue in front of the unit.
  unit_thread(engine& runs, std::string name, std::size_t places)
      : engine_{runs}, name_{std::move(name)}, places_{places} {}

  // Submits work at a time that may be in the future. The first call starts the thread.
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
  // Returns the clock of the unit's core. pre: submit() was called.
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
