#include "launch/own_report.h"

#include <situ/base/error_code.h>
#include <situ/base/log.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "base/print.h"
#include "cluster/far_place.h"
#include "fabric/observe.h"
#include "launch/launch.h"
#include "os/host.h"

namespace situ::detail {
namespace {

constexpr int trips_of_measurement = 16;  // as the launcher of `situ run --hosts` makes

std::string trace_file_by_environment() {
  const char* const text = std::getenv("SITU_TRACE");
  return text == nullptr ? "" : text;
}

}  // namespace

observation observation_by_environment() {
  observation asked{.trace = !trace_file_by_environment().empty()};
  const char* const text = std::getenv("SITU_STATS");
  if (text == nullptr || *text == '\0' || std::strcmp(text, "0") == 0) return asked;
  if (std::strcmp(text, "1") != 0) throw_error(errc::bad_argument, "SITU_STATS in the environment is neither 0 nor 1");
  asked.stats = true;
  return asked;
}

job_options options_of_own_job(std::uint32_t places, const observation& asked) {
  job_options made{.place_count = places, .memory = memory_by_environment()};
  made.stats = asked.stats;
  made.trace = asked.trace;
  made.tells_itself = asked.stats || asked.trace;
  reserve_observation(made);
  return made;
}

own_report::own_report(job_control& control, cluster::far_place* far)
    : control_{control},
      far_{far},
      trace_file_{control.trace ? trace_file_by_environment() : ""},
      clocks_(control.host_count) {
  for (std::uint16_t host = 0; far != nullptr && host < clocks_.size(); ++host) {
    if (host == control.host) continue;
    try {
      look_at_clock_of(host);
    } catch (const std::exception&) {  // a host that is already lost, which the program hears of
    }
  }
}

// Reads the other host's clock. Takes the reading to be from the middle of the round trip; the shortest trip is the
// most exact.
void own_report::look_at_clock_of(std::uint16_t host) {
  if (!control_.trace) return;
  std::uint64_t shortest_ns = ~std::uint64_t{0};
  std::uint64_t there_ns = 0;
  std::int64_t ahead_ns = 0;
  for (int i = 0; i < trips_of_measurement; ++i) {
    const std::uint64_t asked = steady_ns();
    const std::uint64_t there = far_->time_at(host);
    const std::uint64_t trip = steady_ns() - asked;
    if (trip >= shortest_ns) continue;
    shortest_ns = trip;
    there_ns = there;
    ahead_ns = static_cast<std::int64_t>(there - (asked + trip / 2));
  }
  clocks_[host].look(there_ns, ahead_ns);
}

void own_report::fetch_from(std::uint16_t host) {
  look_at_clock_of(host);
  const auto homes = control_.homes();
  for (std::uint32_t place = 0; place < homes.size(); ++place) {
    if (homes[place].host != host) continue;
    try {
      fetch_rows(control_, place, [&](shown_part of, std::uint64_t offset, std::span<std::byte> to) {
        far_->look_at(place, of, offset, to);
      });
    } catch (...) {
      forget_rows(control_, place);
      throw;
    }
    if (control_.trace) set_clock(control_, place, clocks_[host]);
  }
}

void own_report::tell() noexcept {
  if (far_ != nullptr) far_->set_task_waiter(nullptr);
  for (std::uint16_t host = 0; far_ != nullptr && host < clocks_.size(); ++host) {
    if (host == control_.host) continue;
    try {
      fetch_from(host);
    } catch (const std::exception& e) {
      log(log_level::warning, fmt::format("what places of host {} have counted has not come: {}", host, e.what()));
    }
  }
  try {
    if (control_.stats) tell_text(format_statistics(control_));
    if (!trace_file_.empty()) write_trace(control_, trace_file_);
  } catch (const std::exception& e) {
    log(log_level::error, e.what());
  }
}

}  // namespace situ::detail
