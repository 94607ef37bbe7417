#include "model/execution/imported_calls.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "model/execution/engine.h"
#include "model/execution/host_calls.h"

namespace situ::model {
namespace {

constexpr std::size_t shown_by_calls = 8;
constexpr double shown_percent = 5;
constexpr std::size_t page = 4096;

struct import {
  const char* name = nullptr;
  std::uint64_t calls = 0;
  std::uint64_t samples = 0;
};

// Never destroyed, and never moved once stubs count in them.
std::vector<import>& imports = *new std::vector<import>;
constinit std::uint32_t last_called = ~std::uint32_t{0};
std::uintptr_t stubs_begin = 0;
std::uintptr_t stubs_end = 0;

// The functions over memory of memory_calls.cpp, and C++'s allocation functions.
bool has_price(std::string_view name) {
  for (const char* const wrapped : {"memcpy", "memmove", "memset", "memcmp", "strlen"})
    if (name == wrapped) return true;
  for (const char* const allocation : {"_Znw", "_Zna", "_Zdl", "_Zda"})
    if (name.starts_with(allocation)) return true;
  return false;
}

// The parts of the program's dynamic section that are used here.
struct dynamic_section {
  const char* names = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const ElfW(Rela) * calls = nullptr;  // relocations of the table of called functions
  std::size_t call_bytes = 0;
  const ElfW(Rela) * others = nullptr;
  std::size_t other_bytes = 0;
};

dynamic_section read_dynamic_section() {
  dynamic_section made;
  for (const ElfW(Dyn)* each = _DYNAMIC; each->d_tag != DT_NULL; ++each) switch (each->d_tag) {
      case DT_STRTAB: made.names = reinterpret_cast<const char*>(each->d_un.d_ptr); break;
      case DT_SYMTAB: made.symbols = reinterpret_cast<const ElfW(Sym)*>(each->d_un.d_ptr); break;
      case DT_JMPREL: made.calls = reinterpret_cast<const ElfW(Rela)*>(each->d_un.d_ptr); break;
      case DT_PLTRELSZ: made.call_bytes = each->d_un.d_val; break;
      case DT_RELA: made.others = reinterpret_cast<const ElfW(Rela)*>(each->d_un.d_ptr); break;
      case DT_RELASZ: made.other_bytes = each->d_un.d_val; break;
      default: break;
    }
  return made;
}

struct entry {
  std::uintptr_t* at = nullptr;
  std::uint32_t import = 0;
};

// Adds the entries of one list of relocations that hold the address of a library's function.
void add_entries(std::vector<entry>& to, const dynamic_section& from, const ElfW(Rela) * first, std::size_t bytes) {
  for (const ElfW(Rela)* each = first; each != nullptr && each != first + bytes / sizeof *first; ++each) {
    const auto kind = ELF64_R_TYPE(each->r_info);
    const ElfW(Sym)& symbol = from.symbols[ELF64_R_SYM(each->r_info)];
    const bool is_call = kind == R_X86_64_JUMP_SLOT;
    const bool is_address = kind == R_X86_64_GLOB_DAT && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    if ((!is_call && !is_address) || symbol.st_shndx != SHN_UNDEF) continue;
    const char* const name = from.names + symbol.st_name;
    auto* const at = reinterpret_cast<std::uintptr_t*>(each->r_offset);
    const bool is_own =
        *at >= reinterpret_cast<std::uintptr_t>(&__executable_start) && *at < reinterpret_cast<std::uintptr_t>(&etext);
    if (*at == 0 || is_own || has_price(name)) continue;  // without a definition, or not yet bound
    to.push_back({at, static_cast<std::uint32_t>(imports.size())});
    imports.push_back({.name = name});
  }
}

// Writes machine code.
class code_writer {
 public:
  explicit code_writer(unsigned char* at) : at_{at} {}
  void bytes(std::initializer_list<unsigned char> code) { at_ = std::copy(code.begin(), code.end(), at_); }
  void number(std::uint32_t value) { at_ = std::copy_n(reinterpret_cast<const unsigned char*>(&value), 4, at_); }
  void load(const void* value) {  // mov r11, value
    bytes({0x49, 0xbb});
    at_ = std::copy_n(reinterpret_cast<const unsigned char*>(&value), 8, at_);
  }

 private:
  unsigned char* at_;
};

constexpr std::size_t stub_bytes = 96;

// r11 and the flags are free at a call: the dynamic linker's own stubs change them, too.
void write_stub(unsigned char* at, std::uint32_t index, std::uintptr_t target) {
  code_writer code{at};
  code.bytes({0xf3, 0x0f, 0x1e, 0xfa});  // endbr64
  code.load(&running);
  code.bytes({0x4d, 0x8b, 0x1b});  // mov r11, [r11]
  code.bytes({0x49, 0x81, 0xfb});  // cmp r11, &nobody: the program's file is in the lowest 2 GiB
  code.number(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&nobody)));
  code.bytes({0x74, 10 + 3 + 10 + 7});  // je behind the counting
  code.load(&imports[index].calls);
  code.bytes({0x49, 0xff, 0x03});  // inc qword [r11]
  code.load(&last_called);
  code.bytes({0x41, 0xc7, 0x03});  // mov dword [r11], index
  code.number(index);
  code.load(reinterpret_cast<const void*>(target));
  code.bytes({0x41, 0xff, 0xe3});  // jmp r11
}
static_assert(4 + 10 + 3 + 7 + 2 + 10 + 3 + 10 + 7 + 10 + 3 <= stub_bytes);

