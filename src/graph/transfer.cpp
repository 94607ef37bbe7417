#include <situ/graph/transfer.h>

#include <situ/graph/detail/graph_call.h>

#include <situ/base/detail/coherence.h>
#include <situ/base/detail/signal_word.h>
#include <situ/base/detail/test_points.h>
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/fabric/detail/far.h>
#include <situ/fabric/rma.h>
#include <situ/runtime/detail/scheduler.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/observe.h"
#include "graph/agent.h"
#include "graph/graph_state.h"
#include "graph/message.h"
#include "graph/plan.h"
#include "graph/store.h"
#include "memory/liveness.h"
#include "os/host.h"

namespace situ {
namespace detail {
namespace {

transfer transfer_of_environment() {
  const char* const given = std::getenv("SITU_TRANSFER");
  if (given == nullptr || *given == '\0') return transfer::automatic;
  const std::string_view name{given};
  if (name == "auto") return transfer::automatic;
  if (name == "message") return transfer::message;
  if (name == "pull") return transfer::pull;
  if (name == "offload") return transfer::offload;
  throw_error(errc::bad_argument, fmt::format("SITU_TRANSFER is \"{}\": it is auto, message, pull or offload", name));
}

copy_map map_of_environment() {
  const char* const given = std::getenv("SITU_COPY_MAP");
  if (given == nullptr || *given == '\0') return copy_map::automatic;
  const std::string_view name{given};
  if (name == "auto") return copy_map::automatic;
  if (name == "linear") return copy_map::linear;
  if (name == "hash") return copy_map::hash;
  if (name == "side_table") return copy_map::side_table;
  throw_error(errc::bad_argument, fmt::format("SITU_COPY_MAP is \"{}\": it is auto, linear, hash or side_table", name));
}

[[nodiscard]] event_kind kind_of(transfer how) noexcept {
  switch (how) {
    case transfer::message: return event_kind::graph_message;
    case transfer::pull: return event_kind::graph_pull;
    case transfer::offload: return event_kind::graph_offload;
    case transfer::automatic: break;
  }
  return event_kind::graph_here;
}

}  // namespace

// A flag in the sender's segment: whether the receiver of a pull still needs the originals. The end that changes it
// second frees it.
enum class need : std::uint32_t { wanted, taken, given_up };
using taken_flag = signal_word<need>;
static_assert(sizeof(taken_flag) == signal_line_bytes);

static void give_back(taken_flag* flag) noexcept {
  try {
    deallocate(ptr<taken_flag>{flag});
  } catch (const error& e) {  // thrown only if the heap is damaged
    log(log_level::error, e.message());
  }
}

// The sender's end of a flag.
class flag_lease {
 public:
  flag_lease() noexcept = default;
  flag_lease(const flag_lease&) = delete;
  flag_lease& operator=(const flag_lease&) = delete;
  void make(std::uint32_t reader) {
    flag_ = new (allocate<taken_flag>().local()) taken_flag{need::wanted};
    reader_ = reader;
  }
  ~flag_lease() {
    if (flag_ == nullptr) return;
    const bool is_second = flag_->exchange(need::given_up) == need::taken;
    if (is_second || has_ended(current->job->slot(reader_).state.load(std::memory_order_acquire))) give_back(flag_);
  }
  [[nodiscard]] taken_flag* get() const noexcept { return flag_; }
  [[nodiscard]] std::uint32_t reader() const noexcept { return reader_; }

