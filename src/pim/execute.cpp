#include "pim/execute.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <string_view>

#include "pim/latch_commands.h"
#include "pim/row_checks.h"

namespace situ::pim {
namespace {

constexpr std::uint64_t dealt_tiles = 4;  // that a thread takes at once

bool is_shift(const bound_command& step) noexcept {
  return step.op == micro_op::shift_left || step.op == micro_op::shift_right;
}

std::string_view in_words(row_fault fault) noexcept {
  switch (fault) {
    case row_fault::written_constant: return "it writes a constant";
    default: return "the design has no such command";
  }
}

// One run of a program: the parts that threads take, and what they have done.
class program_run {
 public:
  program_run(cell_storage& cells, const micro_program& program, const bound_blocks& blocks, instruction_set set,
              unsigned threads)
      : cells_{cells}, program_{program}, set_{set}, bound_{bind_rows(cells, program, blocks)} {
    where_ = blocks.operands.empty() ? blocks.scratch : blocks.operands.front();
    whole_rows_ = std::any_of(bound_.begin(), bound_.end(), is_shift);
    parts_ = whole_rows_ ? where_.subarrays : std::uint64_t{where_.subarrays} * cells.tiles();
    step_ = whole_rows_ ? 1 : dealt_tiles;
    const auto counted = static_cast<std::size_t>(std::count_if(
        bound_.begin(), bound_.end(), [](const bound_command& c) { return c.op == micro_op::count_ones; }));
    done_.ones.resize(counted);
    threads_.resize(threads);
    for (own_part& own : threads_) {
      own.ones.resize(counted);
      own.totals.ones = own.ones;
      if (!whole_rows_) continue;
      own.tiles.resize(cells.tiles());
      own.room.resize(std::size_t{latches} * cells.tiles() * tile_words);
    }
  }

  // Returns whether there is work for another thread.
  [[nodiscard]] bool can_be_shared() const noexcept { return parts_ > step_; }

  // Takes parts until none is left.
  void work(unsigned thread) noexcept {
    own_part& own = threads_[thread];
    for (;;) {
      // Relaxed: the number alone matters; what threads write is disjoint, and share() orders it before the sums.
      const std::uint64_t first = next_.fetch_add(step_, std::memory_order_relaxed);
      if (first >= parts_) return;
      for (std::uint64_t part = first; part < std::min(first + step_, parts_); ++part)
        if (!(whole_rows_ ? run_row_part(own, part) : run_tile_part(own, part))) return;
    }
  }

  // Returns what all threads have done. Throws if a command has found a mistake.
  execution finish() {
    for (const own_part& own : threads_)
      if (own.stop.fault != row_fault::none) refuse(own);
    run_totals sum;
    for (const own_part& own : threads_) {
      for (std::size_t op = 0; op < sum.commands.size(); ++op) sum.commands[op] += own.totals.commands[op];
      sum.extra_rows += own.totals.extra_rows;
      for (std::size_t k = 0; k < own.ones.size(); ++k) done_.ones[k] += own.ones[k];
    }
    add_up(sum);
    return std::move(done_);
  }

 private:
  struct alignas(64) own_part {
    run_totals totals;
    std::vector<std::uint64_t> ones;
    std::vector<tile_cells> tiles;    // for whole rows
    std::vector<std::uint64_t> room;  // for whole rows: the latches
    run_stop stop;
    std::uint32_t subarray = 0;  // where it stopped
  };

  bool run_tile_part(own_part& own, std::uint64_t part) noexcept {
    const auto subarray = where_.subarray + static_cast<std::uint32_t>(part / cells_.tiles());
    const auto tile = static_cast<std::uint32_t>(part % cells_.tiles());
    const std::uint32_t words = std::min(tile_words, cells_.shape().columns / 64 - tile * tile_words);
    own.stop = run_on_tile(set_, bound_, pairs_, cells_.tile(subarray, tile), words, own.totals);
    own.stop.tile = tile;
    return goes_on(own, subarray);
  }

  bool run_row_part(own_part& own, std::uint64_t part) noexcept {
    const auto subarray = where_.subarray + static_cast<std::uint32_t>(part);
    for (std::uint32_t t = 0; t < cells_.tiles(); ++t) own.tiles[t] = cells_.tile(subarray, t);
    own.stop = run_on_rows(set_, bound_, own.tiles, cells_.shape().columns / 64, own.room, own.totals);
    return goes_on(own, subarray);
  }

  bool goes_on(own_part& own, std::uint32_t subarray) noexcept {
    if (own.stop.fault == row_fault::none) return true;
    own.subarray = subarray;
    next_.store(parts_, std::memory_order_relaxed);  // the others take no more; finish() reads after share()
    return false;
  }

  [[noreturn]] void refuse(const own_part& own) const {
    const std::size_t at = own.stop.command;
    const command& step = program_.commands[at];
    const std::uint32_t column = own.stop.tile * tile_columns + own.stop.column;
    throw_error(errc::bad_argument,
                fmt::format("pim: program {}: command {} ({}), in subarray {}: {}", program_.name, at, describe(step),
                            own.subarray,
                            own.stop.fault == row_fault::unequal_cells
                                ? fmt::format("{} hold different bits in column {}", opened_together(step.row), column)
                                : std::string{in_words(own.stop.fault)}));
  }

