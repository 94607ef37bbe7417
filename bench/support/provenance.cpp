#include "provenance.h"

#include "situ_bench_commit.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <string>

namespace situ::bench {
namespace {

std::string processor_name() {
  std::ifstream cpuinfo{"/proc/cpuinfo"};
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown processor";
}

std::string machine() {
  utsname kernel{};
  uname(&kernel);
  return fmt::format("{}, {} processors, {} {}", processor_name(), sysconf(_SC_NPROCESSORS_ONLN), kernel.sysname,
                     kernel.release);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

provenance provenance_of_this_run() {
  const std::string_view sanitizers = SITU_BENCH_SANITIZERS;
  return {SITU_BENCH_COMMIT, machine(),
          sanitizers.empty() ? SITU_BENCH_BUILD : fmt::format("{}+{}", SITU_BENCH_BUILD, sanitizers), utc_now()};
}

bool is_release_build() {
  return std::string_view{SITU_BENCH_BUILD} == "Release" && std::string_view{SITU_BENCH_SANITIZERS}.empty();
}

}  // namespace situ::bench
