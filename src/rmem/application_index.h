// The number by which a server knows an application: its index among the server's keys.
#pragma once

#include <cstdint>

namespace situ::rmem::detail {

using application_index = std::uint32_t;
inline constexpr application_index any_application = ~0U;

}  // namespace situ::rmem::detail
