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
#include <iterator>
#include <string_view>
#include <system_error>

#include "model/execution/engine.h"

namespace situ::model {
namespace {

constexpr const char* cores_before_main = "SITU_MODEL_CORES";      // the core of each processor
constexpr const char* tile_before_main = "SITU_MODEL_TILE_CORES";  // the processors of the first tile

// Calls f(position, number) for each number of such a list of `situ model run`, as "0-3,0-3" or "0,2,4"; if it is not
// set, for one number, 0.
template <class F>
void each_before_main(const char* list, F&& f) noexcept {
  const char* const given = std::getenv(list);
  const std::string_view text = given == nullptr || *given == 0 ? "0" : given;
  const char* const end = text.data() + text.size();
  std::uint32_t position = 0;
  for (const char* at = text.data(); at < end;) {
    std::uint32_t first = 0;
    auto [rest, failure] = std::from_chars(at, end, first);
    if (failure != std::errc{}) return;
    std::uint32_t last = first;
    if (rest < end && *rest == '-') {
      const auto range = std::from_chars(rest + 1, end, last);
      if (range.ec != std::errc{}) return;
      rest = range.ptr;
    }
    for (std::uint64_t number = first; number <= last; ++number) f(position++, static_cast<std::uint32_t>(number));
    at = rest + 1;
  }
}

// Returns how many processors there are: hardware threads of cores.
std::uint32_t core_count() noexcept {
  if (the_engine != nullptr) return static_cast<std::uint32_t>(the_engine->cores().size());
  std::uint32_t count = 0;
  each_before_main(cores_before_main, [&](std::uint32_t, std::uint32_t) { ++count; });
  return count;
}

// Calls f(processor) for each that shares the core of this one, or its tile, this one included.
template <class F>
void each_beside(std::uint32_t processor, bool in_tile, F&& f) noexcept {
  if (the_engine != nullptr) {
    const core& self = the_engine->cores()[processor];
    for (const core& each : the_engine->cores())
      if (in_tile ? each.tile == self.tile : each.of_core == self.of_core) f(each.index);
  } else if (in_tile) {
    bool is_in_first = false;
    each_before_main(tile_before_main, [&](std::uint32_t, std::uint32_t each) { is_in_first |= each == processor; });
    if (!is_in_first) return f(processor);
    each_before_main(tile_before_main, [&](std::uint32_t, std::uint32_t each) { f(each); });
  } else {
    std::uint32_t of = 0;
    each_before_main(cores_before_main,
                     [&](std::uint32_t at, std::uint32_t core) { of = at == processor ? core : of; });
    each_before_main(cores_before_main, [&](std::uint32_t at, std::uint32_t core) {
      if (core == of) f(at);
    });
  }
}

// Returns the processor of the set that has the fewest threads, the first of several; null if the set has none.
core* emptiest_core_of(std::size_t bytes, const cpu_set_t* set) noexcept {
  core* best = nullptr;
  for (core& each : the_engine->cores())
    if (CPU_ISSET_S(each.index, bytes, set) && (best == nullptr || is_emptier(each, *best))) best = &each;
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

// A list of processors as the kernel's files have it: "3", "0-15", "0,64,128,192".
class processor_list {
 public:
  // pre: numbers come in order.
  void add(std::uint32_t number) noexcept {
    if (!has_any_ || number != last_ + 1) {
      end_range();
      first_ = number;
    }
    last_ = number;
    has_any_ = true;
  }
  // Ends the list. Returns it as a line.
  [[nodiscard]] std::string_view line() noexcept {
    end_range();
    put('\n');
    return {text_, length_};
  }

 private:
  void end_range() noexcept {
    if (!has_any_) return;
    if (length_ > 0) put(',');
    put(first_);
    if (first_ == last_) return;
    put('-');
    put(last_);
  }
  void put(char mark) noexcept {
    if (length_ < sizeof text_) text_[length_++] = mark;
  }
  void put(std::uint32_t number) noexcept {
    const auto [end, failure] = std::to_chars(text_ + length_, std::end(text_), number);
    if (failure == std::errc{}) length_ = static_cast<std::size_t>(end - text_);
  }
  char text_[8192];  // more than the numbers of 1024 processors take
  std::size_t length_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
  bool has_any_ = false;
};

// Adds the processors that share something with one, as such a file has them; returns whether there is such a file on
// the machine: the siblings of a thread are those of its core, those of a core are the tile's.
bool find_siblings(std::string_view file, processor_list& to) noexcept {
  std::uint32_t number = 0;
  const auto [rest, failure] = std::from_chars(file.data(), file.data() + file.size(), number);
  if (failure != std::errc{} || number >= core_count()) return false;
  const std::string_view what = file.substr(static_cast<std::size_t>(rest - file.data()));
  const bool in_tile = what == "/topology/core_siblings_list";
  if (!in_tile && what != "/topology/thread_siblings_list") return false;
  each_beside(number, in_tile, [&](std::uint32_t each) { to.add(each); });
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
// The processors of the thread's tile: its new threads start there.
int pthread_getaffinity_np(pthread_t of, std::size_t bytes, cpu_set_t* set) noexcept {
  CPU_ZERO_S(bytes, set);
  std::uint32_t end = 0;  // one more than the last core
  const auto add = [&](std::uint32_t core) {
    CPU_SET_S(core, bytes, set);
    end = core + 1;
  };
  if (the_engine == nullptr) {
    each_before_main(tile_before_main, [&](std::uint32_t, std::uint32_t each) { add(each); });
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
  processor_list siblings;
  if (!find_siblings(file.substr(processor_files.size()), siblings)) {
    errno = ENOENT;
    return nullptr;
  }
  const std::string_view text = siblings.line();
  FILE* const made = fmemopen(nullptr, text.size() + 1, "w+");
  if (made == nullptr) return nullptr;
  if (std::fwrite(text.data(), 1, text.size(), made) == text.size() && std::fseek(made, 0, SEEK_SET) == 0) return made;
  std::fclose(made);
  return nullptr;
}
// Nothing else runs on the machine.
int getloadavg(double* loads, int count) noexcept {
  std::fill_n(loads, std::clamp(count, 0, 3), 0.0);
  return std::clamp(count, 0, 3);
}
}
