#include "processes.h"

#include "os/child.h"

#include <situ/base/error.h>

#include <fmt/format.h>
#include <sys/prctl.h>
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
#include <utility>

namespace {

constexpr std::chrono::seconds time_to_end{5};
constexpr std::chrono::milliseconds between_looks{2};

[[noreturn]] void throw_unseen() {
  situ::throw_error(
      situ::errc::bad_launch,
      fmt::format("the processes that the program has started cannot be seen in /proc: {}; see to it that "
                  "they end",
                  std::strerror(errno)));
}

}  // namespace

std::vector<std::string> process_stat(pid_t process) {
  errno = 0;
  std::ifstream file{fmt::format("/proc/{}/stat", process)};
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');  // the name may contain any byte
  if (name_end == std::string::npos) {
    if (errno == 0) errno = EIO;
    return {};
  }
  std::istringstream words{line.substr(name_end + 1)};
  return {std::istream_iterator<std::string>{words}, {}};
}

bool process_has_ended(pid_t process) {
  if (::kill(process, 0) != 0 && errno == ESRCH) return true;
  std::ifstream file{fmt::format("/proc/{}/statm", process)};
  std::uint64_t pages = 0;
  if (file >> pages && pages != 0) return false;
  const std::vector<std::string> fields = process_stat(process);
  if (fields.size() < 18) return false;
  const bool is_over = fields[0] == "Z" || fields[0] == "X";
  return is_over && std::atoi(fields[17].c_str()) <= 1;  // the number of threads
}

descendants::descendants() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    situ::throw_error(
        situ::errc::bad_launch,
        fmt::format("cannot keep sight of what the program starts, for --timeout: {}", std::strerror(errno)));
  const std::optional<std::vector<pid_t>> found = children();
  if (!found) throw_unseen();
  before_.insert(found->begin(), found->end());
}

std::optional<std::vector<pid_t>> descendants::children() const {
  const std::string own = std::to_string(::getpid());
  std::vector<pid_t> found;
  std::error_code failed;
  for (std::filesystem::directory_iterator each{"/proc", failed}, end; !failed && each != end; each.increment(failed)) {
    const pid_t process = std::atoi(each->path().filename().c_str());
    if (process <= 0 || before_.contains(process)) continue;
    const std::vector<std::string> fields = process_stat(process);
    if (fields.size() > 1 && fields[1] == own) found.push_back(process);
    // The process has ended in the meantime, or belongs to a user whose processes are hidden (hidepid).
    const bool is_seen = !fields.empty() || errno == ENOENT || errno == ESRCH || errno == EACCES || errno == EPERM;
    if (!is_seen) return std::nullopt;
  }
  if (failed) errno = failed.value();
  return failed ? std::nullopt : std::optional{std::move(found)};
}

void descendants::reap(pid_t program) {
  for (pid_t ended = 0; (ended = situ::os::find_ended_child()) > 0 && ended != program;) {
    situ::os::drop_ended_child(ended);
    before_.erase(ended);
  }
}

// Ends them generation by generation: the children of an ended one are this process's at the next look.
std::vector<pid_t> descendants::end_all() const {
  const auto until = std::chrono::steady_clock::now() + time_to_end;
  while (true) {
    const std::optional<std::vector<pid_t>> left = children();
    const bool is_late = std::chrono::steady_clock::now() > until;
    if (!left && is_late) throw_unseen();
    if (left && (left->empty() || is_late)) return *left;
    for (const pid_t each : left.value_or(std::vector<pid_t>{})) ::kill(each, SIGKILL);
    std::this_thread::sleep_for(between_looks);
    for (const pid_t each : left.value_or(std::vector<pid_t>{})) situ::os::drop_ended_child(each);
  }
}
