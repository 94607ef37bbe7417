#include "fabric/modules.h"

#include <situ/base/error_code.h>
#include <situ/memory/detail/place_context.h>

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>

#include "memory/job.h"
#include "os/host.h"

namespace situ::detail {
namespace {

constexpr std::uint64_t fnv_offset = 0xcbf29ce484222325;  // FNV-1a, 64 bits
constexpr std::uint64_t fnv_prime = 0x100000001b3;

// Also hashes whole segments, in which AddressSanitizer has poisoned the bytes between constants.
[[gnu::no_sanitize("address")]] std::uint64_t hash_bytes(const void* bytes, std::size_t count,
                                                         std::uint64_t hash = fnv_offset) noexcept {
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * fnv_prime;
  return hash;
}

// --- Loaded modules --------------------------------------------------------------------------------------------------

std::uint64_t hash_of_build_id(const char* at, const char* end) noexcept {
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    const auto* const note = reinterpret_cast<const ElfW(Nhdr)*>(at);
    const char* const name = at + sizeof(*note);
    const char* const text = name + ((note->n_namesz + 3) & ~3U);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      return hash_bytes(text, note->n_descsz);
    at = text + ((note->n_descsz + 3) & ~3U);
  }
  return 0;
}

// Returns a hash of the GNU build id if the linker left one, else of the module's code and constants. Never 0.
std::uint64_t identity_of(const dl_phdr_info& info) noexcept {
  std::uint64_t contents = fnv_offset;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    const auto* const begin = reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr);
    if (header.p_type != PT_NOTE) continue;
    if (const std::uint64_t found = hash_of_build_id(begin, begin + header.p_memsz)) return found;
  }
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0 || (header.p_flags & PF_R) == 0) continue;
    contents = hash_bytes(reinterpret_cast<const void*>(info.dlpi_addr + header.p_vaddr), header.p_memsz, contents);
  }
  return std::max<std::uint64_t>(contents, 1);
}

struct snapshot {
  unsigned long long loads = 0;  // the loader's counters at the time of the snapshot
  unsigned long long unloads = 0;
  bool is_complete = false;
  std::vector<loaded_module> modules;
};

int take_in(dl_phdr_info* info, std::size_t, void* data) {
  snapshot& here = *static_cast<snapshot*>(data);
  if (here.loads != info->dlpi_adds || here.unloads != info->dlpi_subs) {
    here = {.loads = info->dlpi_adds, .unloads = info->dlpi_subs, .is_complete = false, .modules = {}};
  } else if (here.is_complete) {
    return 1;  // nothing has changed since
  }
  std::uintptr_t lowest = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD) lowest = std::min<std::uintptr_t>(lowest, info->dlpi_phdr[i].p_vaddr);
  loaded_module made{.base = info->dlpi_addr + lowest,
                     .identity = identity_of(*info),
                     .path = info->dlpi_name != nullptr ? info->dlpi_name : ""};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    made.code.emplace_back(info->dlpi_addr + header.p_vaddr, info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  here.modules.push_back(std::move(made));
  return 0;
}

// --- Named modules ---------------------------------------------------------------------------------------------------

// Code is named before main, so this is made at its first use, and never destroyed: static destructors may name code.
struct registry {
  struct named {
    std::uint64_t identity;
    std::string path;
  };
  std::mutex mutex;
  std::vector<named> modules;
  std::vector<job_control*> jobs;  // once for each runtime of this process
};
registry& all() {
  static registry& made = *new registry;
  return made;
}

// The name without folders: a place's reason has little room.
std::string_view file_name(std::string_view path) noexcept { return path.substr(path.rfind('/') + 1); }

std::string shown(std::string_view path, std::uint64_t identity) {
  return fmt::format("{} (identity {:016x})", file_name(path), identity);
}

std::string shown(const module_entry& entry) {
  // Its name follows the claim within a few instructions, unless the place is descheduled, or lost.
  for (int looks = 0; looks < 1000 && entry.is_named.load(std::memory_order_acquire) == 0; ++looks) give_way();
  return shown(entry.is_named.load(std::memory_order_acquire) != 0 ? std::string_view{entry.name} : "a module",
               entry.identity.load());
}

void write_name(module_entry& entry, std::string_view path) noexcept {
  const std::string_view name = file_name(path);
  const std::size_t length = std::min(name.size(), sizeof entry.name - 1);
  std::memcpy(entry.name, name.data(), length);
  entry.name[length] = '\0';
  entry.is_named.store(1, std::memory_order_release);
}

// Returns the first entry with this number, or null.
module_entry* find_number(job_control& control, std::uint64_t number) noexcept {
  for (module_entry& each : control.modules.words().entries) {
    const std::uint64_t identity = each.identity.load(std::memory_order_acquire);
    if (identity == 0) return nullptr;
    if (module_number(identity) == number) return &each;
  }
  return nullptr;
}

// Ensures that the module is in the table. Returns the entry that has the module's number, its own unless it is
// refused; null if the table is full.
module_entry* claim(job_control& control, std::uint64_t identity, std::string_view path) noexcept {
  for (module_entry& each : control.modules.words().entries) {
    std::uint64_t present = each.identity.load(std::memory_order_acquire);
    const bool made =
        present == 0 && each.identity.compare_exchange_strong(present, identity, std::memory_order_acq_rel);
    if (made) write_name(each, path);
    if (made || present == identity) return find_number(control, module_number(identity));
  }
  return nullptr;
}

