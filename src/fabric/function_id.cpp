#include <situ/base/error_code.h>
#include <situ/fabric/detail/function_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "fabric/modules.h"

namespace situ::detail {
namespace {

constexpr std::uint64_t executable_number = 0;

// The executable comes first. If it has several executable ranges, the slow ways know the others.
const loaded_module& executable() { return loaded_modules().front(); }

executable_code find_own_code() {
  const loaded_module& own = executable();
  const auto [begin, end] = own.code.front();
  return {own.base, begin - own.base, std::min<std::uint64_t>(end - own.base, UINT32_MAX) - (begin - own.base)};
}

// Returns the module with this number, if it is loaded here, and only once; else null.
const loaded_module* find_module(std::uint64_t number) {
  if (number == executable_number) return &executable();
  const std::optional<std::uint64_t> identity = number < refused_number ? identity_of_number(number) : std::nullopt;
  if (!identity) return nullptr;
  const loaded_module* found = nullptr;
  for (const loaded_module& each : loaded_modules()) {
    if (each.identity != *identity) continue;
    if (found != nullptr) return nullptr;  // two copies have separate variables: the name is ambiguous
    found = &each;
  }
  return found;
}

}  // namespace

const executable_code own_code = find_own_code();

function_id name_function_slow(const void* code) {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  const std::vector<loaded_module>& modules = loaded_modules();
  for (const loaded_module& each : modules) {
    if (!each.holds(address)) continue;
    const std::uint64_t offset = address - each.base;
    if (offset > UINT32_MAX)
      throw_error(
          errc::not_supported,
          fmt::format(
              "function at {} lies more than 4 GiB behind the beginning of {}, so it has no name at other places", code,
              each.path));
    if (&each == &modules.front()) return executable_number << 32 | offset;
    const std::uint64_t number = name_module(each);
    return number << 32 | (number == refused_number ? each.identity & UINT32_MAX : offset);
  }
  throw_error(errc::bad_argument,
              fmt::format("function at {} belongs to no loaded module, so no other place can find it", code));
}

const void* find_function_slow(function_id id) {
  const loaded_module* const module = find_module(id >> 32);
  if (module == nullptr) return nullptr;
  const std::uintptr_t address = module->base + (id & UINT32_MAX);
  return module->holds(address) ? reinterpret_cast<const void*>(address) : nullptr;
}

std::uint64_t executable_id() { return executable().identity; }

}  // namespace situ::detail
