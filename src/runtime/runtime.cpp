#include <situ/runtime/runtime.h>

#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/fabric/detail/awaited.h>
#include <situ/fabric/detail/endpoint.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/task.h>
#include <situ/runtime/team.h>

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "fabric/modules.h"
#include "launch/join.h"
#include "launch/own_report.h"
#include "memory/segment.h"
#include "os/host.h"
#include "runtime/place_network.h"
#include "runtime/process.h"
#include "runtime/runtime_state.h"
#include "runtime/stack.h"
#include "runtime/status_writer.h"
#include "runtime/team_state.h"
#include "runtime/terminate.h"

// The mark by which `situ run` recognizes a program of Situ (tools/command/program_file.h): a note, which survives
// strip, in the one object that every such program links.
asm(".pushsection .note.situ, \"a\", @note\n"
    ".balign 4\n"
    ".long 5\n"  // bytes of the name
    ".long 4\n"  // bytes of the value
    ".long 1\n"  // the kind of note
    ".asciz \"Situ\"\n"
    ".balign 4\n"
    ".long 1\n"
    ".popsection");

namespace situ {
namespace detail {
namespace {

void wait_for_room_on_fiber(endpoint& self, outgoing& out, std::uint32_t record_bytes) {
  const auto done = [&] {
    if (out.closed || self.has_room(out, record_bytes)) return true;
    self.ask_for_wake(out);
    return false;
  };
  // Room for a reply comes as soon as its receiver looks at its channels, or is lost itself. The loss of a third place
  // must not drop an answer. Of another host its server tells of room.
  const bool is_far = !current->job->is_here(out.target);
  current->scheduler->wait_until(done, {.outlives_losses = out.is_reply,
                                        .deadline_ns = is_far ? waits_for::ended_by_server : waits_for::no_deadline,
                                        .note = {.kind = wait_kind::room, .peer = out.target}});
}

}  // namespace
}  // namespace detail

using namespace detail;

namespace {

std::uint64_t bytes_of_channels(const job_control& control) noexcept {
  return endpoint::channel_bytes(control.place_count, control.host_count > 1);
}
std::uint64_t private_bytes(const job_control& control) noexcept {
  return bytes_of_channels(control) + 2 * barrier_block::bytes(control.place_count);
}

}  // namespace

struct runtime::implementation {
  std::optional<found_job> found;
  std::optional<place_in_process> in_process;
  place_context context;
  place_context* const before = current;
  std::vector<std::uint64_t> limits;
  std::unique_ptr<detail::segment> segment;
  std::unique_ptr<status_writer> status;
  std::unique_ptr<detail::endpoint> endpoint;
  std::unique_ptr<detail::scheduler> scheduler;
  std::optional<place_network> network;  // in a job over several hosts
  std::optional<own_report> report;      // of place 0, if the job reports its own counts
  std::unique_ptr<runtime_state> state;
  const runtime_options options;
  int exceptions_before = std::uncaught_exceptions();

  implementation(int argc, char** argv, const runtime_options& given) : options{given} {
    if (current->job != nullptr)
      throw_error(errc::bad_launch, "this place already has a situ::runtime; a place has one at a time");
    found.emplace(std::vector<std::string>(argv, argv + argc));
    join(found->control(), found->place());
  }

  ~implementation() { found->await_other_mains(); }

  void join(job_control& control, std::uint32_t place) {
    settle_as_place(place);
    const std::uint32_t places = control.place_count;
    control.heap_offset.store(segment::heap_offset(control, private_bytes(control)));
    const address_space& space = found->map();
    limits.assign(places, 0);
    context.base = space.base();
    context.slice_shift = control.slice_shift;
    context.slice_mask = (std::uintptr_t{1} << control.slice_shift) - 1;
    context.heap_offset = control.heap_offset.load();
    context.limit = limits.data();
    context.place_count = places;
    context.callable_places = places;
    context.place = place;
    context.observed = control.stats || control.trace;
    context.sender_fences = control.sender_fences;
    context.awaited_words = detail::awaited_words_of(control);
    context.job = &control;
    const auto* const slice = reinterpret_cast<const std::byte*>(context.base + place * (context.slice_mask + 1));
    describe_slice(place, slice, slice + context.heap_offset, slice + context.slice_mask + 1);
    announce_modules(control);
    current = &context;
    in_process.emplace(context, space.bytes(), found->shared().control_bytes());
    try {
      build(control, place);
    } catch (...) {
      dismantle();
      throw;
    }
  }

