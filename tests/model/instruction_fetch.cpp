// instruction_fetch KIB ROUNDS: a function with 8 or 64 KiB of code, called so often. What that fetches can be counted
// by hand.
#include <cstdio>
#include <cstdlib>

namespace {

// One instruction of 8 bytes that does nothing.
#define SITU_TEST_NOTHING ".byte 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"

[[gnu::noipa]] void eight_kib() { asm volatile(".rept 1024\n" SITU_TEST_NOTHING ".endr"); }
[[gnu::noipa]] void sixty_four_kib() { asm volatile(".rept 8192\n" SITU_TEST_NOTHING ".endr"); }

}  // namespace

int main(int argc, char** argv) {
  const bool is_large = argc > 1 && std::atoi(argv[1]) == 64;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1;
  for (int i = 0; i < rounds; ++i) is_large ? sixty_four_kib() : eight_kib();
  std::puts("done");
}
