#include "runtime/launch_hosts.h"

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

#include "cluster/network.h"
#include "cluster/network_choice.h"
#include "cluster/protocol.h"
#include "cluster/records.h"
#include "cluster/server_greeting.h"
#include "runtime/host_part.h"
#include "runtime/launch.h"

namespace situ::detail {
namespace {

using namespace cluster;

// The first task of a host, until the job has begun.
class host_start {
 public:
  host_start(const foreign_task& self, task_exchange& tasks, unsigned turn) : self_{self}, tasks_{tasks}, turn_{turn} {}

  // Each task has published the first rank of its host. Hosts are numbered by these.
  job make() {
    const std::vector<std::uint32_t> firsts = read_firsts();
    std::map<std::uint32_t, std::uint16_t> numbers;
    for (const std::uint32_t first : firsts) numbers.try_emplace(first, static_cast<std::uint16_t>(numbers.size()));
    std::vector<std::uint16_t> places(numbers.size());
    std::vector<place_home> homes;
    for (const std::uint32_t first : firsts) homes.push_back({numbers[first], places[numbers[first]]++});
    part_.emplace(job_options{.place_count = self_.size,
                              .memory = memory_by_environment(),
                              .homes = homes,
                              .host = homes[self_.rank].host},
                  executable_id());
    const std::string key = fmt::format("situ.host.{}", turn_);
    tasks_.publish(key, pack(part_->record()));
    tasks_.fence();
    std::vector<host_record> records(numbers.size());
    for (const auto& [first, number] : numbers) records[number] = unpack(tasks_.read(key, first));
    return std::move(part_->meet(records));
  }
  // All processes here are known.
  void begin() noexcept { part_->begin(server_greeting::begin::alone); }

 private:
  [[nodiscard]] std::vector<std::uint32_t> read_firsts() {
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t rank = 0; rank < self_.size; ++rank) {
      const std::vector<std::byte> said = tasks_.read(fmt::format("situ.first.{}", turn_), rank);
      if (said.size() < sizeof(std::uint32_t)) throw_error(errc::bad_launch, "a task of another version of Situ");
      firsts.push_back(read_wire<std::uint32_t>(said));
      if (firsts.back() > rank) throw_error(errc::bad_launch, fmt::format("task {} is on no host", rank));
    }
    return firsts;
  }

  const foreign_task& self_;
  task_exchange& tasks_;
  const unsigned turn_;
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
  // The first rank of the host, and the host's name.
  const std::span<const std::byte> rank = wire_bytes_of(self.ranks_here.front());
  const std::string name = name_of_host();
  const std::span<const std::byte> name_bytes = std::as_bytes(std::span{name});
  std::vector<std::byte> said{rank.begin(), rank.end()};
  said.insert(said.end(), name_bytes.begin(), name_bytes.end());
  const std::string key = fmt::format("situ.first.{}", turn);
  tasks->publish(key, said);
  ++turn;
  tasks->fence();
  const std::vector<std::byte> of_first = tasks->read(key, 0);
  if (of_first.size() > rank.size())
    choose_network({reinterpret_cast<const char*>(of_first.data() + rank.size()), of_first.size() - rank.size()});
  return meet_tasks(self, {.make = [&start] { return start.make(); },
                           .made = [&start] { start.begin(); },
                           .meanwhile = [&tasks] { tasks->fence(); }});
}

}  // namespace situ::detail
