#include "rmem/admission.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace situ::rmem::detail {

void admission::leave(std::uint64_t number) noexcept {
  if (strangers_.erase(number) > 0) end_of_rest_ns_ = 0;
}

std::optional<std::uint64_t> admission::overdue(std::uint64_t now_ns) const noexcept {
  if (strangers_.empty() || now_ns - strangers_.begin()->second < grace_ns) return {};
  return strangers_.begin()->first;
}

void admission::rest(std::uint64_t now_ns, std::uint64_t until_ns) noexcept {
  is_resting_ = true;
  end_of_rest_ns_ = until_ns;
  // A stranger that is overdue already has not helped.
  if (!strangers_.empty() && !overdue(now_ns))
    end_of_rest_ns_ = std::min(end_of_rest_ns_, strangers_.begin()->second + grace_ns);
}

bool admission::take_end_of_rest(std::uint64_t now_ns) noexcept {
  if (!is_resting_ || now_ns < end_of_rest_ns_) return false;
  is_resting_ = false;
  return true;
}

int admission::sleep_ms(std::uint64_t now_ns, int most_ms) const noexcept {
  if (!is_resting_ || end_of_rest_ns_ == ~std::uint64_t{0}) return most_ms;
  if (end_of_rest_ns_ <= now_ns) return 0;
  const auto left_ms = static_cast<int>(std::min<std::uint64_t>((end_of_rest_ns_ - now_ns) / 1'000'000 + 1, 1000));
  return most_ms < 0 ? left_ms : std::min(left_ms, most_ms);
}

descriptor_plan plan_descriptors(std::uint64_t most_clients) {
  constexpr std::uint64_t fewest_strangers = 64;
  constexpr std::uint64_t most_strangers = 1024;
  constexpr std::uint64_t fewest_files = 64;
  constexpr std::uint64_t others = 32;  // the program's, and the server's for listening, waiting and its name
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    throw_error(errc::bad_launch,
                fmt::format("the limit of file descriptors cannot be told: {}", std::strerror(errno)));
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) (void)::getrlimit(RLIMIT_NOFILE, &limit);
  const std::uint64_t has = std::min<std::uint64_t>(limit.rlim_cur, 1U << 30);
  const std::uint64_t needs = most_clients + fewest_strangers + fewest_files + others;
  if (has < needs)
    throw_error(errc::bad_launch,
                fmt::format("a server of {} clients needs {} file descriptors, and this process may have {} "
                            "(RLIMIT_NOFILE): raise the hard limit (ulimit -Hn), or serve fewer clients (--clients)",
                            most_clients, needs, has));
  const std::uint64_t spare = has - needs;
  const std::uint64_t strangers = std::min(most_strangers, fewest_strangers + spare / 8);
  return {strangers, has - most_clients - strangers - others};
}

}  // namespace situ::rmem::detail
