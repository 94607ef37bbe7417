// Fuzzers of graphs link no fabric: this stands for what they never call, the check of addresses at another place, and
// for the program's own code, of which a checked pool asks.
#include <situ/fabric/detail/function_id.h>
#include <situ/fabric/rma.h>

#include <cstdlib>

#include "graph/read_window.h"

namespace situ::detail {
const executable_code own_code{};
void check_access_slow(place_context&, access, std::uintptr_t, std::size_t) { std::abort(); }
void counted_reads::move_to(std::uintptr_t, std::uint64_t) { std::abort(); }
void counted_reads::count(std::uint64_t, std::uint64_t) noexcept { std::abort(); }
}  // namespace situ::detail
