// The functions that gcc's -fsanitize=thread and -fsanitize-coverage=trace-pc call before each access and in each basic
// block.
#include <cstddef>
#include <cstdint>

#include "model/execution/engine.h"

namespace situ::model {
namespace {

[[gnu::noinline]] void slow_access(const void* at, std::size_t bytes, bool writes, void* code) {
  if (running == &nobody) return;
  the_engine->access(reinterpret_cast<std::uintptr_t>(at), bytes, writes ? access_kind::write : access_kind::read,
                     reinterpret_cast<std::uintptr_t>(code));
}
[[gnu::noinline]] void give_turn() { the_engine->end_quantum(); }

// Handles an access to a line whose slot in last_touch is kept in order.
[[gnu::noinline]] void access_in_order(const void* at, std::size_t bytes, bool writes, void* code) {
  const core& c = *running;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const bool hits = c.hits_front(address >> c.line_shift, writes) && c.is_in_page(address) && !watched.holds(address);
  if (!hits || !the_engine->hit(address, writes)) return slow_access(at, bytes, writes, code);
  if (running->clock > running->quantum_end) give_turn();
}

// Handles what in_line() does not.
[[gnu::noinline]] void slow_in_line(const void* at, std::size_t bytes, bool writes, void* code) {
  const core& c = *running;
  if (&c == &nobody) return;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (last_touch_of(address >> c.line_shift) == in_order) [[unlikely]]
    return access_in_order(at, bytes, writes, code);
  the_engine->access(address, bytes, writes ? access_kind::write : access_kind::read,
                     reinterpret_cast<std::uintptr_t>(code));
}

// Handles an access within one line: its address is aligned, or was checked.
template <bool Writes>
[[gnu::always_inline]] inline void in_line(const void* at, std::size_t bytes) {
  core& c = *running;
  const std::uintptr_t line = reinterpret_cast<std::uintptr_t>(at) >> c.line_shift;
  time_ps& touch = last_touch_of(line);
  if (!c.hits_front(line, Writes) || !c.is_in_page(reinterpret_cast<std::uintptr_t>(at)) || touch == in_order)
      [[unlikely]]
    return slow_in_line(at, bytes, Writes, __builtin_return_address(0));
  ++c.hits[Writes ? 1 : 0];
  c.clock += c.hit_ps;
  touch = c.clock;
  if (c.clock > c.quantum_end) [[unlikely]]
    give_turn();
}

template <bool Writes>
[[gnu::always_inline]] inline void anywhere(const void* at, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(at);
  if (((first ^ (first + bytes - 1)) >> running->line_shift) != 0) [[unlikely]]
    return slow_access(at, bytes, Writes, __builtin_return_address(0));
  in_line<Writes>(at, bytes);
}

template <access_kind Kind = access_kind::atomic, class Word>
[[gnu::always_inline]] inline void atomically(const volatile Word* at) {
  if (running != &nobody)
    the_engine->access(reinterpret_cast<std::uintptr_t>(at), sizeof(Word), Kind,
                       reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}

// Handles the first visit of a core's kind to the block, and code outside the program's own file.
[[gnu::noinline]] void slow_block(std::uintptr_t code) {
  if (running != &nobody) the_engine->begin_new_block(code);
}

[[gnu::noinline]] void fetch(fetched_lines lines, std::uintptr_t code) { the_engine->fetch(lines, code); }

// Begins a block. A block in the lines of the previous one, such as a loop of one block, needs no lookup of its lines.
[[gnu::always_inline]] inline void begin_block(std::uintptr_t code) {
  core& c = *running;
  const std::uintptr_t at = code - reinterpret_cast<std::uintptr_t>(&__executable_start);
  if (at >= c.text_bytes || !c.block_costs[at].is_known()) [[unlikely]]
    return slow_block(code);
  const block_cost& cost = c.block_costs[at];
  c.add_block(cost);
  if (cost.lines != c.fetched) fetch(cost.lines, code);
}

}  // namespace
}  // namespace situ::model

using situ::model::anywhere;
using situ::model::atomically;
using situ::model::in_line;

// block_costs.cpp recognises calls of hooks by the hooks' sections: the compiler's set-up of a call differs by hook.
#define SITU_ACCESS_HOOK [[gnu::section("situ_hooks_access")]]  // takes an address
#define SITU_ATOMIC_HOOK [[gnu::section("situ_hooks_atomic")]]  // replaces the atomic's instruction
#define SITU_PLAIN_HOOK [[gnu::section("situ_hooks_plain")]]    // takes no argument

// NOLINTBEGIN: the compiler's names
#define SITU_HOOKS(n)                                                                         \
  SITU_ACCESS_HOOK void __tsan_read##n(void* p) { in_line<false>(p, n); }                     \
  SITU_ACCESS_HOOK void __tsan_write##n(void* p) { in_line<true>(p, n); }                     \
  SITU_ACCESS_HOOK void __tsan_unaligned_read##n(void* p) { anywhere<false>(p, n); }          \
  SITU_ACCESS_HOOK void __tsan_unaligned_write##n(void* p) { anywhere<true>(p, n); }          \
  SITU_ACCESS_HOOK void __tsan_volatile_read##n(void* p) { anywhere<false>(p, n); }           \
  SITU_ACCESS_HOOK void __tsan_volatile_write##n(void* p) { anywhere<true>(p, n); }           \
  SITU_ACCESS_HOOK void __tsan_unaligned_volatile_read##n(void* p) { anywhere<false>(p, n); } \
  SITU_ACCESS_HOOK void __tsan_unaligned_volatile_write##n(void* p) { anywhere<true>(p, n); }

#define SITU_ATOMIC_CHANGE(bits, Word, name, expression)                              \
  SITU_ATOMIC_HOOK Word __tsan_atomic##bits##_##name(volatile Word* p, Word v, int) { \
    atomically(p);                                                                    \
    const Word old = *p;                                                              \
    *p = static_cast<Word>(expression);                                               \
    return old;                                                                       \
  }
