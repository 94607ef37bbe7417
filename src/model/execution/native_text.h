// The addresses that a program's code would have without its hooks: instructions are fetched by these.
//
// The calls of hooks, and the instructions that set up an address for them, make the code about twice as long. So
// a byte's native address is its own, less all bytes before it that exist for hooks. One pass over the code finds the
// calls: a call is e8 and 4 bytes of distance, and no other code has the distance to a hook in these 4 bytes. The
// set-up stands directly before its call, and is recognised by its bytes.
//
// Not undone: a jump whose distance takes 4 bytes for 1 because of the hooks between.
//
// Worked example, at 0x1000:
//
//   1000 call block         5 bytes for hooks
//   1005 add rbx, 4         4              native 1000
//   1009 lea rdi, [rbx+8]   4 for hooks
//   100d call read4         5 for hooks
//   1012 mov eax, [rbx+8]   3              native 1004
//   1015 jne                               native 1007
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

namespace situ::model {

// The kind of a call in the code.
enum class hook_call : std::uint8_t {
  none,  // the program's own call
  bare,  // of a hook without an argument
  addressed  // of a hook with an address, which lea puts into rdi directly before it; between a push and a pop of rdi or not
};

class native_text {
 public:
  native_text() = default;
  // `code` lies at `begin`; `kind_of(target)` is a hook_call. cost: one pass over the code, 1.2 ms for a MB.
  template <class KindOf>
  native_text(std::span<const std::uint8_t> code, std::uintptr_t begin, KindOf kind_of) {
    std::uintptr_t removed = 0;
    std::size_t end = 0;  // end of the last call's bytes
    for (std::size_t at = next_call(code, 0); at < code.size(); at = next_call(code, at + 1)) {
      std::int32_t distance = 0;
      std::memcpy(&distance, code.data() + at + 1, sizeof distance);
      const hook_call kind = kind_of(begin + at + call_bytes + static_cast<std::uintptr_t>(std::int64_t{distance}));
      if (kind == hook_call::none) continue;
      std::size_t set_up = kind == hook_call::bare ? 0 : set_up_before(code.first(at));
      std::size_t behind = 0;
      if (kind == hook_call::addressed && at > set_up && at + call_bytes < code.size() &&
          code[at - set_up - 1] == 0x57 && code[at + call_bytes] == 0x5f) {
        ++set_up;  // push rdi
        ++behind;  // pop rdi
      }
      removed += at + call_bytes + behind - std::max(end, at - std::min(at, set_up));
      end = at + call_bytes + behind;
      calls_.push_back({begin + end, removed});
    }
  }

  // Returns the native address of the instruction at `address`. cost: logarithmic in the calls.
  [[nodiscard]] std::uintptr_t address(std::uintptr_t address) const noexcept {
    const auto behind = std::ranges::upper_bound(calls_, address, {}, &call::end);
    return behind == calls_.begin() ? address : address - std::prev(behind)->removed;
  }

  [[nodiscard]] bool is_empty() const noexcept { return calls_.empty(); }

 private:
  static constexpr std::size_t call_bytes = 5;

  struct call {
    std::uintptr_t end;
    std::uintptr_t removed;  // bytes removed up to and including this call
  };

  [[nodiscard]] static std::size_t next_call(std::span<const std::uint8_t> code, std::size_t from) noexcept {
    if (code.size() < from + call_bytes) return code.size();
    const void* const found = std::memchr(code.data() + from, 0xe8, code.size() - from - call_bytes + 1);
    return found == nullptr ? code.size()
                            : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - code.data());
  }

  // Returns the length of the lea at the end of `code` that puts an address into rdi.
  [[nodiscard]] static std::size_t set_up_before(std::span<const std::uint8_t> code) noexcept {
    const auto back = [&](std::size_t bytes) { return code[code.size() - bytes]; };
    // A lea of that length whose mode is one of these, apart from its two lowest bits.
    const auto is_lea = [&](std::size_t bytes, std::initializer_list<std::uint8_t> modes) {
      return code.size() >= bytes && (back(bytes) & 0xfc) == 0x48 && back(bytes - 1) == 0x8d &&
             std::ranges::find(modes, back(bytes - 2) & 0xfc) != modes.end();
    };
    // The forms by their lengths; the low bits of a mode are a register, or 4: a second byte follows, or 5: no register.
    const auto has_two = [&](std::size_t bytes) { return (back(bytes - 2) & 7) == 4; };
    if (is_lea(3, {0x38, 0x3c}) && !has_two(3) && (back(1) & 7) != 5) return 3;  // [r]
    if (is_lea(4, {0x38, 0x3c}) && has_two(4) && (back(1) & 7) != 5) return 4;   // [r + r]
    if (is_lea(4, {0x78, 0x7c}) && !has_two(4)) return 4;                        // [r + 1 byte]
    if (is_lea(5, {0x7c}) && has_two(5)) return 5;                               // [r + r + 1 byte]
    if (is_lea(7, {0xb8, 0xbc}) && !has_two(7)) return 7;                        // [r + 4 bytes]
    if (is_lea(7, {0x3c}) && (back(5) & 7) == 5) return 7;                       // [rip + 4 bytes]
    if (is_lea(8, {0xbc}) && has_two(8)) return 8;                               // [r + r + 4 bytes]
    if (is_lea(8, {0x3c}) && has_two(8) && (back(5) & 7) == 5) return 8;         // [r * scale + 4]
    return 0;
  }

  std::vector<call> calls_;
};

}  // namespace situ::model