  void build(job_control& control, std::uint32_t place) {
    const std::uintptr_t slice = context.base + (std::uintptr_t{place} << context.slice_shift);
    segment = std::make_unique<detail::segment>(control, slice, place, private_bytes(control));
    if (control.memory_intent) segment->use_for_all(*control.memory_intent);
    if (!context.observed && !control.checked) segment->mirror_extent(&limits[place]);
    context.segment = segment.get();
    status = std::make_unique<status_writer>(control.status(place));
    context.status = status.get();
    endpoint = std::make_unique<detail::endpoint>(context, 0);
    endpoint->set_room_waiter(&wait_for_room_on_fiber);
    endpoint->set_missing_code_handler(&refuse_call_to_missing_code);
    context.endpoint = endpoint.get();
    state = std::make_unique<runtime_state>();
    state->has_second_thread = choose_progress(control.progress, options.progress);
    context.runtime = state.get();
    scheduler = std::make_unique<detail::scheduler>(choose_stack_bytes(control.stack_bytes, options.stack_bytes));
    context.scheduler = scheduler.get();
    open_main_scope(*state);
    scheduler->set_task(&state->main_task);
    if (control.host_count > 1) network.emplace(context);
    make_world(control.place_count, place);
    install_terminate_reason(context);
    place_slot& slot = control.slot(place);
    slot.pid.store(::getpid());
    slot.state.store(place_state::joined, std::memory_order_release);
    SITU_POINT(joined);
    barrier(std::source_location{});  // so that every place is there when the constructor returns
    if (control.tells_itself() && place == 0) report.emplace(control, network ? &network->far() : nullptr);
  }

  // Makes the teams of all places. The world's barrier is stored behind the channels of this host's first slice, where
  // every place finds it without a message, and so is the barrier at the end. If the end used the world's barrier, a
  // barrier that other members left out would meet their end, and seem complete.
  void make_world(std::uint32_t places, std::uint32_t place) {
    std::vector<std::uint32_t> members(places);
    for (std::uint32_t i = 0; i < places; ++i) members[i] = i;
    const std::uintptr_t slice = std::uintptr_t{context.job->first_place_of(context.job->host)} << context.slice_shift;
    std::byte* const first = reinterpret_cast<std::byte*>(context.base + slice + bytes_of_channels(*context.job));
    const auto team_of = [&](std::uint64_t id, std::byte* block) {
      return std::make_unique<team>(
          std::make_shared<team_state>(id, members, place, *reinterpret_cast<barrier_block*>(block), false));
    };
    state->world = team_of(world_team_id, first);
    state->leaving = team_of(leaving_team_id, first + barrier_block::bytes(places));
  }

  // Waits until all places have come to the end of the job, or all members of the last team of survivors(). Over hosts
  // these wait by messages, which must not be on their way when their targets are gone.
  void await_all_at_end() {
    cross_barrier(*state->leaving, wait_kind::leave, {});
    if (!network || !state->rest) return;
    network->deliver_all();
    network->note_all_leave();
  }

  // Writes the report of all places, once.
  void tell() noexcept {
    if (report) report->tell();
    report.reset();
  }

  // Writes the report after all places have come. Until then other places may call this one, and the messages of those
  // calls count as well; afterwards the counts are complete.
  void tell_when_all_have_come() {
    const auto all_come = [this] {
      cross_barrier(*state->leaving, wait_kind::leave, {});
      while (endpoint->poll(true)) {}
    };
    all_come();
    scheduler->wait_until([this] { return state->trailing_waits == 0; }, {.note = {.kind = wait_kind::leave}});
    if (network) network->deliver_all();
    all_come();
    tell();
  }

