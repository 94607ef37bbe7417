// The processors that places are bound to. They are read from sysfs and not from the machine module's tree: binding
// needs the processors that this process may use now, which a recorded or modelled machine does not know.
#include "launch/launch.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace situ::detail {
namespace {

namespace fs = std::filesystem;

// Fails the launch: places that are to be bound must not be left unbound in silence.
[[noreturn]] void fail_to_look(const char* what, int reason) {
  throw_error(errc::bad_launch, fmt::format("it is not known which processors lie together: {} cannot be read: {}",
                                            what, ::strerrordesc_np(reason)));
}

std::set<int> allowed() {
  cpu_set_t sets[8];
  std::set<int> found;
  if (::sched_getaffinity(0, sizeof sets, sets) != 0) fail_to_look("the processors of this process", errno);
  for (int processor = 0; processor < static_cast<int>(8 * sizeof sets); ++processor)
    if (CPU_ISSET_S(processor, sizeof sets, sets)) found.insert(processor);
  return found;
}

// Parses a list of processors as the kernel writes it: "0-3,8,10-11".
std::vector<int> parse_list(std::string_view text) {
  std::vector<int> found;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    const auto [after, failure] = std::from_chars(at, end, first);
    if (failure != std::errc{}) break;
    int last = first;
    at = after;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    for (int each = first; each <= last; ++each) found.push_back(each);
    if (at < end && *at == ',') ++at;
  }
  return found;
}

// Returns an empty list if the kernel has no such file (one without NUMA has no nodes) or the list is empty.
std::vector<int> read_list(const fs::path& path) {
  errno = 0;
  std::ifstream file{path};
  if (!file.is_open() && (errno == ENOENT || errno == ENOTDIR)) return {};
  std::string line;
  std::getline(file, line);
  if (!file.is_open() || file.bad()) fail_to_look(path.c_str(), errno != 0 ? errno : EIO);
  return parse_list(line);
}

std::vector<std::vector<int>> cores(const std::set<int>& processors) {
  std::map<int, std::vector<int>> by_first_sibling;
  for (const int processor : processors) {
    const auto siblings =
        read_list("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/thread_siblings_list");
    by_first_sibling[siblings.empty() ? processor : siblings.front()].push_back(processor);
  }
  std::vector<std::vector<int>> groups;
  for (auto& [first, group] : by_first_sibling) groups.push_back(std::move(group));
  return groups;
}

std::vector<std::vector<int>> nodes(const std::set<int>& processors) {
  std::vector<std::vector<int>> groups;
  for (node_processors& each : nodes_of_machine()) {
    std::erase_if(each.processors, [&](int processor) { return !processors.contains(processor); });
    if (!each.processors.empty()) groups.push_back(std::move(each.processors));
  }
  if (groups.empty()) groups.emplace_back(processors.begin(), processors.end());
  return groups;
}

}  // namespace

std::vector<node_processors> nodes_of_machine() {
  std::vector<node_processors> found;
  for (const int node : read_list("/sys/devices/system/node/online")) {
    auto processors = read_list("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    if (!processors.empty()) found.push_back({node, std::move(processors)});
  }
  return found;
}

std::vector<std::vector<int>> binding_groups(binding how) {
  const std::set<int> processors = allowed();
  if (how == binding::core) return cores(processors);
  if (how == binding::numa) return nodes(processors);
  return {{processors.begin(), processors.end()}};
}

}  // namespace situ::detail
