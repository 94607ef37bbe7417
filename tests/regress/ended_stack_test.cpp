// Workers' stacks were unmapped with AddressSanitizer's marks of their frames still on them: the next job's memory,
// mapped to the same addresses, then looked like the inside of a frame, and a place died of it.
#include "support/places.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>

namespace situ {
namespace {

thread_local char* on_worker_stack = nullptr;

TEST(ended_stack, bears_no_marks) {
  constexpr std::size_t looked_at = 16 * 1024;  // below the frames of a task; its stack is larger
  char* stack = nullptr;
  test::launch_on(test::layout{launch_mode::threads, 1}, [&stack] {
    async([] {
      char local[64];
      on_worker_stack = local;
      asm volatile("" : : "r"(local) : "memory");
      EXPECT_NE(__asan_region_is_poisoned(local - 32, sizeof local + 64), nullptr);  // the marks around an array
    }).get();
    stack = on_worker_stack;
  });
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(__asan_region_is_poisoned(stack - looked_at, looked_at), nullptr);
  EXPECT_EQ(__asan_region_is_poisoned(stack, 2048), nullptr);
}

}  // namespace
}  // namespace situ
#endif
