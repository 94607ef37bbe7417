#include "model/parts/ramulator_replay.h"

#include "model/parts/instruction_window.h"
#include "model/parts/ring_queue.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace situ::model {
namespace {

constexpr std::size_t most_under_way = 32;

class replayed_requests {
 public:
  replayed_requests(modelled_machine& machine, std::uint32_t core, std::uint32_t memory)
      : machine_{machine}, memory_{memory}, cycle_{machine.period(core)} {
    const core_spec& its = machine.spec().cores[core];
    const double cycles = its.width > 0 ? 1 / its.width : its.cycles.integer;
    instruction_ = static_cast<time_ps>(std::llround(cycles * static_cast<double>(its.period)));
    if (!its.data_path.empty()) line_bytes_ = machine.spec().caches[its.data_path.back()].line_bytes;
    if (its.window > 0) window_.emplace(its.window, its.store_buffer);
  }

  void request(const ramulator_line& line) {
    if (under_way_.size() == most_under_way) {
      now_ = std::max(now_, under_way_.front());
      under_way_.pop_front();
    }
    under_way_.push_back(send(line.address, line.writes));
    now_ += cycle_;
  }
  void execute(const ramulator_line& line) {
    figures_.instructions += line.bubbles + 1;
    now_ += instruction_ * (line.bubbles + 1);
    if (window_) now_ = window_->enter(figures_.instructions, now_);
    const time_ps done = send(line.address, false);
    if (line.write_back) send(*line.write_back, true);
    if (window_)
      window_->add_load(figures_.instructions, done);
    else
      now_ = done;
  }
  [[nodiscard]] replay_figures end() {
    figures_.time = std::max(now_, last_done_);
    return figures_;
  }

 private:
  time_ps send(std::uint64_t address, bool writes) {
    ++(writes ? figures_.writes : figures_.reads);
    const time_ps done = machine_.memory_request(memory_, address & ~(line_bytes_ - 1), line_bytes_, writes, now_);
    last_done_ = std::max(last_done_, done);
    return done;
  }

  modelled_machine& machine_;
  std::uint32_t memory_;
  time_ps cycle_;
  time_ps instruction_ = 0;
  std::uint64_t line_bytes_ = 64;
  std::optional<instruction_window> window_;  // of a core that goes on past a miss
  ring_queue<time_ps> under_way_;
  time_ps now_ = 0;
  time_ps last_done_ = 0;
  replay_figures figures_;
};

}  // namespace

replay_figures replay(modelled_machine& machine, std::uint32_t core, std::uint32_t memory, ramulator_reader& trace) {
  replayed_requests runs{machine, core, memory};
  for (ramulator_line each; trace.next(each);)
    trace.format() == ramulator_format::cpu ? runs.execute(each) : runs.request(each);
  return runs.end();
}

}  // namespace situ::model
