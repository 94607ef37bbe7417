// The processors that places are bound to. They are read from sysfs and not from the machine module's tree: binding
// needs the processors that this process may use now, which a recorded or modelled machine does not know.
#include "launch/launch.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "os/numa_nodes.h"

namespace situ::detail {
namespace {

std::set<int> allowed() {
  cpu_set_t sets[8];
  std::set<int> found;
  if (::sched_getaffinity(0, sizeof sets, sets) != 0)
    throw_error(errc::bad_launch, fmt::format("it is not known which processors lie together: the processors of this "
                                              "process cannot be read: {}",
                                              ::strerrordesc_np(errno)));
  for (int processor = 0; processor < static_cast<int>(8 * sizeof sets); ++processor)
    if (CPU_ISSET_S(processor, sizeof sets, sets)) found.insert(processor);
  return found;
}

std::vector<std::vector<int>> cores(const std::set<int>& processors) {
  std::map<int, std::vector<int>> by_first_sibling;
  for (const int processor : processors) {
    const auto siblings = os::read_processor_list("/sys/devices/system/cpu/cpu" + std::to_string(processor) +
                                                  "/topology/thread_siblings_list");
    by_first_sibling[siblings.empty() ? processor : siblings.front()].push_back(processor);
  }
  std::vector<std::vector<int>> groups;
  for (auto& [first, group] : by_first_sibling) groups.push_back(std::move(group));
  return groups;
}

std::vector<std::vector<int>> nodes(const std::set<int>& processors) {
  std::vector<std::vector<int>> groups;
  for (os::node_processors& each : os::nodes_with_processors()) {
    std::erase_if(each.processors, [&](int processor) { return !processors.contains(processor); });
    if (!each.processors.empty()) groups.push_back(std::move(each.processors));
  }
  if (groups.empty()) groups.emplace_back(processors.begin(), processors.end());
  return groups;
}

}  // namespace

std::vector<std::vector<int>> binding_groups(binding how) {
  const std::set<int> processors = allowed();
  if (how == binding::core) return cores(processors);
  if (how == binding::numa) return nodes(processors);
  return {{processors.begin(), processors.end()}};
}

}  // namespace situ::detail
