#include "runtime/finish.h"

#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/at.h>
#include <situ/runtime/task.h>

#include <fmt/format.h>

#include "runtime/failure.h"
#include "runtime/runtime_state.h"

namespace situ {
namespace detail {
namespace {

// Handles the message by which a node at another place reports that all its work is done, together with the failures
// that no future there has taken.
void run_acknowledgement(message& m) {
  runtime_state& state = *current->runtime;
  const endpoint::handler_scope scope{m.self};
  const auto found = state.nodes.find(m.argument(0));
  const std::uint64_t failures = m.argument(1);
  const parcel received{m, 2};
  // else its finish() has given up: a place was lost
  if (found != state.nodes.end() && found->second->outstanding != 0) {
    finish_node& node = *found->second;
    if (failures != 0) {
      wire_reader reader = received.reader();
      record_failure(node, read_failure(reader, m.source));
      node.failures += failures - 1;
    }
    --node.outstanding;
    note_done(node);
  }
}
const function_id acknowledgement_id = name_function(reinterpret_cast<const void*>(&run_acknowledgement));

// A task of its own, since often a message handler ends a node, and a handler must not send.
struct acknowledgement final : ready_task {
  std::uint64_t key;

  static void send(ready_task* task) {
    const std::unique_ptr<acknowledgement> self{static_cast<acknowledgement*>(task)};
    runtime_state& state = *current->runtime;
    const auto found = state.nodes.find(self->key);
    if (found == state.nodes.end()) return;
    finish_node& node = *found->second;
    node.acknowledging = false;
    if (!node.is_done()) return;  // engaged again in between
    const std::unique_ptr<finish_node> done{&node};
    SITU_POINT(scope_acknowledged);
    state.nodes.erase(found);  // before the send, which may wait: a message may engage a new node
    const std::optional<failure_record> failure =
        done->failures != 0 ? std::optional{record_of(done->first_failure)} : std::nullopt;
    try {
      send_parcel(current->endpoint->replies_to(done->parent), message_kind::medium_message, acknowledgement_id,
                  std::array{done->key, done->failures}, failure ? size_of(*failure) : 0, [&](wire_writer& writer) {
                    if (failure) write_failure(writer, *failure);
                  });
    } catch (const place_lost_error&) {  // this place leaves a broken job, and waits for no acknowledgement any more
    }
  }
};

}  // namespace

finish_node* find_or_make_node(task_context& task) {
  runtime_state& state = *current->runtime;
  const auto found = state.nodes.find(task.finish_key);
  if (found != state.nodes.end()) {
    task.node = found->second;
  } else {
    auto made = std::make_unique<finish_node>(finish_node{
        .key = task.finish_key, .parent = task.source, .failure_epoch = current->endpoint->failure_epoch()});
    state.nodes.emplace(task.finish_key, made.get());
    task.node = made.release();
    task.engaging = true;
  }
  ++task.node->active;
  SITU_POINT(scope_engaged);
  return task.node;
}

void disengage_if_alone(task_context& task) noexcept {
  finish_node* const node = task.node;
  if (node->active != 1 || node->outstanding != 0 || node->failures != 0 || node->acknowledging) return;
  current->runtime->nodes.erase(node->key);
  delete node;
  task.node = nullptr;
  task.engaging = false;
}

void acknowledge(finish_node& node) {
  node.acknowledging = true;
  auto task = std::make_unique<acknowledgement>();
  task->run = &acknowledgement::send;
  task->key = node.key;
  current->scheduler->spawn(task.release());
}

void record_failure(finish_node& node, std::exception_ptr failure) noexcept {
  if (is_cancelled(failure)) return;
  if (node.failures++ == 0) {
    node.first_failure = std::move(failure);
  } else {
    const failure_record record = record_of(failure);
    log(log_level::error,
        fmt::format("place {}: a further task of the same finish scope failed: {}: {} (thrown at place {})",
                    current->place, record.type_name, record.what, record.place));
  }
}

void adopt_into_scope(task_context& context) {
  task_context* const running = current->scheduler == nullptr ? nullptr : current->scheduler->task();
  if (current->scheduler == nullptr) throw_no_runtime("a task or continuation");
  if (running == nullptr || running->finish_key == 0) return;
  finish_node* const node = node_of(*running);
  context.finish_key = running->finish_key;
  context.node = node;
  context.source = current->place;
  ++node->active;
}

void leave_scope(task_context& context) noexcept {
  if (context.node == nullptr) return;
  --context.node->active;
  note_done(*context.node);
}

void report_unheard(future_state_base& state, task_context* context, std::uint32_t own_references) noexcept {
  if (!state.error || state.references > own_references) return;
  if (finish_node* const node = context == nullptr ? nullptr : node_of(*context))
    return record_failure(*node, state.error);
  if (is_cancelled(state.error)) return;
  const failure_record record = record_of(state.error);
  log(log_level::error, fmt::format("place {}: a task outside every finish scope failed: {}: {}", current->place,
                                    record.type_name, record.what));
}

void open_scope(finish_node& node, std::uint64_t sequence) {
  node.key = (std::uint64_t{current->place} + 1) << finish_sequence_bits | sequence;
  node.is_home = true;
  node.failure_epoch = current->endpoint->failure_epoch();
  current->runtime->nodes.emplace(node.key, &node);
}

void open_main_scope(runtime_state& state) {
  std::unique_ptr<finish_node> before = std::move(state.root);
  state.root = std::make_unique<finish_node>();
  if (before) {
    state.root->failures = std::exchange(before->failures, 0);
    state.root->first_failure = std::exchange(before->first_failure, nullptr);
    if (before->is_done())
      state.nodes.erase(before->key);
    else
      state.abandoned.push_back(std::move(before));
  }
  open_scope(*state.root, state.next_finish++);
  state.main_task.finish_key = state.root->key;
  state.main_task.node = state.root.get();
  state.main_task.source = current->place;
  state.main_task.code_name = "main";
}

void wait_for_scope(finish_node& node, const wait_note& note) {
  if (current->runtime == nullptr) throw_no_runtime("the end of finish");
  SITU_POINT(scope_waits);
  // A lost place may have had tasks of the scope, even if this task has heard of the loss before.
  const auto is_broken = [&] {
    return SITU_LOSS_CHECK(scopes) && node.failure_epoch != current->endpoint->failure_epoch();
  };
  current->scheduler->wait_until([&] { return node.is_done() || is_broken(); }, {.note = note});
  if (!node.is_done()) throw_place_lost(*current->job, current->place);
  if (node.failures != 0) {
    node.failures = 0;
    rethrow(std::exchange(node.first_failure, nullptr));
  }
}

finish_scope::finish_scope() {
  if (current->runtime == nullptr) throw_no_runtime("finish");
  node_ = std::make_unique<finish_node>();
  open_scope(*node_, current->runtime->next_finish++);
  enclosing_ = current->scheduler->task();
  context_ = {.finish_key = node_->key, .node = node_.get(), .source = current->place};
  if (enclosing_ != nullptr) {
    context_.code_name = enclosing_->code_name;
    context_.code = enclosing_->code;
  }
  current->scheduler->set_task(&context_);
}

finish_scope::~finish_scope() {
  if (current->runtime == nullptr) {  // a forked child leaves a scope of its parent
    (void)node_.release();
    return;
  }
  current->scheduler->set_task(enclosing_);
  if (node_->is_done()) {
    current->runtime->nodes.erase(node_->key);
  } else {
    current->runtime->abandoned.push_back(std::move(node_));  // its tasks still refer to it
  }
}

void finish_scope::wait(const std::source_location& where) {
  wait_for_scope(*node_, {.kind = wait_kind::finish, .subject = node_->key, .where = where});
}

void finish_scope::settle(const std::source_location& where) noexcept {
  const std::uint32_t told_of = current->told_of;
  try {
    wait(where);
  } catch (...) {
    current->told_of = told_of;
  }
}

}  // namespace detail
}  // namespace situ
