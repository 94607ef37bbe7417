#include "model/execution/stacks.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/start.h"
#include "os/signals.h"

namespace situ::model {
namespace {

struct symbol {
  std::uintptr_t begin;
  std::uintptr_t end;
  const char* name;
};

// Reads the symbols of a type of the program's own symbol table. The program is not position-independent, so they have
// the addresses in its file.
std::vector<symbol> read_symbols(unsigned type) {
  std::vector<symbol> found;
  const long file = host_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return found;
  struct stat status{};
  host_call(SYS_fstat, file, reinterpret_cast<long>(&status));
  const long at = host_call(SYS_mmap, 0, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  host_call(SYS_close, file);
  if (at < 0 && at > -4096) return found;
  const auto* const bytes = reinterpret_cast<const char*>(at);
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(bytes);
  const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(bytes + header.e_shoff);
  for (int i = 0; i < header.e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* const symbols = reinterpret_cast<const Elf64_Sym*>(bytes + sections[i].sh_offset);
    const char* const names = bytes + sections[sections[i].sh_link].sh_offset;
    for (std::size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s)
      if (ELF64_ST_TYPE(symbols[s].st_info) == type && symbols[s].st_size != 0)
        found.push_back({symbols[s].st_value, symbols[s].st_value + symbols[s].st_size, names + symbols[s].st_name});
  }
  std::sort(found.begin(), found.end(), [](const symbol& a, const symbol& b) { return a.begin < b.begin; });
  return found;
}

const std::vector<symbol>& functions() {
  static const auto* const all = new std::vector<symbol>{read_symbols(STT_FUNC)};
  return *all;
}

const std::vector<symbol>& variables() {
  static const auto* const all = new std::vector<symbol>{read_symbols(STT_OBJECT)};
  return *all;
}

const symbol* find_in(const std::vector<symbol>& all, std::uintptr_t address) {
  const auto after = std::ranges::upper_bound(all, address, {}, &symbol::begin);
  return after == all.begin() || address >= std::prev(after)->end ? nullptr : &*std::prev(after);
}

const symbol* find_function(std::uintptr_t address) { return find_in(functions(), address); }

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text{abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free};
  return status == 0 ? text.get() : name;
}

bool is_executors(const std::string& name) {
  return name.starts_with("situ::model::") || name.starts_with("__wrap_") || name.starts_with("situ_model_");
}

struct walk {
  int skip;
  int shown = 0;
};

constexpr int most_frames = 30;

_Unwind_Reason_Code show_frame(_Unwind_Context* frame, void* given) {
  walk& here = *static_cast<walk*>(given);
  int before = 0;
  const std::uintptr_t address = _Unwind_GetIPInfo(frame, &before);
  if (address == 0 || here.shown >= most_frames) return _URC_END_OF_STACK;
  if (here.skip-- > 0) return _URC_NO_REASON;
  const std::string name = name_of_code(before != 0 ? address : address - 1);
  if (is_executors(name)) return _URC_NO_REASON;
  ++here.shown;
  say(fmt::format("    {}\n", name).c_str());
  return _URC_NO_REASON;
}

std::string place_of(const thread& t) { return t.place < 0 ? "" : fmt::format(" of place {}", t.place); }

constexpr int fatal_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

void on_crash(int signal, siginfo_t* info, void*) {
  core* const on = running;
  running = &nobody;
  for (const int each : fatal_signals) os::reset_signal(each);
  if (on != &nobody) {
    const thread& t = the_engine->self();
    say(fmt::format("situ model: {} (address {}) in thread {}{}, on core {} of tile {}, at {} ns of modelled time\n",
                    ::sigdescr_np(signal), info->si_addr, t.index, place_of(t), on->index, on->tile, on->clock / 1000)
            .c_str());
    print_stack(2);
    print_mistakes();  // the errors may be the cause
  } else {
    say("situ model: a fault outside modelled time\n");
    print_stack(2);
  }
  ::raise(signal);
}

}  // namespace

std::string name_of_code(std::uintptr_t address) {
  const symbol* const found = find_function(address);
  if (found == nullptr) return fmt::format("{:#x}", address);
  return fmt::format("{} +{:#x}", demangled(found->name), address - found->begin);
}

std::string function_name(std::uintptr_t address) {
  const symbol* const found = find_function(address);
  return found == nullptr ? fmt::format("{:#x}", address) : demangled(found->name);
}

code_range function_around(std::uintptr_t address) {
  const symbol* const found = find_function(address);
  return found == nullptr ? code_range{} : code_range{found->begin, found->end};
}

named_range variable_around(std::uintptr_t address) {
  const symbol* const found = find_in(variables(), address);
  return found == nullptr ? named_range{}
                          : named_range{.name = demangled(found->name), .begin = found->begin, .end = found->end};
}

void print_thread(const thread& t) {
  say(fmt::format("  thread {}{}, core {} of tile {}, at {} ns: {}\n", t.index, place_of(t), t.on->index, t.on->tile,
                  t.on->clock / 1000,
                  t.state == thread_state::sleeping ? fmt::format("waits for {}", t.waits_for) : "ready")
          .c_str());
}

void print_stack(int skip) {
  walk here{skip};
  _Unwind_Backtrace(&show_frame, &here);
}

void install_crash_handler() {
  constexpr std::size_t bytes = std::size_t{256} << 10;
  stack_t stack{};
  stack.ss_sp = fixed_pages(bytes, true);
  stack.ss_size = bytes;
  ::sigaltstack(&stack, nullptr);
  for (const int each : fatal_signals) os::handle_signal(each, &on_crash, SA_ONSTACK | SA_NODEFER);
  (void)functions();  // reads the symbols now, before a fault
}

}  // namespace situ::model
