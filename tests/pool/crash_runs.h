// Runs of a scenario that are recorded, and looks at each state that a crash may leave of them (crash_recorder.h): each
// is opened by a reader, and must hold what was there before the step that was cut, or after it.
#pragma once

#include "crash_recorder.h"
#include "pool/open_pool.h"
#include "pools.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace situ_pool_test {

struct crash_scenario {
  const char* name;
  std::uint64_t most_bytes;
  std::vector<std::function<void(situ::pool&)>> steps;
};
// What a pool holds, as text; and with it whatever must not be otherwise, as the number of its blocks.
using read_content = std::string (*)(const situ::pool&);

struct crash_recording {
  crash_recorder recorder;
  // Before the first step and after each. What makes a pool is a step, too, before which there is nothing to open.
  std::vector<std::string> contents;
};
inline const std::string no_pool = "no pool";

inline void record(crash_recording& into, const crash_scenario& of, read_content content_of) {
  // In memory where there is such a folder: the recorder takes the device's part, which would be waited for in vain.
  const std::filesystem::path memory = "/dev/shm";
  const folder in{std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path()};
  into.contents.push_back(no_pool);
  const situ::detail::pool_overrides overrides{&into.recorder, situ::detail::pool_medium::dax};
  situ::pool made = situ::detail::open_pool::create(
      in.file(), {.most_bytes = of.most_bytes, .promise = situ::pool_promise::machine}, overrides);
  into.contents.push_back(content_of(made));
  into.recorder.complete_step();
  for (const auto& step : of.steps) {
    step(made);
    into.contents.push_back(content_of(made));
    into.recorder.complete_step();
  }
  into.recorder.stop();
}

// A file in memory, of as many bytes as the longest state.
class crash_file {
 public:
  explicit crash_file(std::uint64_t bytes) : descriptor_{::memfd_create("pool states", MFD_CLOEXEC)}, bytes_{bytes} {
    if (descriptor_ < 0 || ::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
      throw std::runtime_error{"no file in memory"};
    void* const got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (got == MAP_FAILED) throw std::runtime_error{"no mapping of a file in memory"};
    at_ = static_cast<std::byte*>(got);
  }
  ~crash_file() {
    ::munmap(at_, bytes_);
    ::close(descriptor_);
  }
  crash_file(const crash_file&) = delete;
  crash_file& operator=(const crash_file&) = delete;
  [[nodiscard]] std::byte* at() const { return at_; }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
  std::uint64_t bytes_;
  std::byte* at_;
};

struct crash_verdict {
  std::string violation;  // empty: none
  std::uint64_t states = 0;
  std::uint64_t points = 0;
  std::uint64_t points_in_full = 0;
};

inline crash_verdict look_at_states(const crash_recording& at, read_content content_of, std::uint32_t seed) {
  std::uint64_t longest = 0;
  for (const auto& point : at.recorder.points()) longest = std::max(longest, point.length);
  const crash_file file{longest};
  crash_states states{at.recorder, file.at(), seed};
  crash_verdict result{.points = at.recorder.points().size()};
  states.for_each([&](const crash_recorder::crash_point& point) {
    const auto completed = static_cast<std::size_t>(point.completed);
    if (at.contents[completed] == no_pool) return true;  // the file has no name yet
    std::string found;
    try {
      found = content_of(situ::pool::open(file.path(), situ::pool_access::read));
    } catch (const std::exception& refused) {
      found = std::string{"refused: "} + refused.what();
    }
    if (found == at.contents[completed]) return true;
    if (completed + 1 < at.contents.size() && found == at.contents[completed + 1]) return true;
    result.violation = "after step " + std::to_string(completed) + ": " + found.substr(0, 300) + ", for " +
                       at.contents[completed].substr(0, 300);
    return false;
  });
  result.states = states.states();
  result.points_in_full = states.points_in_full();
  return result;
}

}  // namespace situ_pool_test
