// The receiving end of graphs in calls and results.
#include <situ/fabric/detail/observed.h>
#include <situ/graph/transfer.h>

#include <situ/graph/detail/graph_call.h>

#include <situ/base/detail/coherence.h>
#include <situ/base/detail/test_points.h>
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/runtime/detail/scheduler.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/agent.h"
#include "graph/graph_state.h"
#include "graph/message.h"
#include "graph/plan.h"
#include "graph/store.h"
#include "graph/taken_flag.h"
#include "graph/transfer_protocol.h"
#include "os/host.h"

namespace situ::detail {
namespace {

[[nodiscard]] event_kind kind_of(transfer how) noexcept {
  switch (how) {
    case transfer::message: return event_kind::graph_message;
    case transfer::pull: return event_kind::graph_pull;
    case transfer::offload: return event_kind::graph_offload;
    case transfer::automatic: break;
  }
  return event_kind::graph_here;
}

// Records and logs a copy that has arrived from place `from` and began at `begin_ns`.
void report_copy(const arena& copy, transfer how, std::uint32_t from, std::uint64_t begin_ns) noexcept {
  if (current->observed)
    record_event(*current, {.begin_ns = begin_ns, .bytes = copy.bytes, .peer = from, .kind = kind_of(how)});
  graph_state& state = graph_state_here();
  if (state.log) state.log({{copy.objects, copy.bytes - sizeof(arena)}, how, place{from}});
}

}  // namespace

graph_receiver::graph_receiver(graph_receiver&& other) noexcept
    : memory_{std::move(other.memory_)},
      how_{other.how_},
      source_{other.source_},
      is_complete_{std::exchange(other.is_complete_, true)} {
  std::copy(std::begin(other.words_), std::end(other.words_), std::begin(words_));
}

graph_receiver::~graph_receiver() {
  if (is_complete_) return;
  try {
    if (how_ == transfer::pull || graph_units_in_use().dispatching != nullptr) {
      const flag_to_set tell_sender{words_[0], source_};
    } else {
      const offload_claim release{words_[0], words_[1], source_};
    }
  } catch (const error& e) {
    log(log_level::error, fmt::format("place {}: a graph from place {} that nobody takes cannot be given up: {}",
                                      current->place, source_, e.message()));
  }
}

bool graph_receiver::read(wire_reader& reader, std::uint32_t source, std::span<graph_root> roots) {
  const auto take_word = [&] {
    std::uint64_t word = 0;
    reader.read(&word, sizeof word);
    return word;
  };
  const std::uint64_t how = take_word();
  source_ = source;
  if (how == static_cast<std::uint64_t>(transfer::message)) {
    const std::uint64_t begin_ns = current->observed ? observed_span::begin(*current) : 0;
    const std::size_t bytes = reader.read_count(1);
    memory_ = read_message({reader.take(bytes), bytes}, roots);
    SITU_POINT(graph_read);
    report_copy(*memory_.get(), transfer::message, source, begin_ns);
    return true;
  }
  is_complete_ = false;
  if (how == static_cast<std::uint64_t>(transfer::pull)) {
    how_ = transfer::pull;
    words_[0] = take_word();
    for (std::size_t i = 0; i < roots.size() + 1; ++i) words_[i + 1] = take_word();
  } else if (how == static_cast<std::uint64_t>(transfer::offload)) {
    how_ = transfer::offload;
    words_[0] = take_word();
    words_[1] = take_word();
  } else if ((how & 0xff) == sent_by_unit || (how & 0xff) == result_sent_by_unit) {
    how_ = transfer::offload;
    words_[1] = how;
    for (std::size_t i = 0; i < roots.size() + 1; ++i) words_[i + 2] = take_word();
    words_[0] = (how & 0xff) == result_sent_by_unit ? take_word() : 0;
  } else {
    throw_error(errc::bad_message,
                fmt::format("a call from place {} brings a graph by transfer {}, which there is not", source, how));
  }
  return false;
}

void graph_receiver::complete(std::span<graph_root> roots) {
  if (std::exchange(is_complete_, true)) return;
  const std::uint64_t begin_ns = current->observed ? observed_span::begin(*current) : 0;
  if (how_ == transfer::pull) {
    pull(roots);
  } else if (graph_units_in_use().dispatching != nullptr) {
    have_copied(roots);
  } else {
    fetch_from_agent(roots);
  }
  report_copy(*memory_.get(), how_, source_, begin_ns);
}

void graph_receiver::pull(std::span<graph_root> roots) {
  SITU_POINT(pull_begins);
  const flag_to_set tell_sender{words_[0], source_};
  const auto epoch = static_cast<std::uint32_t>(words_[1]);
  try {
    const reading_guard guard{*current->job, current->place, &place_slot::read_by_place, source_, epoch};
    for (std::size_t i = 0; i < roots.size(); ++i)
      roots[i].object = reinterpret_cast<const void*>(words_[i + 2] & address_mask);
    memory_ = copy_graph(roots, graph_state_here().map, source_check::segments);
    return;
  } catch (const error& e) {
    if (e.code() != errc::bad_address || (words_[1] & may_fetch_bit) == 0) throw;
  } catch (const values_met&) {  // the sender did not know of these: they are in objects of a derived class
  }
  how_ = transfer::message;
  const std::vector<std::byte> bytes =
      situ::at(place{source_}, &flatten, epoch, std::vector<std::uint64_t>(words_ + 2, words_ + 2 + roots.size()));
  memory_ = read_message(bytes, roots);
}

// Has a unit copy the graph, whose sizes came with the call.
void graph_receiver::have_copied(std::span<graph_root> roots) {
  const flag_to_set tell_sender{words_[0], source_};
  const std::uint64_t word = words_[1];
  const auto epoch = static_cast<std::uint32_t>(word >> 16 & 0xffff);
  if ((words_[2] & walk_has_failed) != 0) {
    const std::string failure = situ::at(place{source_}, &failure_of_walk, epoch, words_[2] & ~walk_has_failed);
    throw_error(static_cast<errc>(failure.at(0)), failure.substr(1));
  }
  measured_graph graph{.copy_bytes = (words_[2] & 0xffff'ffff) * 8,
                       .objects = words_[2] >> 32,
                       .finalizer_words = word >> 32,
                       .alignment = std::uint32_t{1} << (word >> 8 & 0xff)};
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i].object = reinterpret_cast<const void*>(words_[i + 3]);
  arena_reference made = make_arena(graph.copy_bytes, graph.alignment, graph.objects, graph.finalizer_words);
  front_of(reinterpret_cast<std::byte*>(made.get()), graph.copy_bytes).prepare(graph.copy_bytes);
  struct copy_under_way : unit_copy {
    place_slot* reader_slot;
    place_slot* source_slot;
    std::atomic<bool> is_over{false};
    std::uint32_t error_code = 0;
    char error_text[256];
    copy_under_way() noexcept {}  // NOLINT(modernize-use-equals-default): `error_text` is not cleared
  } copy;
  copy.place = source_;
  copy.reader = current->place;
  copy.roots = roots;
  copy.measured = &graph;
  copy.to = {.bytes = reinterpret_cast<std::byte*>(made.get()), .finalizers = made.get()->finalizers};
  copy.reader_slot = &current->job->slot(current->place);
  copy.source_slot = &current->job->slot(source_);
  copy.over = [](unit_copy& over, const std::exception* failure) {
    auto& self = static_cast<copy_under_way&>(over);
    if (failure != nullptr) {
      const auto* const known = dynamic_cast<const error*>(failure);
      self.error_code = static_cast<std::uint32_t>(known != nullptr ? known->code() : errc::out_of_memory);
      const std::string_view text =
          known != nullptr ? std::string_view{known->message()} : std::string_view{failure->what()};
      self.error_text[text.copy(self.error_text, sizeof self.error_text - 1)] = '\0';
    } else {
      self.error_text[0] = '\0';
    }
    self.source_slot->read_by_agent.fetch_sub(1);
    place_slot& reader = *self.reader_slot;
    self.is_over.store(true, std::memory_order_release);
    wake_after_change(reader);
  };
  const graph_units_of_machine& units = graph_units_in_use();
  {
    const reading_guard guard{*current->job, current->place, &place_slot::read_by_place, source_, epoch};
    copy.source_slot->read_by_agent.fetch_add(1);
    units.dispatching->copy(copy);
  }
  const auto is_over = [&copy] { return copy.is_over.load(std::memory_order_acquire); };
  try {
    // A unit completes what it has begun even if a place is lost.
    current->scheduler->wait_until(is_over,
                                   {.outlives_losses = true, .note = {.kind = wait_kind::graph, .peer = source_}});
  } catch (...) {
    while (!is_over()) give_way();
    throw;
  }
  if (copy.error_text[0] != '\0') throw_error(static_cast<errc>(copy.error_code), copy.error_text);
  if (units.after_copy != nullptr) units.after_copy(graph.objects, graph.copy_bytes);
  invalidate(made.get(), sizeof(arena));  // it was read during the copy, and its line also holds the first object
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i].object = object_at(*made.get(), graph.roots[i]);
  memory_ = std::move(made);
}

