// The floating-point settings of a thread: rounding, flush-to-zero, the exceptions that trap. The settings belong to
// the thread (on x86-64: the control bits of MXCSR and the x87 control word), so code that runs for another thread
// must get that thread's settings, or its results depend on the thread that ran it
// (docs/decisions/0037-floating-point.md).
//
// The flags of exceptions that have occurred are not settings: this code neither transfers nor clears them.
#pragma once

#include <cstdint>

#if !defined(__x86_64__)
#include <cfenv>
#endif

namespace situ::detail {

// cost: two instructions to read the settings, a comparison; some 20 cycles to apply different ones. On other
// processors than x86-64 the settings are the rounding direction alone.
class float_settings {
 public:
  // Bits of code(), the settings as a number for records and messages.
  static constexpr int code_bits = 20;
  constexpr explicit float_settings(std::uint32_t code) noexcept;
  [[nodiscard]] constexpr std::uint32_t code() const noexcept;

  [[nodiscard]] static float_settings of_this_thread() noexcept {
    float_settings read;
    read.read_own();
    return read;
  }
  // The settings of a thread that has changed none: round to nearest, gradual underflow, no traps.
  [[nodiscard]] static constexpr float_settings usual() noexcept { return {}; }

  // Makes the calling thread compute with these settings from here on.
  void apply() const noexcept;
  void apply_unless_own() const noexcept {
    if (*this != of_this_thread()) [[unlikely]]
      apply();
  }
  friend constexpr bool operator==(float_settings a, float_settings b) noexcept;

 private:
  constexpr float_settings() noexcept = default;
  void read_own() noexcept;

#if defined(__x86_64__)
  // As read: only the bits below are settings (Intel SDM 1, 8.1.5 and 10.2.3).
  static constexpr std::uint32_t sse_bits = 0xffc0;  // of MXCSR: flush-to-zero, rounding, masks, denormals-are-zero
  static constexpr std::uint32_t x87_bits = 0x0f3f;  // of the control word: rounding, precision, masks
  std::uint32_t sse_ = 0x1f80;
  std::uint16_t x87_ = 0x037f;
#else
  int rounding_ = FE_TONEAREST;
#endif
};

#if defined(__x86_64__)

// | x87 rounding, precision: 4 | x87 masks: 6 | of MXCSR: 10 |
constexpr float_settings::float_settings(std::uint32_t code) noexcept
    : sse_{(code & 0x3ffU) << 6},
      x87_{static_cast<std::uint16_t>(0x40U | (code >> 10 & 0x3fU) | (code >> 16 & 0xfU) << 8)} {}
constexpr std::uint32_t float_settings::code() const noexcept {
  return (x87_ >> 8 & 0xfU) << 16 | (x87_ & 0x3fU) << 10 | (sse_ & sse_bits) >> 6;
}
constexpr bool operator==(float_settings a, float_settings b) noexcept {
  return ((a.sse_ ^ b.sse_) & float_settings::sse_bits) == 0 &&
         (static_cast<std::uint32_t>(a.x87_ ^ b.x87_) & float_settings::x87_bits) == 0;
}

inline void float_settings::read_own() noexcept {
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(sse_), "=m"(x87_) : : "memory");
}

// If a flag is set and its exception is unmasked, the next x87 instruction traps, although the code that raised the
// flag was not to trap: such a flag is cleared.
inline void float_settings::apply() const noexcept {
  std::uint32_t sse = 0;
  std::uint16_t flags = 0;
  asm volatile("stmxcsr %0\n\tfnstsw %1" : "=m"(sse), "=m"(flags) : : "memory");
  if (const std::uint32_t trapping = flags & ~std::uint32_t{x87_} & 0x3fU; trapping != 0) [[unlikely]] {
    std::uint32_t environment[7];  // control, status, tags, and the last instruction's address
    asm volatile("fnstenv %0" : "=m"(environment) : : "memory");
    environment[0] = (environment[0] & ~0xffffU) | x87_;
    environment[1] &= ~(trapping | 0x8080U);  // including the summary and "busy" bits
    asm volatile("fldenv %0" : : "m"(environment) : "memory");
  }
  sse = (sse & ~sse_bits) | (sse_ & sse_bits);
  asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(sse), "m"(x87_) : "memory");
}

#else

constexpr float_settings::float_settings(std::uint32_t code) noexcept : rounding_{static_cast<int>(code)} {}
constexpr std::uint32_t float_settings::code() const noexcept { return static_cast<std::uint32_t>(rounding_); }
constexpr bool operator==(float_settings a, float_settings b) noexcept { return a.rounding_ == b.rounding_; }
inline void float_settings::read_own() noexcept { rounding_ = std::fegetround(); }
inline void float_settings::apply() const noexcept { (void)std::fesetround(rounding_); }

#endif

// Applies settings to the calling thread until the end of the scope, then restores the earlier ones, even if the
// scope's code has changed them.
class float_settings_scope {
 public:
  explicit float_settings_scope(float_settings these) noexcept : before_{float_settings::of_this_thread()} {
    if (these != before_) these.apply();
  }
  ~float_settings_scope() { before_.apply_unless_own(); }
  float_settings_scope(const float_settings_scope&) = delete;
  float_settings_scope& operator=(const float_settings_scope&) = delete;

 private:
  const float_settings before_;
};

}  // namespace situ::detail
