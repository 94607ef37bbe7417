// By the C library's names.
#include "model/execution/affinity.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include "model/execution/engine.h"

namespace situ::model {
namespace {

// Returns a number of `situ model run`; 1 if it is not set.
std::uint32_t number_before_main(const char* name) noexcept {
  const char* const text = std::getenv(name);
  return text == nullptr ? 1 : static_cast<std::uint32_t>(std::max(std::atoi(text), 1));
}

std::uint32_t core_count() noexcept {
  return the_engine == nullptr ? number_before_main("SITU_MODEL_CORES")
                               : static_cast<std::uint32_t>(the_engine->cores().size());
}

// Returns the core of the set that has the fewest threads, the first of several; null if the set has none.
core* emptiest_core_of(std::size_t bytes, const cpu_set_t* set) noexcept {
  core* best = nullptr;
  for (core& each : the_engine->cores())
    if (CPU_ISSET_S(each.index, bytes, set) && (best == nullptr || each.threads_here < best->threads_here))
      best = &each;
  return best;
}

// Returns an error number, or 0.
int bind(thread& which, std::size_t bytes, const cpu_set_t* set) noexcept {
  if (CPU_ISSET_S(which.on->index, bytes, set)) return 0;
  if (emptiest_core_of(bytes, set) == nullptr) return EINVAL;
  the_engine->take_turn();
  the_engine->move(which, *emptiest_core_of(bytes, set));
  return 0;
}

// The kernel's files of a processor: what they say is the host's, not the machine's.
constexpr std::string_view processor_files = "/sys/devices/system/cpu/cpu";

// Writes the cores that share something with a core into `text`, as such a file has them ("3", "0-15"); returns whether
// there is such a file on the machine: the processors of a core are itself, those of a socket the tile's.
bool siblings_of(std::string_view file, char* text, std::size_t bytes) noexcept {
  std::uint32_t number = 0;
  const auto [rest, failure] = std::from_chars(file.data(), file.data() + file.size(), number);
  if (failure != std::errc{} || number >= core_count()) return false;
  const std::string_view what = file.substr(static_cast<std::size_t>(rest - file.data()));
  std::uint32_t first = number;
  std::uint32_t last = number;
  if (what == "/topology/core_siblings_list") {
    const std::uint32_t before_main = number_before_main("SITU_MODEL_TILE_CORES");
    const auto is_beside = [&](std::uint32_t other) {
      if (the_engine == nullptr) return number < before_main && other < before_main;
      return the_engine->cores()[other].tile == the_engine->cores()[number].tile;
    };
    while (first > 0 && is_beside(first - 1)) --first;
    while (last + 1 < core_count() && is_beside(last + 1)) ++last;
  } else if (what != "/topology/thread_siblings_list") {
    return false;
  }
  std::snprintf(text, bytes, first == last ? "%u\n" : "%u-%u\n", first, last);
  return true;
}

}  // namespace

void bind_as_asked(thread& started, const pthread_attr_t* attributes) noexcept {
  cpu_set_t set;  // all, if the attributes name none
  if (attributes == nullptr || pthread_attr_getaffinity_np(attributes, sizeof set, &set) != 0) return;
  if (CPU_ISSET(started.on->index, &set)) return;
  if (core* const target = emptiest_core_of(sizeof set, &set)) the_engine->move(started, *target);
}

}  // namespace situ::model

using namespace situ::model;

extern "C" {

int sched_getcpu() noexcept { return running == &nobody ? 0 : static_cast<int>(running->index); }
int sched_getaffinity(pid_t, std::size_t bytes, cpu_set_t* set) noexcept {
  CPU_ZERO_S(bytes, set);
  for (std::uint32_t i = 0; the_engine != nullptr && i < core_count(); ++i) CPU_SET_S(i, bytes, set);
  return 0;
}
int sched_setaffinity(pid_t, std::size_t bytes, const cpu_set_t* set) noexcept {
  if (running == &nobody) return 0;
  errno = bind(the_engine->self(), bytes, set);
  return errno == 0 ? 0 : -1;
}
// The cores of the thread's tile: its new threads start there.
int pthread_getaffinity_np(pthread_t of, std::size_t bytes, cpu_set_t* set) noexcept {
  CPU_ZERO_S(bytes, set);
  std::uint32_t end = 0;  // one more than the last core
  const auto add = [&](std::uint32_t core) {
    CPU_SET_S(core, bytes, set);
    end = core + 1;
  };
  if (the_engine == nullptr) {
    for (std::uint32_t i = 0; i < number_before_main("SITU_MODEL_TILE_CORES"); ++i) add(i);
    return std::max<std::size_t>(end, CPU_SETSIZE) > 8 * bytes ? EINVAL : 0;  // for all later calls
  }
  const thread* const found = the_engine->find(of);
  if (found == nullptr) return ESRCH;
  for (const core& each : the_engine->cores())
    if (each.tile == found->on->tile) add(each.index);
  return end > 8 * bytes ? EINVAL : 0;
}
int pthread_setaffinity_np(pthread_t of, std::size_t bytes, const cpu_set_t* set) noexcept {
  if (running == &nobody) return 0;
  thread* const found = the_engine->find(of);
  return found == nullptr ? ESRCH : bind(*found, bytes, set);
}

long sysconf(int name) noexcept {
  using ask = long (*)(int);
  static const auto real = reinterpret_cast<ask>(dlsym(RTLD_NEXT, "sysconf"));
  if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return core_count();
  return real(name);
}
int get_nprocs() noexcept { return static_cast<int>(core_count()); }
int get_nprocs_conf() noexcept { return get_nprocs(); }
// As the C library's, but for files about processors, by which libgomp divides them into places.
FILE* fopen(const char* name, const char* mode) {
  using open_file = FILE* (*)(const char*, const char*);
  static const auto real = reinterpret_cast<open_file>(dlsym(RTLD_NEXT, "fopen"));
  const std::string_view file = name;
  if (!file.starts_with(processor_files) || file.size() == processor_files.size() ||
      std::isdigit(static_cast<unsigned char>(file[processor_files.size()])) == 0)
    return real(name, mode);
  char text[32];
  if (!siblings_of(file.substr(processor_files.size()), text, sizeof text)) {
    errno = ENOENT;
    return nullptr;
  }
  FILE* const made = fmemopen(nullptr, sizeof text, "w+");
  if (made == nullptr) return nullptr;
  const std::size_t length = std::strlen(text);
  if (std::fwrite(text, 1, length, made) == length && std::fseek(made, 0, SEEK_SET) == 0) return made;
  std::fclose(made);
  return nullptr;
}
// Nothing else runs on the machine.
int getloadavg(double* loads, int count) noexcept {
  std::fill_n(loads, std::clamp(count, 0, 3), 0.0);
  return std::clamp(count, 0, 3);
}
}