void graph_receiver::fetch_from_agent(std::span<graph_root> roots) {
  offload_claim claim{words_[0], words_[1], source_};
  const offload_entry& entry = claim.entry();
  if (entry.asked.root_count != roots.size())
    throw_error(errc::bad_message, fmt::format("a call from place {} brings {} graphs, where {} are expected", source_,
                                               entry.asked.root_count, roots.size()));
  const measured_graph& graph = entry.found.graph;
  arena_reference made = make_arena(graph.copy_bytes, graph.alignment, graph.objects, graph.finalizer_words);
  front_of(reinterpret_cast<std::byte*>(made.get()), graph.copy_bytes).prepare(graph.copy_bytes);
  const graph_units_of_machine& units = graph_units_in_use();
  // The agent writes this memory; its lines may be dirty here, from the head and from earlier uses.
  if (!units.drop_destination) flush(made.get(), graph.copy_bytes);
  if (graph.finalizer_words != 0 && !units.drop_destination)
    flush(made.get()->finalizers, (graph.finalizer_words + 1) * sizeof(std::uint64_t));
  try {
    claim.copy_to(*made.get());
  } catch (const place_lost_error&) {
    ++made.get()->references;  // the agent may still write there: the memory is freed with the job
    throw;
  }
  if (units.after_copy != nullptr) units.after_copy(graph.objects, graph.copy_bytes);
  invalidate(made.get(), sizeof(arena));  // it was read during the copy, and its line also holds the first object
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i].object = object_at(*made.get(), graph.roots[i]);
  memory_ = std::move(made);
}

arena_reference copy_roots(std::span<graph_root> roots) {
  const std::uint64_t begin_ns = current->observed ? observed_span::begin(*current) : 0;
  arena_reference made = copy_graph(roots, graph_state_here().map, source_check::none);
  report_copy(*made.get(), transfer::automatic, current->place, begin_ns);
  return made;
}

}  // namespace situ::detail
