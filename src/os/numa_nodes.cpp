#include "os/numa_nodes.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace situ::os {
namespace {

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

}  // namespace

std::vector<int> read_processor_list(const std::string& path) {
  errno = 0;
  std::ifstream file{path};
  if (!file.is_open() && (errno == ENOENT || errno == ENOTDIR)) return {};
  std::string line;
  std::getline(file, line);
  if (!file.is_open() || file.bad())
    throw_error(errc::bad_launch, fmt::format("it is not known which processors lie together: {} cannot be read: {}",
                                              path, ::strerrordesc_np(errno != 0 ? errno : EIO)));
  return parse_list(line);
}

std::vector<node_processors> nodes_with_processors() {
  std::vector<node_processors> found;
  for (const int node : read_processor_list("/sys/devices/system/node/online")) {
    auto processors = read_processor_list("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    if (!processors.empty()) found.push_back({node, std::move(processors)});
  }
  return found;
}

bool is_numa_balancing_on(const std::string& file) {
  std::ifstream setting{file};
  int value = 0;
  return setting >> value && value != 0;  // 1: balancing, 2: between tiers of memory, 3: both
}

}  // namespace situ::os