  // Waits for the tasks that this place has started, then for the other places.
  void leave() noexcept {
    job_control& control = *context.job;
    if (std::uncaught_exceptions() > exceptions_before) {
      tell();
      leave_by_exception(context);
    }
    if (control.slot(context.place).state.load() == place_state::lost) return tell();
    const bool is_known_broken = control.failure_epoch.load() != 0;  // the program or the launcher has heard of it
    try {
      try {
        SITU_POINT(leaving);
        wait_for_scope(*state->root, {.kind = wait_kind::finish, .subject = state->root->key});
        SITU_POINT(scope_of_main_done);
      } catch (const place_lost_error& loss) {
        if (!state->rest) throw;  // else: survivors wait for each other all the same
        log(log_level::info, fmt::format("place {}: what it has started did not end: {}", context.place, loss.what()));
      } catch (...) {
        mark_lost(control, context.place, "a task that nobody waited for threw " + describe(std::current_exception()));
        throw;
      }
      if (network) network->deliver_all();  // else they would come to places that have left
      if (control.tells_itself()) tell_when_all_have_come();
      await_all_at_end();
      SITU_POINT(all_have_come);
      // If this place only sent in a collective, the collective ends here before the others' calls have shown whether
      // they differ.
      while (endpoint->poll(true)) {}
      throw_if_any_mismatched();
      // Only now: until all places have come so far, others may call. They fetched the results of their own calls
      // before they came, so this wait is short.
      scheduler->wait_until([this] { return state->trailing_waits == 0; }, {.note = {.kind = wait_kind::leave}});
      control.slot(context.place).state.store(place_state::left, std::memory_order_release);
      SITU_POINT(left);
    } catch (const place_lost_error& loss) {
      tell();
      log(is_known_broken ? log_level::info : log_level::error,
          fmt::format("place {} leaves its job: {}", context.place, loss.what()));
      leave_broken_job(control, context.place);
    } catch (const std::exception& failure) {  // its own: a message that it cannot handle, or a mismatched collective
      tell();
      log(log_level::error, fmt::format("place {} leaves its job: {}", context.place, failure.what()));
      mark_lost(control, context.place, failure.what());
    }
  }

  void dismantle() noexcept {
    found->end_watch();
    remove_terminate_reason(context);
    forget_job(*context.job);
    if (scheduler) scheduler->set_task(nullptr);
    scheduler.reset();  // first: ends tasks that still wait, which use all the rest
    context.scheduler = nullptr;
    if (state) {
      release_calls(*state);  // before the objects that the calls refer to
      state->graph.reset();
      state->spread.reset();
      state->leaving.reset();
      state->rest.reset();
      state->world.reset();
    }
    state.reset();
    network.reset();
    endpoint.reset();
    segment.reset();
    in_process.reset();
    current = before;
  }
};

runtime::runtime(const runtime_options& options) : self_{std::make_unique<implementation>(0, nullptr, options)} {}
runtime::runtime(int argc, char** argv, const runtime_options& options)
    : self_{std::make_unique<implementation>(argc, argv, options)} {}

runtime::~runtime() {
  if (self_->in_process->is_in_forked_child()) {
    // All state is the parent's. Keep it reachable for a leak checker.
    [[maybe_unused]] static implementation* parents = nullptr;
    parents = self_.release();
    return;
  }
  self_->leave();
  self_->dismantle();
}

place here() {
  if (current->place_count == 0) throw_no_runtime("here()");
  return place{current->place};
}

std::uint32_t place_count() {
  if (current->place_count == 0) throw_no_runtime("place_count()");
  return current->place_count;
}

void progress() {
  if (current->scheduler == nullptr) throw_no_runtime("progress()");
  current->scheduler->progress();
}

}  // namespace situ
