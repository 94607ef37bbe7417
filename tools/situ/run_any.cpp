#include "run_any.h"

#include "command_line.h"
#include "commands.h"

#include "other_program.h"
#include "program_file.h"
#include "unknown_intent.h"

#include "base/file_size.h"
#include "base/json.h"
#include "base/print.h"
#include "os/descriptor.h"
#include "os/mapping.h"
#include "os/output_file.h"
#include "pages/intent_placer.h"
#include "preload/control.h"
#include "preload/policy.h"
#include "preload/spill.h"

#include <situ/base/error.h>
#include <situ/base/units.h>
#include <situ/machine/orderings.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

namespace {

namespace machine = situ::machine;
namespace preload = situ::preload;
using situ::errc;
using situ::throw_error;
using situ::detail::tell;

// --- the control block ---

// Shared with the program's processes, which find it by this process's descriptor.
class shared_control {
 public:
  shared_control() : file_{situ::os::memory_file(situ::preload::control_file_name)} {
    if (!file_ || situ::detail::set_file_size(file_.number(), sizeof(preload::control)) != 0)
      throw_error(errc::bad_launch, fmt::format("cannot make shared memory: {}", situ::detail::write_failure(errno)));
    mapped_ = situ::os::mapping::anywhere(sizeof(preload::control), PROT_READ | PROT_WRITE,
                                          situ::os::backing::shared(file_.number()));
    if (!mapped_) throw_error(errc::bad_launch, fmt::format("cannot map shared memory: {}", std::strerror(errno)));
    control_ = new (mapped_.begin()) preload::control;
    std::random_device random;
    control_->key = std::uint64_t{random()} << 32 | random();
  }
  shared_control(const shared_control&) = delete;
  shared_control& operator=(const shared_control&) = delete;
  preload::control* operator->() const { return control_; }
  preload::control& operator*() const { return *control_; }
  // Returns the variable's value.
  [[nodiscard]] std::string place() const {
    return fmt::format("/proc/{}/fd/{}#{:x}", ::getpid(), file_.number(), control_->key);
  }

 private:
  situ::os::descriptor file_;
  situ::os::mapping mapped_;
  preload::control* control_ = nullptr;
};

preload::memory_row& add_row(preload::control& to, std::string_view name, std::uint32_t node) {
  if (to.memory_count == preload::most_memories)
    throw_error(errc::bad_launch, fmt::format("an ordering of more than {} memories", preload::most_memories));
  preload::memory_row& row = to.memories[to.memory_count++];
  std::copy_n(name.begin(), std::min(name.size(), sizeof row.name - 1), row.name);
  row.node = node;
  return row;
}

// Returns the bytes of a node that stay free of pages, as for placements within Situ (pages/room_ledger.h).
std::uint64_t kept_bytes(std::uint32_t node) {
  const auto use = situ::detail::use_of_node(node);
  return situ::detail::kept_of_node(use ? use->total_bytes : 0, situ::detail::system_placement_calls().kept_free(node));
}

void write_ordering(preload::control& to, const machine::memory_order& order, const machine::tree& here) {
  for (std::uint32_t step = 0; step < order.steps.size(); ++step)
    for (const machine::ordered_memory& memory : order.steps[step]) {
      preload::memory_row& row = add_row(to, memory.name, memory.node);
      row.step = step;
      row.weight = memory.weight;
      row.fill = order.fill;
      row.budget_bytes = memory.budget_bytes;
      row.kept_bytes = kept_bytes(memory.node);
    }
  const auto rows_of = [&](std::uint32_t node) {
    return std::count_if(to.memories, to.memories + to.memory_count,
                         [node](const preload::memory_row& row) { return row.node == node; });
  };
  for (const machine::node_id id : here.all(machine::node_kind::memory))
    if (here.is_addressable(id) && rows_of(here.at(id).os_index) == 0 && to.memory_count < preload::most_memories)
      add_row(to, here.label(id), here.at(id).os_index).step = preload::not_ordered;
  for (std::uint32_t i = 0; i < to.memory_count; ++i) {
    preload::memory_row& row = to.memories[i];
    row.is_alone = rows_of(row.node) == 1;
    to.has_nodes |= static_cast<std::uint32_t>(row.is_alone != 0 && row.budget_bytes == 0);
  }
  to.takes_beyond = order.when_full == machine::no_room::last;
}

// Releases the charges of ended processes. A process may end without saying so; a zombie exists, but has no memory.
void give_back_of_ended(preload::control& all) {
  for (preload::process_row& row : all.rows) {
    const std::int32_t process = row.process.load();
    if (process > 0 && process_has_ended(process)) preload::release_of(all, row, process);
  }
}

// --- the report ---

std::string report_text(const preload::control& all, const std::string& intent) {
  const std::uint64_t total = all.most_total.load();
  std::string text = fmt::format("memory by {}: {} at its peak, in {} process{}\n  {:<16} {:>11} {:>6} {:>11}\n",
                                 intent, situ::format_bytes(total), all.processes.load(),
                                 all.processes.load() == 1 ? "" : "es", "memory", "at the peak", "", "ever most");
  for (std::uint32_t i = 0; i < all.memory_count; ++i) {
    const preload::memory_row& row = all.memories[i];
    if (row.step == preload::not_ordered && row.most.load() == 0) continue;
    text += fmt::format(
        "  {:<16} {:>11} {:>5.1f}% {:>11}{}\n", row.name, situ::format_bytes(row.at_peak.load()),
        100.0 * static_cast<double>(row.at_peak.load()) / static_cast<double>(std::max<std::uint64_t>(total, 1)),
        situ::format_bytes(row.most.load()), row.step == preload::not_ordered ? "  not in the ordering" : "");
  }
  if (all.by_kernel.load() != 0) text += "  placed by the kernel's own ordered policy\n";
  if (const std::uint64_t moved = all.moved_bytes.load(); moved != 0)
    text += fmt::format("  {} went beyond a threshold, and were moved on\n", situ::format_bytes(moved));
  return text;
}

situ::detail::json report_json(const preload::control& all, const std::string& intent) {
  situ::detail::json rows = situ::detail::json::array();
  for (std::uint32_t i = 0; i < all.memory_count; ++i) {
    const preload::memory_row& row = all.memories[i];
    rows.push({{"memory", row.name},
               {"node", row.node},
               {"is_ordered", row.step != preload::not_ordered},
               {"bytes_at_peak", row.at_peak.load()},
               {"most_bytes", row.most.load()}});
  }
  return {{"intent", intent},
          {"peak_bytes", all.most_total.load()},
          {"processes", all.processes.load()},
          {"uncounted_processes", all.uncounted.load()},
          {"is_by_kernel", all.by_kernel.load() != 0},
          {"moved_bytes", all.moved_bytes.load()},
          {"refusals", all.refusals.load()},
          {"memories", std::move(rows)}};
}

std::string fills_text(const preload::control& all) {
  std::string text;
  for (std::uint32_t i = 0; i < all.memory_count && all.memories[i].step != preload::not_ordered; ++i) {
    const preload::memory_row& row = all.memories[i];
    const auto use = row.budget_bytes == 0 ? situ::detail::use_of_node(row.node) : std::nullopt;
    const std::uint64_t size = row.budget_bytes != 0 ? row.budget_bytes : use ? use->total_bytes : 0;
    text += fmt::format("\n  {:<16} {:>10} in all, filled up to {:.0f}%, the program's {:>10} at most", row.name,
                        situ::format_bytes(size), 100 * row.fill, situ::format_bytes(row.most.load()));
  }
  return text;
}

// Returns false if a report that was asked for is lost.
bool report(const any_program_options& options, const preload::control& all) {
  if (all.refusals.load() != 0)
    tell(
        "situ: no memory of the ordering for {} had room any more: from then on, requests for more memory were refused "
        "(ENOMEM); what the program had before is its own, also if it is more than the memories hold. Free memory, "
        "order more memories for it, or let the last one take it (situ order set {} MEMORIES --no-room last){}\n",
        options.intent, options.intent, fills_text(all));
  if (all.uncounted.load() != 0)
    tell("situ: {} processes were not counted: there is room for {} at a time\n", all.uncounted.load(),
         preload::most_processes);
  if (options.stats) tell("{}", report_text(all, options.intent));
  if (options.report_file.empty()) return true;
  try {
    situ::detail::write_file(options.report_file, report_json(all, options.intent).text(2) + '\n');
    return true;
  } catch (const situ::error& failed) {
    tell("situ: {}\n", failed.message());
    return false;
  }
}

}  // namespace