 private:
  taken_flag* flag_ = nullptr;
  std::uint32_t reader_ = 0;
};

namespace {

// The receiver's end of a flag: its destructor tells the sender that the originals are not needed any more, after a
// success or a failure.
struct flag_to_set {
  taken_flag* flag;
  std::uint32_t sender;
  flag_to_set(std::uint64_t address, std::uint32_t source)
      : flag{reinterpret_cast<taken_flag*>(address)}, sender{source} {
    if (address != 0) check_access(access::atomic, address, sizeof(taken_flag));
  }
  flag_to_set(const flag_to_set&) = delete;
  flag_to_set& operator=(const flag_to_set&) = delete;
  ~flag_to_set() {
    if (flag == nullptr) return;
    const need before = flag->exchange(need::taken);
    SITU_POINT(flag_set);
    if (before == need::given_up) {
      give_back(flag);
    } else {
      wake_after_change(current->job->slot(sender), flag);
    }
  }
};

// Keeps an offloaded graph for a call: the entry, which ends before the arguments that the agent reads.
struct lent_graph final : held_by_call {
  std::unique_ptr<held_by_call> arguments;
  offload_lease entry;
  lent_graph(std::unique_ptr<held_by_call> held, offload_lease&& lease) noexcept
      : arguments{std::move(held)}, entry{std::move(lease)} {}
};

// The words of a call that a unit sends (units_that_dispatch): how | two words by the unit | roots | taken_flag, if
// there is one.
//   first word:   | finalizers:32 | failure epoch:16 | log2 of the alignment:8 | how:8 |
//   second word:  | 0:1 | objects:31 | units of the copy:32 |, or if the walk failed, | 1:1 | walk_under_way at the
//   sender:63 |
static_assert(job::max_places < 1 << 16);  // at most one failure epoch for each place
constexpr std::uint64_t sent_by_unit = 16, result_sent_by_unit = 17;
constexpr std::uint64_t walk_has_failed = std::uint64_t{1} << 63;

}  // namespace

// A graph of a call by units, from the call's message to its end. A unit reads it until the walk is over.
struct walk_under_way final : unit_walk {
  std::array<graph_root, most_roots> store;
  std::uint32_t failure_epoch = 0;
  bool is_result = false;
  std::atomic<bool> is_over{true};  // or has not begun
  std::uint32_t error_code = 0;
  char error_text[256];

  walk_under_way() noexcept {}  // NOLINT(modernize-use-equals-default): `store` is not cleared
  walk_under_way(const walk_under_way&) = delete;
  walk_under_way& operator=(const walk_under_way&) = delete;
  ~walk_under_way() {
    if (is_over.load(std::memory_order_acquire)) return;
    if (graph_units_in_use().dispatching->recall(*this)) end();
    while (!is_over.load(std::memory_order_acquire)) give_way();  // a unit does the walk, so this ends soon
  }

  // Begins the walk, for a message that is sent next; room null: the walk begins at once.
  void begin(std::span<const graph_root> graphs, std::byte* in_message) {
    std::copy(graphs.begin(), graphs.end(), store.begin());
    place = current->place;
    roots = {store.data(), graphs.size()};
    room = in_message;
    failure_epoch = current->told_of;
    over = [](unit_walk& walk, const measured_graph& found, const std::exception* failure, std::uint64_t(&words)[2]) {
      auto& self = static_cast<walk_under_way&>(walk);
      self.find_words(found, failure, words);
      self.end();
    };
    is_over.store(false, std::memory_order_relaxed);
    // A place that is notified of a loss, and may free the graph, first waits for this count to fall (liveness.cpp).
    control_ = current->job;
    control_->slot(place).read_by_agent.fetch_add(1);
    graph_units_in_use().dispatching->dispatch(*this);
  }
  // Returns the result of a walk without a message. pre: the walk is over.
  [[nodiscard]] const std::uint64_t* words() const noexcept { return words_; }

