#include "processes.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <thread>

namespace {

constexpr std::chrono::seconds time_to_end{5};
constexpr std::chrono::milliseconds between_looks{2};

}  // namespace

std::vector<std::string> process_stat(pid_t process) {
  std::ifstream file{fmt::format("/proc/{}/stat", process)};
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return {};
  std::istringstream words{line.substr(name_end + 1)};
  return {std::istream_iterator<std::string>{words}, {}};
}

bool process_has_ended(pid_t process) {
  std::ifstream file{fmt::format("/proc/{}/statm", process)};
  std::uint64_t pages = 0;
  if (file >> pages && pages != 0) return false;
  const std::vector<std::string> fields = process_stat(process);
  if (fields.size() < 18) return true;
  const bool is_over = fields[0] == "Z" || fields[0] == "X";
  return is_over && std::atoi(fields[17].c_str()) <= 1;  // threads
}

descendants::descendants() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    situ::throw_error(
        situ::errc::bad_launch,
        fmt::format("cannot keep sight of what the program starts, for --timeout: {}", std::strerror(errno)));
  for (const pid_t each : children()) before_.insert(each);
}

std::vector<pid_t> descendants::children() const {
  const std::string own = std::to_string(::getpid());
  std::vector<pid_t> found;
  std::error_code ignored;
  for (std::filesystem::directory_iterator each{"/proc", ignored}, end; each != end; each.increment(ignored)) {
    const pid_t process = std::atoi(each->path().filename().c_str());
    if (process <= 0 || before_.contains(process)) continue;
    const std::vector<std::string> fields = process_stat(process);
    if (fields.size() > 1 && fields[1] == own) found.push_back(process);
  }
  return found;
}

void descendants::reap(pid_t program) {
  siginfo_t ended{};
  while (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0 && ended.si_pid != program) {
    ::waitpid(ended.si_pid, nullptr, 0);
    before_.erase(ended.si_pid);
    ended = {};
  }
}

// Generation by generation: the children of one that has ended are this process's at the next look.
std::vector<pid_t> descendants::end_all() const {
  const auto until = std::chrono::steady_clock::now() + time_to_end;
  while (true) {
    std::vector<pid_t> left = children();
    if (left.empty() || std::chrono::steady_clock::now() > until) return left;
    for (const pid_t each : left) ::kill(each, SIGKILL);
    std::this_thread::sleep_for(between_looks);
    for (const pid_t each : left) ::waitpid(each, nullptr, WNOHANG);
  }
}