  // A command is one command of the subarray, on however many tiles it was carried out.
  void add_up(const run_totals& sum) noexcept {
    const auto of = [&](micro_op op) { return sum.commands[static_cast<unsigned>(op)] / cells_.tiles(); };
    command_counts& counts = done_.counts;
    counts.row_reads = of(micro_op::read_row);
    counts.row_writes = of(micro_op::write_row);
    for (auto op = static_cast<unsigned>(micro_op::set_zero); op <= static_cast<unsigned>(micro_op::select); ++op)
      counts.logic += of(static_cast<micro_op>(op));
    counts.shifts = of(micro_op::shift_left) + of(micro_op::shift_right);
    counts.counted_rows = of(micro_op::count_ones);
    counts.ap = of(micro_op::ap);
    counts.aap = of(micro_op::aap);
    counts.extra_rows = sum.extra_rows / cells_.tiles();
  }

  cell_storage& cells_;
  const micro_program& program_;
  instruction_set set_;
  std::vector<bound_command> bound_;
  std::vector<command_pair> pairs_ = pair_up(bound_);
  block where_;
  bool whole_rows_ = false;
  std::uint64_t parts_ = 0;
  std::uint64_t step_ = 1;
  std::atomic<std::uint64_t> next_{0};
  std::vector<own_part> threads_;
  execution done_;
};

}  // namespace

// Delegates, so that the destructor stops the threads that were started before one could not be.
executor::executor(unsigned threads, instruction_set instructions) : executor{instructions} {
  if (threads == 0) throw_error(errc::bad_argument, "pim: an executor has at least one thread, the calling one");
  if (!has(instructions))
    throw_error(errc::not_supported,
                fmt::format("pim: this processor lacks {}: take best_instruction_set()", name(instructions)));
  for (unsigned thread = 1; thread < threads; ++thread)
    workers_.emplace_back(os::without_signals, [this, thread] { serve(thread); });
}

executor::~executor() {
  {
    const std::lock_guard held{lock_};
    stops_ = true;
  }
  changed_.notify_all();
}

void executor::serve(unsigned thread) {
  std::uint64_t seen = 0;
  std::unique_lock held{lock_};
  for (;;) {
    changed_.wait(held, [&] { return stops_ || round_ != seen; });
    if (stops_) return;
    seen = round_;
    const auto* part = part_;
    held.unlock();
    (*part)(thread);
    held.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

void executor::share(const std::function<void(unsigned)>& part) {
  {
    const std::lock_guard held{lock_};
    part_ = &part;
    busy_ = static_cast<unsigned>(workers_.size());
    ++round_;
  }
  changed_.notify_all();
  part(0);
  std::unique_lock held{lock_};
  changed_.wait(held, [&] { return busy_ == 0; });
}

execution executor::run(cell_storage& cells, const micro_program& program, const bound_blocks& blocks) {
  const program_job job{&cells, &program, {blocks.operands.begin(), blocks.operands.end()}, blocks.scratch};
  return std::move(run_all({&job, 1}).front());
}

namespace {

bool share_a_subarray(const program_job& one, const program_job& other) noexcept {
  if (one.cells != other.cells) return false;
  const auto where = [](const program_job& job) { return job.operands.empty() ? job.scratch : job.operands.front(); };
  const block a = where(one), b = where(other);
  return a.subarray < b.subarray + b.subarrays && b.subarray < a.subarray + a.subarrays;
}

// Returns how many jobs from the first on may run at the same time: no two of them in one subarray, since its rows for
// computing, and scratch rows that the jobs may share, are used by one program at a time.
std::size_t jobs_together(std::span<const program_job> jobs) noexcept {
  constexpr std::size_t most = 32;  // bounds the memory for resolved rows and latches
  for (std::size_t count = 1; count < std::min(jobs.size(), most); ++count)
    for (std::size_t before = 0; before < count; ++before)
      if (share_a_subarray(jobs[count], jobs[before])) return count;
  return std::min(jobs.size(), most);
}

}  // namespace

std::vector<execution> executor::run_all(std::span<const program_job> jobs) {
  std::vector<execution> done;
  const std::lock_guard held{running_};
  while (!jobs.empty()) {
    const std::size_t together = jobs_together(jobs);
    std::list<program_run> runs;
    for (const program_job& job : jobs.first(together))
      runs.emplace_back(*job.cells, *job.program, bound_blocks{job.operands, job.scratch}, instructions_, threads());
    const auto work = [&](unsigned thread) {
      for (program_run& each : runs) each.work(thread);
    };
    if (workers_.empty() || (runs.size() == 1 && !runs.front().can_be_shared()))
      work(0);
    else
      share(work);
    for (program_run& each : runs) done.push_back(each.finish());
    jobs = jobs.subspan(together);
  }
  return done;
}

}  // namespace situ::pim