// The table is read-only after the dynamic linker has filled it.
bool make_writable(const std::vector<entry>& entries) {
  std::uintptr_t first = ~std::uintptr_t{0}, last = 0;
  for (const entry& each : entries) {
    first = std::min(first, reinterpret_cast<std::uintptr_t>(each.at));
    last = std::max(last, reinterpret_cast<std::uintptr_t>(each.at));
  }
  first &= ~(page - 1);
  return host_call(SYS_mprotect, static_cast<long>(first), static_cast<long>(last + sizeof(void*) - first),
                   PROT_READ | PROT_WRITE) == 0;
}

std::string readable(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> made{abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free};
  return made != nullptr ? made.get() : name;
}

struct shown_imports {
  std::vector<import> shown;  // most calls first
  std::size_t other_functions = 0;
import others;
};

double percent_of(const import& of, std::uint64_t samples) {
  return samples == 0 ? 0 : 100.0 * static_cast<double>(of.samples) / static_cast<double>(samples);
}

shown_imports choose(std::uint64_t samples) {
  std::vector<import> called;
  std::ranges::copy_if(imports, std::back_inserter(called), [](const import& each) { return each.calls != 0; });
  std::ranges::stable_sort(called, std::greater<>{}, &import::calls);
  shown_imports made;
  for (const import& each : called) {
    if (made.shown.size() < shown_by_calls || percent_of(each, samples) >= shown_percent) {
      made.shown.push_back(each);
      continue;
    }
    ++made.other_functions;
    made.others.calls += each.calls;
    made.others.samples += each.samples;
  }
  return made;
}

}  // namespace

void count_imported_calls() {
  const dynamic_section from = read_dynamic_section();
  if (from.names == nullptr || from.symbols == nullptr) return;
  std::vector<entry> entries;
  add_entries(entries, from, from.calls, from.call_bytes);
  add_entries(entries, from, from.others, from.other_bytes);
  if (entries.empty()) return;
  const std::size_t bytes = (entries.size() * stub_bytes + page - 1) & ~(page - 1);
  // Anywhere: pages at a fixed address would move the program's own.
  const long got =
      host_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got < 0 && got > -4096) give_up("the host has no memory for the stubs of imported functions");
  auto* const stubs = reinterpret_cast<unsigned char*>(got);
  for (std::size_t i = 0; i < entries.size(); ++i)
    write_stub(stubs + i * stub_bytes, entries[i].import, *entries[i].at);
  if (host_call(SYS_mprotect, got, static_cast<long>(bytes), PROT_READ | PROT_EXEC) != 0 || !make_writable(entries))
    give_up("the host does not let calls of imported functions be counted (mprotect)");
  for (std::size_t i = 0; i < entries.size(); ++i)
    *entries[i].at = reinterpret_cast<std::uintptr_t>(stubs + i * stub_bytes);
  stubs_begin = reinterpret_cast<std::uintptr_t>(stubs);
  stubs_end = stubs_begin + bytes;
}

void note_imported_sample() noexcept {
  if (last_called < imports.size()) ++imports[last_called].samples;
}

bool is_import_stub(std::uintptr_t code) noexcept { return code >= stubs_begin && code < stubs_end; }

std::string imported_text(std::uint64_t samples) {
  const shown_imports all = choose(samples);
  if (all.shown.empty()) return "";
  std::string text = fmt::format("\n{:>12}  {:>11}  imported function, without hooks: takes no modelled time\n",
                                 "calls", "host time %");
  const auto add = [&](const import& of, const std::string& name) {
    const std::string share = samples == 0 ? "?" : fmt::format("{:.0f}", percent_of(of, samples));
    fmt::format_to(std::back_inserter(text), "{:>12}  {:>11}  {}\n", of.calls, share, name);
  };
  for (const import& each : all.shown) add(each, readable(each.name));
  if (all.other_functions != 0) add(all.others, fmt::format("of {} others", all.other_functions));
  return text;
}

std::string imported_json(std::uint64_t samples) {
  const shown_imports all = choose(samples);
  nlohmann::ordered_json functions = nlohmann::ordered_json::array();
  for (const import& each : all.shown)
    functions.push_back(
        {{"function", readable(each.name)}, {"calls", each.calls}, {"percent", percent_of(each, samples)}});
  return nlohmann::ordered_json{
      {"samples", samples},
      {"functions", std::move(functions)},
      {"others",
       {{"functions", all.other_functions}, {"calls", all.others.calls}, {"percent", percent_of(all.others, samples)}}}}
      .dump();
}

}  // namespace situ::model
