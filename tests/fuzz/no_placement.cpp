// The fuzzer allocates without an intent: what would look for the machine's memories stays out of it.
#include "memory/intent_arenas.h"

#include <cstdlib>

namespace situ {
namespace detail {

const machine::orderings& orderings_here() { std::abort(); }
unsigned intent_arenas::arena_for(const intent&, bool, heap&) { std::abort(); }
bool intent_arenas::place(unsigned, std::byte*, std::size_t, huge_page_maker&) noexcept { std::abort(); }
void intent_arenas::unplace(std::byte*, std::size_t) noexcept { std::abort(); }
bool intent_arenas::freed(std::byte*) noexcept { std::abort(); }
placement_report intent_arenas::move(unsigned, std::byte*, std::size_t) { std::abort(); }
const placement_calls& system_placement_calls() noexcept { std::abort(); }
std::string format_fills(const placement_report&) { std::abort(); }

}  // namespace detail

std::string machine::to_text(const memory_order&) { std::abort(); }

}  // namespace situ
