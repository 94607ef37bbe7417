// Whether this build has a sanitizer, under which tests do less of what takes long.
#pragma once

namespace situ::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool with_thread_sanitizer = true;
#else
inline constexpr bool with_thread_sanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool with_sanitizer = true;
#else
inline constexpr bool with_sanitizer = with_thread_sanitizer;
#endif

}  // namespace situ::test
