#include "os/mapping_error.h"

#include <situ/base/units.h>

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace situ::detail {
namespace {

// Returns the soft limit as text; empty if there is none.
std::string limit_of(__rlimit_resource_t which) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return format_bytes(limit.rlim_cur);
}

}  // namespace

std::string why_not_mapped(int code) {
  const char* const said = ::strerrordesc_np(code);
  std::string text = said != nullptr ? said : fmt::format("error {}", code);
  if (code == EAGAIN) {
    const std::string limit = limit_of(RLIMIT_MEMLOCK);
    text = fmt::format(
        "the limit on locked memory (ulimit -l) is {}, and this process locks all that it maps (mlockall with "
        "MCL_FUTURE); raise that limit, or lock only what is there once Situ has its memory (mlockall(MCL_CURRENT), "
        "mlock)",
        limit.empty() ? "reached" : limit);
  } else if (code == ENOMEM) {
    const std::string limit = limit_of(RLIMIT_AS);
    text += limit.empty() ? "; free memory, or raise vm.max_map_count where a process has very many mappings"
                          : fmt::format("; the limit on address space (ulimit -v) is {}: lift it", limit);
  }
  return text;
}

}  // namespace situ::detail
