// The addresses that a program's code would have without its hooks: instructions are fetched by these.
//
// The calls of hooks, and the instructions that set up an address for them, make the code about twice as long. So a
// byte's native address is its own, less all bytes before it that exist for hooks. One pass over the code finds the
// calls: a call is e8 and 4 bytes of distance, and no other code has the distance to a hook in these 4 bytes. Set-ups
// directly before their call are recognised by their bytes; for other set-ups, which are elsewhere in the block or
// shared by several calls, the usual length is assumed.
//
// Worked example, at 0x1000:
//
//   1000 call trace_pc      5 bytes for hooks
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
#include <span>
#include <vector>

namespace situ::model {

// The kind of a call in the code.
enum class hook_call : std::uint8_t {
  none,       // the program's own call, or an atomic's, which is as long as the instruction that it stands for
  bare,       // of a hook without an argument
  addressed,  // of a hook with an address, which an instruction sets up
  sited       // of a hook in assembly: its address is set up directly before it, in a push and a pop of rdi or not
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
      if (kind == hook_call::sited && at > set_up && code[at - set_up - 1] == 0x57 && code[at + call_bytes] == 0x5f) {
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
  static constexpr std::size_t usual_set_up = 4;  // the mean of the recognised set-ups in imsuite

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

  // Returns the length of the instruction at the end of `code` that puts an address into rdi: mov, lea or a load, by
  // the forms that compilers choose.
  [[nodiscard]] static std::size_t set_up_before(std::span<const std::uint8_t> code) noexcept {
    constexpr std::size_t longest = 8;
    if (code.size() < longest) return usual_set_up;
    const auto back = [&](std::size_t bytes) { return code[code.size() - bytes]; };
    const auto is_wide = [&](std::size_t at) { return (back(at) & 0xf8) == 0x48; };              // a REX prefix
    const auto moves_to = [&](std::size_t at) { return back(at) == 0x8d || back(at) == 0x8b; };  // lea, mov
    const auto names_rdi = [&](std::size_t at, std::uint8_t mode) { return (back(at) & 0xf8) == mode; };
    if (is_wide(3) && back(2) == 0x89 && (back(1) & 0xc7) == 0xc7) return 3;             // mov rdi, r
    if (is_wide(4) && moves_to(3) && (names_rdi(2, 0x78) || back(2) == 0x3c)) return 4;  // [r + 1 byte], [r + r]
    if (is_wide(5) && moves_to(4) && back(3) == 0x7c) return 5;                          // [r + r + 1 byte]
    if (is_wide(7) && moves_to(6) && (names_rdi(5, 0xb8) || back(5) == 0x3d)) return 7;  // [r + 4 bytes]
    if (is_wide(8) && moves_to(7) && back(6) == 0xbc) return 8;                          // [r + r + 4 bytes]
    if (is_wide(8) && moves_to(7) && back(6) == 0x3c && (back(5) & 7) == 5) return 8;    // [r * scale + 4 bytes]
    return back(5) == 0xbf ? 5 : usual_set_up;                                           // mov edi, 4 bytes
  }

  std::vector<call> calls_;
};

}  // namespace situ::model