bool has_its_number(job_control& control, std::uint64_t identity, std::string_view path) noexcept {
  const module_entry* const holder = claim(control, identity, path);
  return holder != nullptr && holder->identity.load() == identity;
}

// Returns the entry of the refused module that a name with refused_number stands for, or null.
module_entry* find_refused(job_control& control, std::uint64_t function) noexcept {
  for (module_entry& each : control.modules.words().entries) {
    const std::uint64_t identity = each.identity.load(std::memory_order_acquire);
    if (identity == 0) return nullptr;
    if ((identity & UINT32_MAX) == (function & UINT32_MAX) && find_number(control, module_number(identity)) != &each)
      return &each;
  }
  return nullptr;
}

std::string describe_clash(const std::string& one, const std::string& other) {
  return fmt::format(
      "two modules have the same number in the names of functions (a hash): {} and {}; load only one, or link one with "
      "another build id "
      "(-Wl,--build-id=0x and any digits)",
      one, other);
}

}  // namespace

bool loaded_module::holds(std::uintptr_t address) const noexcept {
  return std::any_of(code.begin(), code.end(),
                     [address](const auto& range) { return range.first <= address && address < range.second; });
}

const std::vector<loaded_module>& loaded_modules() {
  static thread_local snapshot here;
  dl_iterate_phdr(&take_in, &here);
  here.is_complete = true;
  return here.modules;
}

std::uint64_t module_number(std::uint64_t identity) noexcept {
  return 1 + (identity ^ identity >> 32) % (refused_number - 1);
}

std::uint64_t name_module(const loaded_module& module) {
  registry& here = all();
  const std::lock_guard lock{here.mutex};
  bool good = true;
  if (std::none_of(here.modules.begin(), here.modules.end(),
                   [&](const registry::named& each) { return each.identity == module.identity; }))
    here.modules.push_back({module.identity, module.path});
  for (job_control* const each : here.jobs) good &= has_its_number(*each, module.identity, module.path);
  return good ? module_number(module.identity) : refused_number;
}

std::optional<std::uint64_t> identity_of_number(std::uint64_t number) {
  if (current->job != nullptr) {
    const module_entry* const found = find_number(*current->job, number);
    return found != nullptr ? std::optional{found->identity.load()} : std::nullopt;
  }
  registry& here = all();
  const std::lock_guard lock{here.mutex};
  for (const registry::named& each : here.modules)
    if (module_number(each.identity) == number) return each.identity;
  return std::nullopt;
}

void announce_modules(job_control& control) {
  const std::vector<loaded_module>& loaded = loaded_modules();
  registry& here = all();
  const std::lock_guard lock{here.mutex};
  std::erase_if(here.modules, [&](const registry::named& each) {
    return std::none_of(loaded.begin(), loaded.end(),
                        [&](const loaded_module& now) { return now.identity == each.identity; });
  });
  for (const registry::named& each : here.modules) {
    const module_entry* const holder = claim(control, each.identity, each.path);
    if (holder == nullptr)
      throw_error(errc::not_supported,
                  fmt::format("functions of more than {} modules are named in this job; {} is one too many",
                              named_modules::most, file_name(each.path)));
    if (holder->identity.load() != each.identity)
      throw_error(errc::version_mismatch, describe_clash(shown(each.path, each.identity), shown(*holder)));
  }
  here.jobs.push_back(&control);
}

void forget_job(job_control& control) noexcept {
  registry& here = all();
  const std::lock_guard lock{here.mutex};
  if (const auto found = std::find(here.jobs.begin(), here.jobs.end(), &control); found != here.jobs.end())
    here.jobs.erase(found);
}

std::string describe_missing_function(std::uint64_t function) {
  job_control& control = *current->job;
  const std::uint64_t number = function >> 32;
  if (number == refused_number) {
    module_entry* const refused = find_refused(control, function);
    if (refused == nullptr)
      return fmt::format("a function of a module beyond the {} whose functions a job can name", named_modules::most);
    return describe_clash(shown(*refused), shown(*find_number(control, module_number(refused->identity.load()))));
  }
  const module_entry* const entry = find_number(control, number);
  if (entry == nullptr)
    return fmt::format("a call names function {:#x}, which this executable does not have", function);
  const std::uint64_t offset = function & UINT32_MAX;
  const std::vector<loaded_module>& loaded = loaded_modules();
  const auto copies = std::count_if(loaded.begin(), loaded.end(),
                                    [&](const loaded_module& each) { return each.identity == entry->identity.load(); });
  if (copies == 0)
    return fmt::format(
        "place {} does not have {}, which holds the function at {:#x} that is called; load it at every place before",
        current->place, shown(*entry), offset);
  if (copies > 1)
    return fmt::format("place {} has {} more than once, so its function at {:#x} is not unique; load one copy",
                       current->place, shown(*entry), offset);
  return fmt::format("{} holds no code at {:#x}", shown(*entry), offset);
}

bool is_known_to_job(std::uint64_t function) noexcept {
  const std::uint64_t number = function >> 32;
  if (number == 0 || number > refused_number) return false;
  return number == refused_number ? find_refused(*current->job, function) != nullptr
                                  : find_number(*current->job, number) != nullptr;
}

}  // namespace situ::detail
