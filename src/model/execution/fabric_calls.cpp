// The seams of the fabric on a modelled machine: they carry a header, fetch a parcel, write bytes back and drop them
// (fabric/detail/carry.h, base/detail/coherence.h). Instrumented code calls them.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include <situ/base/error.h>

#include "model/execution/calls.h"
#include "model/execution/carried_header.h"
#include "model/execution/engine.h"
#include "model/execution/graph_devices.h"
#include "model/execution/host_calls.h"
#include "model/parts/memory_rooms.h"
#include "model/parts/modelled_machine.h"

namespace situ::model {
namespace {

constexpr std::uint64_t send_cycles = 10;     // to hand a cell to the network; assumed
constexpr std::uint32_t cell_bytes = 64;      // size of a message on the network
constexpr std::uint64_t arrive_cycles = 100;  // from the arrival to the first instruction of the woken thread; assumed
constexpr std::uintptr_t every_address = ~std::uintptr_t{0};

// Returns the last arrival per pair of tiles, so that no message overtakes another.
std::map<std::pair<std::uint32_t, std::uint32_t>, time_ps>& last_arrivals() {
  static auto* const all = new std::map<std::pair<std::uint32_t, std::uint32_t>, time_ps>;
  return *all;
}

// Runs an operation of the running core in its turn. A device has no caches: the data that it hands over is in memory.
template <class Operation>
void of_the_running_core(Operation operation) {
  if (running == &nobody || running->is_device) return;
  the_engine->take_turn();
  core& c = *running;
  const outside_time scope;
  c.clock = operation(c);
}

// Does the same for cache operations that this code orders. They take no time while caches are warmed.
template <class Operation>
void of_the_caches(void* code, Operation operation) {
  if (running == &nobody || the_engine->has_empty_caches()) return;
  of_the_running_core([&](core& c) {
    the_engine->machine().set_cause(reinterpret_cast<std::uintptr_t>(code));
    const time_ps over = operation(c);
    the_engine->machine().set_cause(0);
    return over;
  });
}

// Homes pages at a tile, or at none. Code outside of modelled time, and a device, may do so, too: they wait for
// nothing.
void home_pages(const void* begin, std::size_t bytes, std::uint32_t tile, void* code) {
  constexpr std::uintptr_t page = memory_rooms::page_bytes;
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  if (bytes == 0) return;
  if (at % page != 0 || bytes % page != 0)
    give_up("pages are homed or shared that do not begin and end at a multiple of 4 KiB");
  if (at + bytes > first_library_address) give_up("pages of a library are homed or shared");
  const auto change = [&](time_ps now) {
    try {
      return the_engine->machine().home_pages(at, at + bytes, tile, now);
    } catch (const error& refused) {
      give_up(std::string{refused.message()}.c_str());
    }
  };
  if (running == &nobody || running->is_device || the_engine->has_empty_caches()) {
    const time_ps now = running->clock;
    const outside_time scope;
    return static_cast<void>(change(now));
  }
  of_the_caches(code, [&](core& c) { return change(c.clock); });
}

std::uintptr_t address_of(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

void arrive(const carried_header& what, time_ps when) {
  memory_port& machine = the_engine->machine();
  if (what.room != nullptr) {
    machine.see_memory(address_of(what.room), sizeof what.words, true);
    std::memcpy(what.room, what.words, sizeof what.words);
  }
  machine.see_memory(address_of(what.header), sizeof *what.header, true);
  what.header->store(what.value, std::memory_order_release);
  if (what.sleeping->exchange(0) != 0) the_engine->wake_at(what.sleeping, 1, when + arrive_cycles * nobody.period_ps);
}

}  // namespace

void send_header(const carried_header& what, time_ps begin) {
  time_ps arrival = 0;
  std::function<void()> arrives;
  {
    const outside_time scope;
    const engine::of_no_core arriving{*the_engine};
    const std::uint32_t tile = the_engine->tile_of_place(what.target);
    time_ps& last = last_arrivals()[{the_engine->cores()[what.core].tile, tile}];
    arrival = last = std::max(last, the_engine->machine().send(what.core, tile, cell_bytes, begin));
    arrives = [what, arrival] { arrive(what, arrival); };
  }
  the_engine->at(arrival, std::move(arrives));
}

}  // namespace situ::model

using namespace situ::model;

extern "C" {

void situ_model_carry(std::atomic<std::uint64_t>* header, std::uint64_t value, std::uint32_t target,
                      std::atomic<std::uint32_t>* sleeping) noexcept {
  if (running == &nobody) return header->store(value, std::memory_order_release);
  if (running->is_device) give_up("a device sends a message, which only cores do");
  of_the_running_core([&](core& c) { return c.clock + send_cycles * c.period_ps; });
  const carried_header what{
      .header = header, .value = value, .target = target, .sleeping = sleeping, .core = running->index};
  if (the_graph_devices == nullptr || !the_graph_devices->take_header(what)) send_header(what, running->clock);
}

// Copies packet by packet, so that others get their turn in between.
void situ_model_dma(void* to, const void* from, std::size_t bytes) noexcept {
  if (running == &nobody) return static_cast<void>(std::memcpy(to, from, bytes));
  if (running->is_device) give_up("a device asks for DMA, which only cores do");
  modelled_machine* const parts = the_engine->machine().parts();
  modelled_machine::dma_transfer going;
  bool is_over = parts == nullptr;
  if (!is_over) {
    of_the_running_core([&](core& c) {
      going = parts->begin_dma(c.index, address_of(to), address_of(from), bytes, c.clock);
      return going.next;
    });
  }
  while (!is_over)
    of_the_running_core([&](core& c) {
      const engine::of_no_core copying{*the_engine};
      parts->step_dma(going);
      is_over = going.is_over();
      return is_over ? going.done : std::max(c.clock, going.next);
    });
  of_the_running_core([&](core& c) {
    memory_port& machine = the_engine->machine();
    const engine::of_no_core copying{*the_engine};
    const time_ps over =
        parts != nullptr ? c.clock : machine.dma(c.index, address_of(to), address_of(from), bytes, c.clock);
    machine.see_memory(address_of(from), bytes, false);
    machine.see_memory(address_of(to), bytes, true);
    std::memcpy(to, from, bytes);
    return over;
  });
}

void situ_model_write_back(const void* at, std::size_t bytes) noexcept {
  of_the_caches(__builtin_return_address(0), [&](core& c) {
    return the_engine->machine().write_back(c.index, address_of(at), address_of(at) + bytes, c.clock);
  });
}
void situ_model_write_back_all() noexcept {
  of_the_caches(__builtin_return_address(0),
                [](core& c) { return the_engine->machine().write_back(c.index, 0, every_address, c.clock); });
}
void situ_model_invalidate(const void* at, std::size_t bytes) noexcept {
  of_the_caches(__builtin_return_address(0), [&](core& c) {
    return the_engine->machine().invalidate(c.index, address_of(at), address_of(at) + bytes, c.clock);
  });
}
void situ_model_flush(const void* at, std::size_t bytes) noexcept {
  of_the_caches(__builtin_return_address(0), [&](core& c) {
    return the_engine->machine().flush(c.index, address_of(at), address_of(at) + bytes, c.clock);
  });
}
void situ_model_flush_all() noexcept {
  of_the_caches(__builtin_return_address(0),
                [](core& c) { return the_engine->machine().flush(c.index, 0, every_address, c.clock); });
}

void situ_model_home_pages(const void* begin, std::size_t bytes, std::uint32_t place) noexcept {
  if (the_engine == nullptr) return;
  const std::uint32_t tile = the_engine->tile_of_place(place);
  home_pages(begin, bytes, tile, __builtin_return_address(0));
}
void situ_model_share_pages(const void* begin, std::size_t bytes) noexcept {
  if (the_engine == nullptr) return;
  home_pages(begin, bytes, none, __builtin_return_address(0));
}

}  // extern "C"