int run_any_program(const any_program_options& options, const std::string& file,
                    const std::vector<std::string>& arguments) {
  if (const std::string why = why_not_preloaded(file); !why.empty())
    throw_error(errc::bad_launch, fmt::format("--intent cannot be brought into this program: {}", why));
  const std::string library = preloaded_library();
  const situ::intent what = situ::intent::of(options.intent);
  const machine::orderings& all = situ::detail::orderings_here();
  warn_if_unknown(what, all);
  situ::detail::shared_budget budgets[preload::most_memories];
  const situ::detail::intent_placer checked = situ::detail::make_intent_placer(what, all, budgets);

  const shared_control control;
  std::copy(what.name().begin(), what.name().end(), control->intent);
  write_ordering(*control, checked.order, all.machine());
  control->kernel_policy = static_cast<std::uint32_t>(checked.places.kernel_policy());
  control->is_watched = options.stats || !options.report_file.empty();
  control->is_for_children = options.only_this ? 0 : 1;
  rlimit data{};
  ::getrlimit(RLIMIT_DATA, &data);
  control->data_limit = data.rlim_cur;

  const auto use = [&](std::uint32_t i) {
    return situ::detail::use_of_node(control->memories[i].node).value_or(situ::detail::memory_use{});
  };
  std::uint32_t first = preload::choose(*control, preload::no_memory, 0, use);
  const bool has_room = first != preload::no_memory;
  if (!has_room) first = preload::last_of(*control, 0);

  const situ::os::passed_signals signals;
  std::optional<descendants> others;
  if (options.time_limit.count() != 0) others.emplace();
  situ::os::child program = start_program(
      file, arguments, environment_with(library, preload::control_variable, control.place()), signals, [&] {
        control->first_process.store(::getpid());
        preload::set_thread_policy(preload::policy_for(*control, first, has_room));  // for its loader's pages
        return true;
      });
  const ended_program ended =
      wait_for_program(std::move(program), signals, [&] { give_back_of_ended(*control); }, options.time_limit, others);
  const bool is_reported = report(options, *control);
  if (ended.is_late) {
    tell("situ: still running after the time limit of {} ms\n", options.time_limit.count());
    return timeout_exit_code;
  }
  if (ended.status.signal != 0) end_by_signal(ended.status.signal);
  const int code = ended.status.code;
  return code == 0 && !is_reported ? EXIT_FAILURE : code;
}
