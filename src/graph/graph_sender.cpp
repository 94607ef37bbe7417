// The sending end of graphs in calls and results.
#include <situ/graph/transfer.h>

#include <situ/graph/detail/graph_call.h>

#include <situ/base/detail/coherence.h>
#include <situ/base/detail/test_points.h>
#include <situ/base/error.h>
#include <situ/fabric/detail/far.h>
#include <situ/runtime/detail/scheduler.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "graph/agent.h"
#include "graph/graph_state.h"
#include "graph/message.h"
#include "graph/plan.h"
#include "graph/taken_flag.h"
#include "graph/transfer_protocol.h"
#include "graph/walk_under_way.h"
#include "os/host.h"

namespace situ::detail {
namespace {

// Keeps an offloaded graph for a call: the entry, which ends before the arguments that the agent reads.
struct lent_graph final : held_by_call {
  std::unique_ptr<held_by_call> arguments;
  offload_lease entry;
  lent_graph(std::unique_ptr<held_by_call> held, offload_lease&& lease) noexcept
      : arguments{std::move(held)}, entry{std::move(lease)} {}
};

// A graph of up to this size is sent with its call: a pull would take longer than sending it twice.
constexpr std::uint64_t most_sent_unasked = 512;
// The number of pulls from a root before the sender looks at the size again: if one graph is larger, the next one from
// such a root mostly is, too.
constexpr std::uint32_t pulls_per_look = 15;

[[nodiscard]] bool is_in_own_segment(const void* object) noexcept {
  return object == nullptr || ptr<const void>{object}.is_here();
}

}  // namespace

bool offload_begins_at_once() { return graph_units_in_use().dispatching != nullptr; }

struct graph_sender::implementation {
  transfer how = transfer::message;
  // Most calls have one root, so the array is not cleared.
  alignas(graph_root) std::array<std::byte, most_roots * sizeof(graph_root)> root_store;
  std::span<const graph_root> roots;
  // The plan of a message, until the message is written. Other transfers wait, and hold none: plans are large.
  std::optional<borrowed_plan> borrowed;
  flag_lease flag;                 // pull, and a result that a unit sends
  offload_lease lease;             // offload, until lend()
  std::uint64_t entry_words[2]{};  // offload, until lend(): address and use
  std::uint32_t reader = 0;        // the receiver of a call that a unit sends
  bool is_by_unit = false;
  bool is_result = false;
  walk_under_way* walk = nullptr;  // owned by the call, or by own_walk
  std::unique_ptr<walk_under_way> own_walk;
  bool may_fetch = false;  // pull: the receiver may ask for a message if it cannot read an object

  [[nodiscard]] graph_plan& plan() {
    if (!borrowed) borrowed.emplace();
    return **borrowed;
  }