 private:
  void find_words(const measured_graph& found, const std::exception* failure, std::uint64_t (&words)[2]) noexcept {
    words[0] = found.finalizer_words << 32 | std::uint64_t{failure_epoch} << 16 |
               static_cast<std::uint64_t>(std::countr_zero(std::max(found.alignment, 1U))) << 8 |
               (is_result ? result_sent_by_unit : sent_by_unit);
    words[1] = found.objects << 32 | found.copy_bytes / 8;
    if (failure == nullptr && found.copy_bytes / 8 >> 32 == 0 && found.objects >> 31 == 0) {
      std::copy(std::begin(words), std::end(words), words_);
      return;
    }
    const auto* const known = dynamic_cast<const error*>(failure);
    error_code = static_cast<std::uint32_t>(known != nullptr ? known->code() : errc::out_of_memory);
    const std::string_view text = known != nullptr     ? std::string_view{known->message()}
                                  : failure != nullptr ? std::string_view{failure->what()}
                                                       : "a graph of 32 GiB or more is offloaded";
    const std::size_t length = std::min(text.size(), sizeof error_text - 1);
    std::memcpy(error_text, text.data(), length);
    error_text[length] = '\0';
    words[1] = walk_has_failed | reinterpret_cast<std::uintptr_t>(this);
    std::copy(std::begin(words), std::end(words), words_);
  }
  void end() noexcept {
    control_->slot(place).read_by_agent.fetch_sub(1);
    is_over.store(true, std::memory_order_release);
  }
  job_control* control_ = nullptr;  // units have no `current`
  std::uint64_t words_[2];
};

namespace {

// Keeps a graph that a unit walks for a call.
struct walked_graph final : held_by_call {
  std::unique_ptr<held_by_call> arguments;
  walk_under_way walk;  // ends before the arguments that it reads
  explicit walked_graph(std::unique_ptr<held_by_call> held) noexcept : arguments{std::move(held)} {}
};

// Runs at the sender of a graph whose walk has failed: returns the error, its code first.
std::string failure_of_walk(std::uint32_t epoch, std::uint64_t address) {
  if (epoch != current->job->failure_epoch.load()) throw_place_lost(*current->job, current->place);
  const auto& walk = *reinterpret_cast<const walk_under_way*>(address);
  return std::string{static_cast<char>(walk.error_code)} + walk.error_text;
}

// A graph of up to this size is sent with its call: a pull would take longer than sending it twice.
constexpr std::uint64_t most_sent_unasked = 512;
// if one graph is larger than that, the next from such a root mostly is, too
constexpr std::uint32_t pulls_per_look = 15;
constexpr std::uint64_t may_fetch_bit = std::uint64_t{1} << 32;  // next to the failure epoch of a pull

// Runs at the sender of a graph that the receiver could not read, since part of it lies in no segment, or is a value. A
// root is an address and the sender's number of its type.
std::vector<std::byte> flatten(std::uint32_t epoch, const std::vector<std::uint64_t>& words) {
  // the task that offered the graph may have freed it
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

[[nodiscard]] bool is_in_own_segment(const void* object) noexcept {
  return object == nullptr || ptr<const void>{object}.is_here();
}

}  // namespace

graph_state::graph_state() : default_transfer{transfer_of_environment()}, map{map_of_environment()} {}

graph_state& graph_state_here() {
  if (current->runtime == nullptr) throw_no_runtime("a graph is sent");
  std::unique_ptr<place_extension>& slot = current->runtime->graph;
  if (!slot) slot = std::make_unique<graph_state>();
  return static_cast<graph_state&>(*slot);
}

offload_agent& agent_here() {
  graph_state& state = graph_state_here();
  if (!state.agent) state.agent = std::make_unique<offload_agent>(*current);
  return *state.agent;
}

bool offload_begins_at_once() { return graph_units_in_use().dispatching != nullptr; }

void report_copy(const arena& copy, transfer how, std::uint32_t from, std::uint64_t begin_ns) noexcept {
  if (current->observed)
    record_event(*current, {.begin_ns = begin_ns, .bytes = copy.bytes, .peer = from, .kind = kind_of(how)});
  graph_state& state = graph_state_here();
  if (state.log) state.log({{copy.objects, copy.bytes - sizeof(arena)}, how, place{from}});
}

// --- the sending end ---

struct graph_sender::implementation {
  transfer how = transfer::message;
  // mostly one root, so it is not cleared
  alignas(graph_root) std::array<std::byte, most_roots * sizeof(graph_root)> root_store;
  std::span<const graph_root> roots;
  // message, until it is written; other transfers may not hold one: they wait, and plans are large
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
  // a large call: it is sent when its buffer is full, so the unit's result must be there before
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

// --- the receiving end ---

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
  } catch (const values_met&) {  // in objects of a derived class, of which the sender did not know
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
  invalidate(made.get(), sizeof(arena));  // was read during the copy, and its line also holds the first object
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
  invalidate(made.get(), sizeof(arena));  // was read during the copy, and its line also holds the first object
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i].object = object_at(*made.get(), graph.roots[i]);
  memory_ = std::move(made);
}

arena_reference copy_roots(std::span<graph_root> roots) {
  const std::uint64_t begin_ns = current->observed ? observed_span::begin(*current) : 0;
  arena_reference made = copy_graph(roots, graph_state_here().map, source_check::none);
  report_copy(*made.get(), transfer::automatic, current->place, begin_ns);
  return made;
}

}  // namespace detail

void set_default_transfer(transfer how) { detail::graph_state_here().default_transfer = how; }
transfer default_transfer() { return detail::graph_state_here().default_transfer; }
void on_graph_copy(std::function<void(const graph_copy_event&)> log) {
  detail::graph_state_here().log = std::move(log);
}

}  // namespace situ
