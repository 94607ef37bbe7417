#include "running_jobs.h"

#include "memory/job.h"
#include "os/descriptor.h"
#include "os/mapping.h"
#include "preload/control.h"

#include <situ/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

namespace {

namespace fs = std::filesystem;
namespace preload = situ::preload;
using situ::detail::job_control;

std::optional<pid_t> number_of(const std::string& name) {
  pid_t number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  return failed == std::errc{} && end == name.data() + name.size() ? std::optional{number} : std::nullopt;
}

// Ignores processes that have ended or belong to another user; a look that failed for another reason must not lead to
// the answer that no job runs.
void check_unseen(const std::string& where, int reason) {
  for (const int each : {ENOENT, ESRCH, EACCES, EPERM})
    if (reason == each) return;
  situ::throw_error(situ::errc::bad_launch,
                    fmt::format("the jobs that run cannot be looked for: {}: {}", where, std::strerror(reason)));
}

using file_id = std::pair<dev_t, ino_t>;

// Returns the job that a descriptor of a process refers to, or leads to (job_sign); an empty path if it is no job's.
running_job job_behind(pid_t pid, const fs::path& descriptor) {
  constexpr std::string_view prefix = "/memfd:";
  std::error_code unseen;
  const std::string link = fs::read_symlink(descriptor, unseen).string();  // "/memfd:situ-job (deleted)"
  if (unseen) check_unseen(descriptor.string(), unseen.value());
  std::string_view name = std::string_view{link}.substr(0, link.find(' '));
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  if (name == situ::detail::job_file_name) return {pid, descriptor, false};
  if (name == preload::control_file_name) return {pid, descriptor, true};
  if (!name.starts_with(situ::detail::job_sign)) return {};
  // Any user may give a memory file such a name: it must refer to another descriptor of that process, or it is
  // ignored.
  const auto number = number_of(std::string{name.substr(situ::detail::job_sign.size())});
  if (!number || *number < 0) return {};
  return {pid, descriptor.parent_path() / std::to_string(*number), false};
}

// Calls visit(path) for the entries of a folder of /proc.
template <class Visit>
void for_each_in(const std::string& folder, Visit visit) {
  std::error_code failed;
  for (fs::directory_iterator each{folder, failed}, end; !failed && each != end; each.increment(failed))
    visit(each->path());
  if (failed) check_unseen(folder, failed.value());
}

// Finds the memory of jobs that a process holds open.
void find_jobs_of(pid_t pid, std::map<file_id, running_job>& jobs) {
  for_each_in(fmt::format("/proc/{}/fd", pid), [&](const fs::path& each) {
    const running_job found = job_behind(pid, each);
    struct stat status{};
    if (found.path.empty()) return;
    if (::stat(found.path.c_str(), &status) != 0) return check_unseen(found.path, errno);
    if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)) return;
    // Places hold the file until they have joined; the launcher held it before them.
    const auto [at, is_new] = jobs.try_emplace({status.st_dev, status.st_ino}, found);
    if (!is_new && pid < at->second.launcher) at->second = found;
  });
}

std::vector<held_memory> memory_of_places(situ::os::descriptor file) {
  std::vector<held_memory> found;
  const situ::detail::job looked_at = situ::detail::job::look_at(std::move(file));
  job_control& control = looked_at.control();
  for (std::uint32_t place = 0; place < control.place_count; ++place) {
    for (const auto& row : control.status(place).placed.all())
      found.push_back(
          {place, std::string{row.intent_name()}, std::string{row.memory_name()}, row.bytes.load(), row.most.load()});
  }
  return found;
}

std::vector<held_memory> memory_of_any_program(const situ::os::descriptor& file) {
  std::vector<held_memory> found;
  struct stat status{};
  const bool is_whole =
      ::fstat(file.number(), &status) == 0 && status.st_size == static_cast<off_t>(sizeof(preload::control));
  if (!is_whole) return found;
  const auto mapped =
      situ::os::mapping::anywhere(sizeof(preload::control), PROT_READ, situ::os::backing::shared(file.number()));
  if (!mapped) return found;
  const auto& all = *reinterpret_cast<const preload::control*>(mapped.begin());
  for (std::uint32_t i = 0;
       all.magic == preload::control_magic && i < std::min(all.memory_count, preload::most_memories); ++i) {
    const preload::memory_row& row = all.memories[i];
    found.push_back({std::nullopt, all.intent, row.name, row.used.load(), row.most.load()});
  }
  return found;
}

}  // namespace

std::vector<running_job> find_running_jobs(pid_t launcher) {
  std::map<file_id, running_job> jobs;
  if (launcher != 0) {
    find_jobs_of(launcher, jobs);
  } else {
    for_each_in("/proc", [&](const fs::path& each) {
      if (const auto pid = number_of(each.filename())) find_jobs_of(*pid, jobs);
    });
  }
  std::vector<running_job> found;
  for (const auto& [file, each] : jobs) found.push_back(each);
  std::sort(found.begin(), found.end(),
            [](const running_job& a, const running_job& b) { return a.launcher < b.launcher; });
  return found;
}

std::vector<held_memory> memory_of(const running_job& job) {
  situ::os::descriptor file{::open(job.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!file) {
    check_unseen(job.path, errno);
    return {};
  }
  try {
    std::vector<held_memory> found =
        job.is_any_program ? memory_of_any_program(file) : memory_of_places(std::move(file));
    std::erase_if(found, [](const held_memory& each) { return each.most_bytes == 0; });
    return found;
  } catch (const situ::error&) {
    return {};  // the job has ended in the meantime
  }
}
