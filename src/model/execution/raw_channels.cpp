// Raw channels (base/detail/raw_channel.h): messages of a few words from core to core, past the memories.
//
// 1. A message takes the sender `raw_send` of the machine's file. Its last flit enters the network at the end of that
//    time.
// 2. The receiver waits until the message has arrived, and then takes `raw_receive`.
// 3. Words come from registers, and go to registers: these times are all that they cost. The program's own accesses to
//    the memory that holds them here are priced as any others.
// 4. A tile's queue holds `raw_queue` messages, including those on their way. A sender waits for room, and learns of it
//    when the receiver takes a message: the way back of that news takes no time.
// 5. Messages of one tile to another arrive in order; a tile's threads take the messages for it in order of arrival.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "model/execution/calls.h"
#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/parts/modelled_machine.h"

namespace situ::model {
namespace {

struct raw_message {
  std::array<std::byte, raw_channel_spec::most_bytes> words{};
  std::uint32_t bytes = 0;
};
struct raw_queue {
  std::deque<raw_message> arrived;
  std::uint32_t taken = 0;                        // places of the queue: messages that have arrived or are on their way
  std::map<std::uint32_t, time_ps> last_arrival;  // by the sender's tile
};

// Returns the queue of a tile; it stays where it is.
raw_queue& queue_of(std::uint32_t tile) {
  static auto* const all = new std::map<std::uint32_t, raw_queue>;
  return (*all)[tile];
}

[[noreturn]] void give_up_with(const std::string& why) { give_up(why.c_str()); }

// Returns the machine, which has raw channels, or ends the run.
modelled_machine& machine_for(const char* what) {
  if (running == &nobody) give_up_with(fmt::format("a raw message is {} where no modelled time passes", what));
  if (running->is_device) give_up_with(fmt::format("a device {} a raw message, which only cores do", what));
  modelled_machine* const parts = the_engine->machine().parts();
  if (parts == nullptr || parts->spec().raw.bytes == 0) {
    const outside_time scope;
    give_up_with(
        fmt::format("a raw message is {}, and {} has no raw channels: the network for messages of its file has "
                    "no raw_bytes, raw_send, raw_receive and raw_queue",
                    what, the_engine->machine().name()));
  }
  return *parts;
}

// Other tiles may see other bytes of a segment: words that move past the caches have no place there.
void check_place(const void* words, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(words);
  if (watched.holds(at) || watched.holds(at + bytes - 1))
    give_up("the words of a raw message lie in a segment, whose coherence is checked; copy them to a variable");
}

void send(std::uint32_t tile, const void* words, std::uint32_t bytes) {
  modelled_machine& machine = *the_engine->machine().parts();
  const raw_channel_spec& of = machine.spec().raw;
  raw_queue& to = queue_of(tile);
  while (to.taken >= of.queue) {
    the_engine->sleep(&to.taken, never, "room in the queue of a raw channel");
    the_engine->take_turn();
  }
  ++to.taken;
  raw_message message{.bytes = bytes};
  time_ps arrival = 0;
  {
    core& c = *running;
    const outside_time scope;
    std::memcpy(message.words.data(), words, bytes);
    c.clock += of.send_time;
    time_ps& last = to.last_arrival[c.tile];
    arrival = last = std::max(last, machine.send_raw(c.index, tile, bytes, c.clock));
  }
  the_engine->at(arrival, [&to, message, arrival] {
    to.arrived.push_back(message);
    the_engine->wake_at(&to.arrived, 1, arrival);
  });
}

std::size_t receive(void* words, std::size_t bytes) {
  raw_queue& from = queue_of(running->tile);
  while (from.arrived.empty()) {
    the_engine->sleep(&from.arrived, never, "a raw message");
    the_engine->take_turn();
  }
  raw_message message;
  {
    const outside_time scope;
    message = from.arrived.front();
    from.arrived.pop_front();
  }
  if (message.bytes > bytes)
    give_up_with(fmt::format("a raw message of {} bytes is received into {}", message.bytes, bytes));
  core& c = *running;
  {
    const outside_time scope;
    std::memcpy(words, message.words.data(), message.bytes);
    c.clock += the_engine->machine().parts()->spec().raw.receive_time;
  }
  --from.taken;
  the_engine->wake_at(&from.taken, 1, c.clock);
  return message.bytes;
}

}  // namespace
}  // namespace situ::model

using namespace situ::model;

extern "C" {

void situ_model_raw_send(std::uint32_t place, const void* words, std::size_t bytes) noexcept {
  const std::uint32_t most = machine_for("sent").spec().raw.bytes;
  if (bytes == 0 || bytes > most) give_up_with(fmt::format("a raw message has 1 to {} bytes, and not {}", most, bytes));
  check_place(words, bytes);
  the_engine->take_turn();
  send(the_engine->tile_of_place(place), words, static_cast<std::uint32_t>(bytes));
}

std::size_t situ_model_raw_receive(void* words, std::size_t bytes) noexcept {
  (void)machine_for("received");
  if (bytes > 0) check_place(words, bytes);
  the_engine->take_turn();
  return receive(words, bytes);
}

bool situ_model_has_raw_channels() noexcept {
  const modelled_machine* const parts = the_engine == nullptr ? nullptr : the_engine->machine().parts();
  return parts != nullptr && parts->spec().raw.bytes > 0;
}

}  // extern "C"
