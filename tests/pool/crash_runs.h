// Runs of a scenario that are recorded, and looks at each state that a crash may leave of them (crash_recorder.h): each
// is opened by a reader, and must hold what was there before the step that was cut, or after it.
#pragma once

#include "crash_recorder.h"
#include "pool/open_pool.h"
#include "pools.h"
#include "state_file.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
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

// How a pool brings its bytes to where they stay, and so what a crash may leave; and whether objects have checks, which
// each look at what it holds looks at, too.
enum class way { lines_in_place, sectors_in_place, by_record, batched, checked_in_place, checked_by_record };
inline std::string name_of(way which) {
  constexpr const char* names[] = {"lines_in_place", "sectors_in_place", "by_record",
                                   "batched",        "checked_in_place", "checked_by_record"};
  return names[static_cast<int>(which)];
}
[[nodiscard]] constexpr bool has_checks(way which) { return which >= way::checked_in_place; }
[[nodiscard]] constexpr std::size_t unit_of(way which) {
  return which == way::lines_in_place || which == way::checked_in_place ? 64 : 512;
}
[[nodiscard]] constexpr bool is_redo(way which) {
  return which == way::by_record || which == way::batched || which == way::checked_by_record;
}

inline void record(crash_recording& into, const crash_scenario& of, read_content content_of, way which) {
  // In memory where there is such a folder: the recorder takes the device's part, which would be waited for in vain.
  const std::filesystem::path memory = "/dev/shm";
  const folder in{std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path()};
  into.contents.push_back(no_pool);
  // A short log, so that there are checkpoints. A batched pool has no thread: when it would wait is no test's to know.
  const situ::detail::pool_overrides overrides{
      &into.recorder, is_redo(which) ? situ::detail::pool_medium::page_cache : situ::detail::pool_medium::dax, 2048};
  const situ::pool_options options{
      .most_bytes = of.most_bytes,
      .promise = which == way::batched ? situ::pool_promise::batched : situ::pool_promise::machine,
      .sync_every = std::chrono::milliseconds{0},
      .object_checks = has_checks(which)};
  auto made = std::make_unique<situ::pool>(situ::detail::open_pool::create(in.file(), options, overrides));
  into.contents.push_back(content_of(*made));
  into.recorder.complete_step();
  for (std::size_t i = 0; i < of.steps.size(); ++i) {
    of.steps[i](*made);
    if (which == way::batched && i % 3 == 2) made->sync();
    into.contents.push_back(content_of(*made));
    into.recorder.complete_step();
  }
  if (is_redo(which)) {
    made = nullptr;
    into.contents.push_back(into.contents.back());
    into.recorder.complete_step();
  }
  into.recorder.stop();
}

// What is in the file, as a reader finds it, who leaves it as it is.
inline std::string content_of_file(const std::string& path, read_content content_of) {
  try {
    return content_of(situ::pool::open(path, situ::pool_access::read));
  } catch (const situ::error& refused) {
    return std::string{"refused: "} + refused.what();
  }
}

struct crash_verdict {
  std::string violation;  // empty: none
  std::uint64_t states = 0;
  std::uint64_t points = 0;
  std::uint64_t points_in_full = 0;
};

inline crash_verdict look_at_states(const crash_recording& at, read_content content_of, std::uint32_t seed, way which) {
  std::uint64_t longest = 0;
  for (const auto& point : at.recorder.points()) longest = std::max(longest, point.length);
  const state_file file{longest};
  crash_states states{at.recorder, file.at(), seed};
  crash_verdict result{.points = at.recorder.points().size()};
  states.for_each([&](const crash_recorder::crash_point& point) {
    const auto completed = static_cast<std::size_t>(point.completed);
    if (at.contents[completed] == no_pool) return true;  // the file has no name yet
    const std::string found = content_of_file(file.path(), content_of);
    const std::size_t first = which == way::batched ? static_cast<std::size_t>(point.promised) : completed;
    const std::size_t end = std::min(completed + 2, at.contents.size());
    for (std::size_t i = first; i < end; ++i)
      if (found == at.contents[i]) return true;
    result.violation = "after step " + std::to_string(completed) + ": " + found.substr(0, 300) + ", for " +
                       at.contents[completed].substr(0, 300);
    return false;
  });
  result.states = states.states();
  result.points_in_full = states.points_in_full();
  return result;
}

}  // namespace situ_pool_test