#define SITU_ATOMICS(bits, Word)                                                                                       \
  SITU_ATOMIC_HOOK Word __tsan_atomic##bits##_load(const volatile Word* p, int) {                                      \
    atomically<situ::model::access_kind::atomic_read>(p);                                                              \
    return *p;                                                                                                         \
  }                                                                                                                    \
  SITU_ATOMIC_HOOK void __tsan_atomic##bits##_store(volatile Word* p, Word v, int) {                                   \
    atomically<situ::model::access_kind::atomic_write>(p);                                                             \
    *p = v;                                                                                                            \
  }                                                                                                                    \
  SITU_ATOMIC_CHANGE(bits, Word, exchange, v)                                                                          \
  SITU_ATOMIC_CHANGE(bits, Word, fetch_add, old + v)                                                                   \
  SITU_ATOMIC_CHANGE(bits, Word, fetch_sub, old - v)                                                                   \
  SITU_ATOMIC_CHANGE(bits, Word, fetch_and, old& v)                                                                    \
  SITU_ATOMIC_CHANGE(bits, Word, fetch_or, old | v)                                                                    \
  SITU_ATOMIC_CHANGE(bits, Word, fetch_xor, old ^ v)                                                                   \
  SITU_ATOMIC_CHANGE(bits, Word, fetch_nand, ~(old & v))                                                               \
  SITU_ATOMIC_HOOK bool __tsan_atomic##bits##_compare_exchange_strong(volatile Word* p, Word* e, Word v, int, int) {   \
    atomically(p);                                                                                                     \
    if (*p == *e) {                                                                                                    \
      *p = v;                                                                                                          \
      return true;                                                                                                     \
    }                                                                                                                  \
    *e = *p;                                                                                                           \
    return false;                                                                                                      \
  }                                                                                                                    \
  SITU_ATOMIC_HOOK bool __tsan_atomic##bits##_compare_exchange_weak(volatile Word* p, Word* e, Word v, int a, int b) { \
    return __tsan_atomic##bits##_compare_exchange_strong(p, e, v, a, b);                                               \
  }

extern "C" {
SITU_PLAIN_HOOK void __tsan_init() {}
SITU_PLAIN_HOOK void __tsan_func_entry(void*) {}
SITU_PLAIN_HOOK void __tsan_func_exit() {}
SITU_ACCESS_HOOK void __tsan_vptr_update(void** p, void*) { in_line<true>(p, 8); }
SITU_ACCESS_HOOK void __tsan_vptr_read(void** p) { in_line<false>(p, 8); }
SITU_ACCESS_HOOK void __tsan_read_range(void* p, std::size_t bytes) { anywhere<false>(p, bytes); }
SITU_ACCESS_HOOK void __tsan_write_range(void* p, std::size_t bytes) { anywhere<true>(p, bytes); }
SITU_HOOKS(1)
SITU_HOOKS(2)
SITU_HOOKS(4)
SITU_HOOKS(8)
SITU_HOOKS(16)
SITU_ATOMICS(8, std::uint8_t)
SITU_ATOMICS(16, std::uint16_t)
SITU_ATOMICS(32, std::uint32_t)
SITU_ATOMICS(64, std::uint64_t)
SITU_ATOMICS(128, unsigned __int128)
SITU_PLAIN_HOOK void __tsan_atomic_thread_fence(int) {}
SITU_PLAIN_HOOK void __tsan_atomic_signal_fence(int) {}

SITU_PLAIN_HOOK void __sanitizer_cov_trace_pc() {
  situ::model::begin_block(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}
}
// NOLINTEND
