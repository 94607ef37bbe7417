// What gcc calls for each access of code compiled with -fsanitize=thread. Compiled without that option itself.
#include "store_hooks.h"

namespace situ_pool_test {
namespace {

struct listening {
  store_listener* listener = nullptr;
  std::uintptr_t begin = 0;
  std::uintptr_t bytes = 0;
};
thread_local listening here;

void tell(const void* at, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (address - here.begin < here.bytes) here.listener->before_store(static_cast<const std::byte*>(at), bytes);
}

}  // namespace

void listen_to_stores(store_listener* listener, const std::byte* begin, const std::byte* end) {
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  here = {listener, from, listener == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(end) - from};
}

}  // namespace situ_pool_test

// NOLINTBEGIN: names that the compiler chose
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

#define SITU_ACCESS(bytes)                                                          \
  void __tsan_read##bytes(void*) {}                                                 \
  void __tsan_unaligned_read##bytes(void*) {}                                       \
  void __tsan_volatile_read##bytes(void*) {}                                        \
  void __tsan_unaligned_volatile_read##bytes(void*) {}                              \
  void __tsan_write##bytes(void* at) { situ_pool_test::tell(at, bytes); }           \
  void __tsan_unaligned_write##bytes(void* at) { situ_pool_test::tell(at, bytes); } \
  void __tsan_volatile_write##bytes(void* at) { situ_pool_test::tell(at, bytes); }  \
  void __tsan_unaligned_volatile_write##bytes(void* at) { situ_pool_test::tell(at, bytes); }
SITU_ACCESS(1)
SITU_ACCESS(2)
SITU_ACCESS(4)
SITU_ACCESS(8)
SITU_ACCESS(16)
#undef SITU_ACCESS

void __tsan_read_range(void*, unsigned long) {}
void __tsan_write_range(void* at, unsigned long bytes) { situ_pool_test::tell(at, bytes); }
void __tsan_vptr_update(void** at, void*) { situ_pool_test::tell(at, sizeof(void*)); }
void __tsan_vptr_read(void**) {}

// Atomic operations are calls here, in the strongest order, which is right for any.
#define SITU_CHANGE(bits, type, name, builtin)                         \
  type __tsan_atomic##bits##_##name(volatile type* at, type by, int) { \
    situ_pool_test::tell(const_cast<type*>(at), sizeof(type));         \
    return builtin(at, by, __ATOMIC_SEQ_CST);                          \
  }
#define SITU_SWAP(bits, type, name)                                                                    \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile type* at, type* was, type to, int, int) { \
    situ_pool_test::tell(const_cast<type*>(at), sizeof(type));                                         \
    return __atomic_compare_exchange_n(at, was, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
  }
#define SITU_ATOMIC(bits, type)                                                                                   \
  type __tsan_atomic##bits##_load(const volatile type* at, int) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); } \
  void __tsan_atomic##bits##_store(volatile type* at, type to, int) {                                             \
    situ_pool_test::tell(const_cast<type*>(at), sizeof(type));                                                    \
    __atomic_store_n(at, to, __ATOMIC_SEQ_CST);                                                                   \
  }                                                                                                               \
  SITU_CHANGE(bits, type, exchange, __atomic_exchange_n)                                                          \
  SITU_CHANGE(bits, type, fetch_add, __atomic_fetch_add)                                                          \
  SITU_CHANGE(bits, type, fetch_sub, __atomic_fetch_sub)                                                          \
  SITU_CHANGE(bits, type, fetch_and, __atomic_fetch_and)                                                          \
  SITU_CHANGE(bits, type, fetch_or, __atomic_fetch_or)                                                            \
  SITU_CHANGE(bits, type, fetch_xor, __atomic_fetch_xor)                                                          \
  SITU_SWAP(bits, type, strong)                                                                                   \
  SITU_SWAP(bits, type, weak)
SITU_ATOMIC(8, unsigned char)
SITU_ATOMIC(16, unsigned short)
SITU_ATOMIC(32, unsigned int)
SITU_ATOMIC(64, unsigned long)
#undef SITU_ATOMIC
#undef SITU_SWAP
#undef SITU_CHANGE

void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

}  // extern "C"
// NOLINTEND
