#include <situ/base/error.h>
#include <situ/fabric/function_id.h>

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace situ::detail {
namespace {

constexpr std::uint64_t fnv_offset = 0xcbf29ce484222325;  // FNV-1a, 64 bits
constexpr std::uint64_t fnv_prime = 0x100000001b3;

std::uint64_t hash_bytes(const void* bytes, std::size_t count, std::uint64_t hash = fnv_offset) noexcept {
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * fnv_prime;
  return hash;
}

struct module {
  std::uintptr_t begin = 0;  // of the executable segment
  std::uintptr_t end = 0;
  std::uint64_t identity = 0;
};

// The GNU build id where the linker left one, else the module's code itself.
std::uint64_t identity_of(const dl_phdr_info& info, const module& code) noexcept {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr);
    const auto* const end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* name = at + sizeof(*note);
      const char* text = name + ((note->n_namesz + 3) & ~3U);
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) return hash_bytes(text, note->n_descsz);
      at = text + ((note->n_descsz + 3) & ~3U);
    }
  }
  return hash_bytes(reinterpret_cast<const void*>(code.begin), code.end - code.begin);
}

template <class Visit>  // Visit: bool(const dl_phdr_info&, const module&), true to stop
void for_each_module(Visit visit) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) -> int {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
          const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
          if ((*static_cast<Visit*>(data))(*info, module{begin, begin + header.p_memsz, 0})) return 1;
        }
        return 0;
      },
      &visit);
}

// 1 .. 65535; 0 is the executable.
std::uint64_t module_number(std::uint64_t identity) noexcept { return 1 + (identity ^ identity >> 32) % 65535; }

std::uint64_t find_code_offset() noexcept {
  std::uint64_t offset = 0;
  for_each_module([&](const dl_phdr_info&, const module& code) {  // the executable comes first
    offset = code.begin - reinterpret_cast<std::uintptr_t>(&__executable_start);
    return true;
  });
  return offset;
}

}  // namespace

const std::uint64_t executable_code_offset = find_code_offset();

function_id name_function_slow(const void* code) {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  function_id id = 0;
  for_each_module([&](const dl_phdr_info& info, const module& candidate) {
    if (address < candidate.begin || address >= candidate.end) return false;
    id = module_number(identity_of(info, candidate)) << 32 | (address - candidate.begin);
    return true;
  });
  if (id == 0) throw_error(errc::bad_argument, fmt::format("function at {} belongs to no loaded module, so no other place can find it", code));
  return id;
}

const void* find_function_slow(function_id id) noexcept {
  const std::uint64_t number = id >> 32;
  const void* code = nullptr;
  if (number == 0 || number > 65535) return nullptr;
  for_each_module([&](const dl_phdr_info& info, const module& candidate) {
    if (module_number(identity_of(info, candidate)) != number) return false;
    const std::uintptr_t address = candidate.begin + (id & UINT32_MAX);
    if (address < candidate.end) code = reinterpret_cast<const void*>(address);
    return true;
  });
  return code;
}

std::uint64_t executable_id() {
  std::uint64_t id = 0;
  for_each_module([&](const dl_phdr_info& info, const module& candidate) {  // the executable comes first
    id = identity_of(info, candidate);
    return true;
  });
  return id;
}

}  // namespace situ::detail
