// Stores as the compiler has put them there: gcc's hooks for ThreadSanitizer, defined here instead of by its library,
// say which address is about to be written. A recorder that listens sees each value that a word has held, also one that
// the next store replaces before anything is flushed; comparing memory at flushes sees only the last of them.
//
// Seen are the stores of what is compiled with the hooks: the pool module and the test (tests/pool/CMakeLists.txt).
// What library code compiled without them stores, memcpy among it, is seen by comparing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace situ_pool_test {

class store_listener {
 public:
  virtual ~store_listener() = default;
  // A store to these bytes follows. Must not store to what it listens to.
  virtual void before_store(const std::byte* at, std::size_t bytes) = 0;
};

// Of the calling thread, for addresses from `begin` to before `end`; null: nobody.
void listen_to_stores(store_listener* listener, const std::byte* begin, const std::byte* end);
// Whether this program was compiled with them.
[[nodiscard]] constexpr bool has_store_hooks() {
#if defined(SITU_STORE_HOOKS)
  return true;
#else
  return false;
#endif
}

}  // namespace situ_pool_test