  // Chooses message for a small graph, and for a graph whose roots lie outside the segment; else pull. For a message,
  // leaves the plan discovered.
  transfer choose(bool is_result) {
    const bool may_be_pulled =
        std::all_of(roots.begin(), roots.end(), [](const graph_root& root) { return is_in_own_segment(root.object); });
    if (!may_be_pulled) return transfer::message;
    if (is_result)
      return plan().discover_small(roots.data(), roots.size(), max_medium_bytes, graph_state_here().map)
                 ? transfer::message
                 : transfer::pull;
    std::uint32_t& pulls_ahead = plan().expected(*roots[0].type).pulls_ahead;
    if (pulls_ahead != 0) {
      --pulls_ahead;
      return transfer::pull;
    }
    if (plan().discover_small(roots.data(), roots.size(), most_sent_unasked, graph_state_here().map))
      return transfer::message;
    pulls_ahead = pulls_per_look;
    return transfer::pull;
  }
};

namespace {
// Writes a graph back before another place reads it at its address. Does nothing if places are coherent.
void write_back_graph(std::span<const graph_root> roots) {
  if constexpr (has_coherent_places) return;
  const borrowed_plan walk;
  walk->discover(roots.data(), roots.size(), graph_state_here().map, source_check::handed_over);
}
}  // namespace

graph_sender::graph_sender(route to, std::span<const graph_root> roots, bool is_result)
    : self_{std::make_unique_for_overwrite<implementation>()} {
  implementation& self = *self_;
  transfer how = to.how;
  auto* const store = reinterpret_cast<graph_root*>(self.root_store.data());
  std::uninitialized_copy(roots.begin(), roots.end(), store);
  self.roots = {store, roots.size()};
  if (how == transfer::automatic) how = graph_state_here().default_transfer;
  self.may_fetch = how == transfer::automatic;
  // Only this process can read values, which lie in its private memory; only this host can read any of its graphs.
  const bool is_only_read_here =
      is_far(*current, to.to.index()) ||
      std::any_of(roots.begin(), roots.end(), [](const graph_root& root) { return root.type->reaches_values; });
  if (is_only_read_here) {
    self.how = transfer::message;
  } else {
    self.how = how == transfer::automatic ? self.choose(is_result) : how;
  }
  if (self.how == transfer::offload && graph_units_in_use().dispatching != nullptr) {
    self.is_by_unit = true;
    self.is_result = is_result;
    self.reader = to.to.index();
    if (is_result) self.flag.make(self.reader);
    return;
  }
  if (self.how == transfer::offload) {
    self.lease = agent_here().measure(roots, to.to.index());
    if (self.lease.entry()->found.graph.has_values) {  // in objects of a derived class
      const offload_lease over = std::move(self.lease);
      self.how = transfer::message;
    }
  }
  if (self.how != transfer::message) self.borrowed.reset();
  if (self.how == transfer::message) {
    if (self.plan().size().objects == 0)
      self.plan().discover(roots.data(), roots.size(), graph_state_here().map, source_check::none);
  } else if (self.how == transfer::offload) {
    self.entry_words[0] = reinterpret_cast<std::uintptr_t>(self.lease.entry());
    self.entry_words[1] = self.lease.use();
  } else {
    write_back_graph(self.roots);
    if (is_result) self.flag.make(to.to.index());
  }
}

graph_sender::~graph_sender() = default;

std::size_t graph_sender::size() const noexcept {
  const std::size_t words = 1;  // the word of the transfer
  switch (self_->how) {
    case transfer::message: return (words + 1) * 8 + message_bytes(self_->plan(), self_->roots.size());
    case transfer::pull: return (words + 2 + self_->roots.size()) * 8;
    default: break;
  }
  if (self_->is_by_unit) return (words + 1 + self_->roots.size() + (self_->is_result ? 1 : 0)) * 8;
  return (words + 2) * 8;
}

namespace {
// Returns whether `at` is in the next message of a channel to the place; if not, it is in a buffer.
[[nodiscard]] bool is_in_channel_to(std::uint32_t place, const std::byte* at) noexcept {
  const auto lies_in = [at](const channel* of) {
    return reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(of) < sizeof(channel);
  };
  return lies_in(current->endpoint->requests_to(place).to) || lies_in(current->endpoint->replies_to(place).to);
}
}  // namespace

// Hands the graph to the unit, which walks it once it has the message.
void graph_sender::write_for_unit(wire_writer& writer) const {
  implementation& self = *self_;
  if (self.walk == nullptr) {
    self.own_walk = std::make_unique<walk_under_way>();
    self.walk = self.own_walk.get();
  }
  std::byte* const room = writer.skip(2 * sizeof(std::uint64_t));
  for (const graph_root& root : self.roots) {
    const auto word = reinterpret_cast<std::uintptr_t>(root.object);
    writer.write(&word, sizeof word);
  }
  if (self.is_result) {
    const auto word = reinterpret_cast<std::uintptr_t>(self.flag.get());
    writer.write(&word, sizeof word);
  }
  self.walk->is_result = self.is_result;
  if (is_in_channel_to(self.reader, room)) return self.walk->begin(self.roots, room);
  // A large call is sent when its buffer is full, so the unit's result must be there before.
  self.walk->begin(self.roots, nullptr);
  while (!self.walk->is_over.load(std::memory_order_acquire)) give_way();
  std::memcpy(room, self.walk->words(), 2 * sizeof(std::uint64_t));
}

void graph_sender::write(wire_writer& writer) const {
  if (self_->is_by_unit) return write_for_unit(writer);
  const auto put_word = [&](std::uint64_t word) { writer.write(&word, sizeof word); };
  put_word(static_cast<std::uint64_t>(self_->how));
  if (self_->how == transfer::message) {
    const std::uint64_t bytes = message_bytes(self_->plan(), self_->roots.size());
    put_word(bytes);
    write_message(self_->plan(), self_->roots, writer.skip(bytes));
    self_->borrowed.reset();
    SITU_POINT(graph_written);
  } else if (self_->how == transfer::pull) {
    put_word(reinterpret_cast<std::uintptr_t>(self_->flag.get()));
    put_word(current->told_of | (self_->may_fetch ? may_fetch_bit : 0));
    for (const graph_root& root : self_->roots)
      put_word(reinterpret_cast<std::uintptr_t>(root.object) | std::uint64_t{root.type->index} << type_shift);
  } else {
    for (const std::uint64_t word : self_->entry_words) put_word(word);
  }
}

std::unique_ptr<held_by_call> graph_sender::lend(std::unique_ptr<held_by_call> arguments) {
  if (self_->how != transfer::offload) return arguments;
  if (self_->is_by_unit) {
    auto lent = std::make_unique<walked_graph>(std::move(arguments));
    self_->walk = &lent->walk;
    return lent;
  }
  return std::make_unique<lent_graph>(std::move(arguments), std::move(self_->lease));
}

void graph_sender::wait_until_taken() {
  // The gate ends a wait that begins after the receiver was lost and this task was notified of it.
  if (taken_flag* const flag = self_->flag.get(); flag != nullptr) {
    change_gate gate{*current->job, current->place, flag};
    current->scheduler->wait_until(
        [&] { return gate.is_open() && flag->look() != need::wanted; },
        {.place = self_->flag.reader(), .note = {.kind = wait_kind::graph, .peer = self_->flag.reader()}});
  } else if (self_->how == transfer::offload) {
    const offload_lease& lease = self_->lease;
    const std::uint32_t reader = lease.entry()->asked.reader;
    current->scheduler->wait_until([&] { return lease.is_over(); },
                                   {.place = reader, .note = {.kind = wait_kind::graph, .peer = reader}});
  }
}

// --- what the receiver asks for ---

std::vector<std::byte> flatten(std::uint32_t epoch, const std::vector<std::uint64_t>& words) {
  // If a place was lost, the task that offered the graph may have freed it.
  if (epoch != current->job->failure_epoch.load()) throw_place_lost(*current->job, current->place);
  std::vector<graph_root> roots;
  for (const std::uint64_t word : words) {
    const type_descriptor* const type = type_table[word >> type_shift];
    if (type == nullptr)
      throw_error(errc::bad_message,
                  fmt::format("a place asks for a graph of type {}, which there is not", word >> type_shift));
    roots.push_back({reinterpret_cast<const void*>(word & address_mask), type});
  }
  const borrowed_plan plan;
  plan->discover(roots.data(), roots.size(), graph_state_here().map, source_check::none);
  std::vector<std::byte> bytes(message_bytes(*plan, roots.size()));
  write_message(*plan, roots, bytes.data());
  return bytes;
}

std::string failure_of_walk(std::uint32_t epoch, std::uint64_t address) {
  if (epoch != current->job->failure_epoch.load()) throw_place_lost(*current->job, current->place);
  const auto& walk = *reinterpret_cast<const walk_under_way*>(address);
  return std::string{static_cast<char>(walk.error_code)} + walk.error_text;
}

}  // namespace situ::detail
