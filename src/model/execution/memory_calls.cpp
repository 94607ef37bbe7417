// Functions of the C library over ranges of memory: the linker redirects the program's calls to these (--wrap), and
// each touches its ranges in pieces of 16 bytes. Calls from within the library itself are not seen.
#include "model/execution/memory_calls.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/execution/engine.h"

namespace situ::model {
namespace {

constexpr std::size_t piece_bytes = 16;  // size of a vector register, as in the compiler's own copies

// Touches pieces of one line that misses the front, or is kept in order: the front may have the line after the first
// piece, or never.
[[gnu::noinline]] void touch_pieces(std::uintptr_t at, std::uintptr_t end, bool writes) {
  for (std::size_t bytes = 0; at < end; at += bytes) {
    bytes = std::min(piece_bytes, end - at);
    core& c = *running;
    const std::uintptr_t line = at >> c.line_shift;
    const bool hits = c.hits_own_front(line, writes) && !watched.holds(at);
    if (hits && last_touch_of(line) != in_order) {
      ++c.hits[writes ? 1 : 0];
      c.clock += c.hit_ps;
      last_touch_of(line) = c.clock;
      the_engine->note_hit(at, bytes, writes);
    } else if (!hits || !the_engine->hit(at, writes, bytes)) {
      the_engine->access(at, bytes, writes ? access_kind::write : access_kind::read);
    }
  }
}

[[gnu::always_inline]] inline void touch(const void* range, std::size_t bytes, bool writes) {
  auto at = reinterpret_cast<std::uintptr_t>(range);
  for (const std::uintptr_t end = at + bytes; at < end;) {
    core* const c = running;
    const std::uintptr_t line = at >> c->line_shift;
    const std::uintptr_t line_end = (line + 1) << c->line_shift;
    const std::uintptr_t until = line_end < end && line_end > at ? line_end : end;
    const std::uint64_t pieces = (until - at + piece_bytes - 1) / piece_bytes;
    if (c->hits_front(line, writes) && last_touch_of(line) != in_order) {
      c->hits[writes ? 1 : 0] += pieces;
      c->clock += pieces * c->hit_ps;
      last_touch_of(line) = c->clock;
    } else {
      touch_pieces(at, until, writes);
    }
    at = until;
  }
  if (running->clock > running->quantum_end) the_engine->end_quantum();
}

// Touches two ranges of a length side by side, as the C library's functions go along them: a block of each at a time.
[[gnu::always_inline]] inline void touch_both(const void* first, const void* second, std::size_t bytes,
                                              bool writes_second) {
  constexpr std::size_t block_bytes = 64;
  for (std::size_t i = 0; i < bytes; i += block_bytes) {
    const std::size_t block = std::min(block_bytes, bytes - i);
    touch(static_cast<const char*>(first) + i, block, false);
    touch(static_cast<const char*>(second) + i, block, writes_second);
  }
}

// Returns how many bytes a comparison reads of each range: to the end of the 16 bytes in which they differ.
[[nodiscard]] std::size_t compared_bytes(const void* a, const void* b, std::size_t bytes) noexcept {
  const auto* const left = static_cast<const char*>(a);
  const auto* const right = static_cast<const char*>(b);
  for (std::size_t i = 0; i < bytes; i += piece_bytes)
    if (__builtin_memcmp(left + i, right + i, std::min(piece_bytes, bytes - i)) != 0)
      return std::min(i + piece_bytes, bytes);
  return bytes;
}

void reads(const void* range, std::size_t bytes) {
  if (running != &nobody && bytes != 0) touch(range, bytes, false);
}
void writes(const void* range, std::size_t bytes) {
  if (running != &nobody && bytes != 0) touch(range, bytes, true);
}

// Returns whether the range is watched. If tiles may see different bytes, each piece is touched and moved before the
// next, and no other thread runs in between. Memory is read into the host's registers first, as on the machine.
[[nodiscard]] bool is_watched(const void* range, std::size_t bytes) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(range);
  return watched.bytes != 0 && running != &nobody && bytes != 0 && (watched.holds(at) || watched.holds(at + bytes - 1));
}

std::size_t piece_at(const void* at, std::size_t left) noexcept {
  return std::min(piece_bytes - (reinterpret_cast<std::uintptr_t>(at) & (piece_bytes - 1)), left);
}

void see(const void* at, std::size_t bytes, bool writes, void* code) {
  the_engine->access(reinterpret_cast<std::uintptr_t>(at), bytes, writes ? access_kind::write : access_kind::read,
                     reinterpret_cast<std::uintptr_t>(code));
}

void move_piece(char* to, const char* from, std::size_t bytes, void* code) {
  char registers[piece_bytes];
  see(from, bytes, false, code);
  std::memcpy(registers, from, bytes);
  see(to, bytes, true, code);
  std::memcpy(to, registers, bytes);
}

void move_watched(void* to, const void* from, std::size_t bytes, void* code) {
  auto* const out = static_cast<char*>(to);
  const auto* const in = static_cast<const char*>(from);
  if (out <= in || out >= in + bytes) {
    for (std::size_t i = 0; i < bytes;) {
      const std::size_t piece = std::min(piece_at(out + i, bytes - i), piece_at(in + i, bytes - i));
      move_piece(out + i, in + i, piece, code);
      i += piece;
    }
  } else {
    for (std::size_t i = bytes; i-- > 0;) move_piece(out + i, in + i, 1, code);  // overlapping ranges: from the end
  }
}

void set_watched(void* to, int value, std::size_t bytes, void* code) {
  auto* const out = static_cast<char*>(to);
  for (std::size_t i = 0; i < bytes;) {
    const std::size_t piece = piece_at(out + i, bytes - i);
    see(out + i, piece, true, code);
    std::memset(out + i, value, piece);
    i += piece;
  }
}

int compare_watched(const void* a, const void* b, std::size_t bytes, void* code) {
  for (std::size_t i = 0; i < bytes; ++i) {
    see(static_cast<const char*>(a) + i, 1, false, code);
    const auto left = static_cast<const unsigned char*>(a)[i];
    see(static_cast<const char*>(b) + i, 1, false, code);
    const auto right = static_cast<const unsigned char*>(b)[i];
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

std::size_t length_watched(const char* text, void* code) {
  for (std::size_t i = 0;; ++i) {
    see(text + i, 1, false, code);
    if (text[i] == '\0') return i;
  }
}

}  // namespace

void touch_range(const void* range, std::size_t bytes, bool writes) {
  if (running == &nobody || bytes == 0) return;
  if (watched.bytes != 0) {
    see(range, bytes, writes, nullptr);
  } else {
    touch(range, bytes, writes);
  }
}

}  // namespace situ::model

using namespace situ::model;

// NOLINTBEGIN: the linker's names
#define CODE __builtin_return_address(0)
extern "C" {
void* __real_memcpy(void*, const void*, std::size_t);
void* __real_memmove(void*, const void*, std::size_t);
void* __real_memset(void*, int, std::size_t);
int __real_memcmp(const void*, const void*, std::size_t);
std::size_t __real_strlen(const char*);

void* __wrap_memcpy(void* to, const void* from, std::size_t bytes) {
  if (is_watched(to, bytes) || is_watched(from, bytes)) return move_watched(to, from, bytes, CODE), to;
  if (running != &nobody) touch_both(from, to, bytes, true);
  return __real_memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, const void* from, std::size_t bytes) {
  if (is_watched(to, bytes) || is_watched(from, bytes)) return move_watched(to, from, bytes, CODE), to;
  if (running != &nobody) touch_both(from, to, bytes, true);
  return __real_memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, std::size_t bytes) {
  if (is_watched(to, bytes)) return set_watched(to, value, bytes, CODE), to;
  writes(to, bytes);
  return __real_memset(to, value, bytes);
}
int __wrap_memcmp(const void* a, const void* b, std::size_t bytes) {
  if (is_watched(a, bytes) || is_watched(b, bytes)) return compare_watched(a, b, bytes, CODE);
  if (running != &nobody) touch_both(a, b, compared_bytes(a, b, bytes), false);
  return __real_memcmp(a, b, bytes);
}
std::size_t __wrap_strlen(const char* text) {
  if (is_watched(text, 1)) return length_watched(text, CODE);
  const std::size_t length = __real_strlen(text);
  reads(text, length + 1);
  return length;
}
}
// NOLINTEND
