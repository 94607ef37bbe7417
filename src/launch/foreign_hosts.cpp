#include "launch/foreign_hosts.h"

#include <situ/base/error.h>
#include <situ/fabric/detail/function_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/network_choice.h"
#include "launch/host_part.h"
#include "launch/network.h"
#include "launch/own_report.h"
#include "launch/records.h"
#include "os/bytes.h"

namespace situ::detail {
namespace {

using namespace cluster;

// The data that each task publishes: the first rank of its host, the reports that it asks for, and the host's name.
struct task_says {
  std::uint32_t first_rank = 0;
  std::uint32_t asks = 0;  // stats 1, trace 2
  std::string host{};

  [[nodiscard]] std::vector<std::byte> packed() const {
    std::vector<std::byte> made;
    os::byte_writer{made}.add(first_rank, asks).add_text(host);
    return made;
  }
  static task_says unpacked(std::span<const std::byte> said) {
    os::byte_reader from{said};
    task_says made;
    if (!from.take(made.first_rank, made.asks)) throw_error(errc::bad_launch, "a task of another version of Situ");
    made.host = os::text_of(from.rest());
    return made;
  }
};

// The first task of a host, until the job has begun.
class host_start {
 public:
  host_start(const foreign_task& self, task_exchange& tasks, unsigned turn) : self_{self}, tasks_{tasks}, turn_{turn} {}

  // Makes this host's part and exchanges records. pre: each task has published the first rank of its host. Hosts are
  // numbered in the order of these ranks.
  job make() {
    const std::vector<std::uint32_t> firsts = read_firsts();
    std::map<std::uint32_t, std::uint16_t> numbers;
    for (const std::uint32_t first : firsts) numbers.try_emplace(first, static_cast<std::uint16_t>(numbers.size()));
    std::vector<std::uint16_t> places(numbers.size());
    std::vector<place_home> homes;
    for (const std::uint32_t first : firsts) homes.push_back({numbers[first], places[numbers[first]]++});
    job_options options = options_of_own_job(self_.size, asked_);
    options.homes = homes;
    options.host = homes[self_.rank].host;
    part_.emplace(options, executable_id());
    const std::string key = fmt::format("situ.host.{}", turn_);
    tasks_.publish(key, pack(part_->record()));
    tasks_.fence();
    std::vector<host_record> records(numbers.size());
    for (const auto& [first, number] : numbers) records[number] = unpack(tasks_.read(key, first));
    return std::move(part_->meet(records));
  }
  // Sets the reports that rank 0 asks for, which counts for all.
  void observe(const observation& asked) noexcept { asked_ = asked; }
  // Lets the server begin. pre: all processes here are known.
  void begin() noexcept { part_->begin(); }

 private:
  [[nodiscard]] std::vector<std::uint32_t> read_firsts() {
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t rank = 0; rank < self_.size; ++rank) {
      firsts.push_back(task_says::unpacked(tasks_.read(fmt::format("situ.first.{}", turn_), rank)).first_rank);
      if (firsts.back() > rank) throw_error(errc::bad_launch, fmt::format("task {} is on no host", rank));
    }
    return firsts;
  }

  const foreign_task& self_;
  task_exchange& tasks_;
  const unsigned turn_;
  observation asked_;
  std::optional<host_part> part_;
};

std::unique_ptr<task_exchange> join_tasks(const foreign_task& self) {
  try {
    return open_network().join_tasks();
  } catch (const error& e) {
    refuse_tasks(self, fmt::format("they run on several hosts ({})", e.message()));
  }
}

}  // namespace

job meet_over_hosts(const foreign_task& task) {
  static unsigned turn = 0;
  foreign_task self = task;
  const std::unique_ptr<task_exchange> tasks = join_tasks(self);
  self.ranks_here = tasks->ranks_here();
  std::sort(self.ranks_here.begin(), self.ranks_here.end());
  if (tasks->rank() != self.rank || !std::binary_search(self.ranks_here.begin(), self.ranks_here.end(), self.rank))
    throw_error(errc::bad_launch, fmt::format("{} says that this is task {}, and PMIx that it is task {}",
                                              self.launcher, self.rank, tasks->rank()));
  host_start start{self, *tasks, turn};
  const observation own = observation_by_environment();
  const std::string key = fmt::format("situ.first.{}", turn);
  tasks->publish(key, task_says{.first_rank = self.ranks_here.front(),
                                .asks = (own.stats ? 1U : 0U) | (own.trace ? 2U : 0U),
                                .host = name_of_host()}
                          .packed());
  ++turn;
  tasks->fence();
  const task_says of_first = task_says::unpacked(tasks->read(key, 0));
  if (!of_first.host.empty()) choose_network(of_first.host);
  start.observe({.stats = (of_first.asks & 1) != 0, .trace = (of_first.asks & 2) != 0});
  return meet_tasks(self, {.make = [&start] { return start.make(); },
                           .made = [&start] { start.begin(); },
                           .meanwhile = [&tasks] { tasks->fence(); }});
}

}  // namespace situ::detail
