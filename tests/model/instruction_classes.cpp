// instruction_classes WHAT ROUNDS: a loop of one class of instruction, in registers; what a round costs can be counted
// by hand. Prints what the loop came to.
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

[[gnu::noipa]] long twice(long x) { return x + x; }

[[gnu::noipa]] long multiply(long rounds) {
  long x = 3;
  for (long i = 0; i < rounds; ++i) asm volatile("imul %0, %0" : "+r"(x));
  return x;
}
[[gnu::noipa]] long add(long rounds) {
  long x = 3;
  for (long i = 0; i < rounds; ++i) asm volatile("add $1, %0" : "+r"(x));
  return x;
}
[[gnu::noipa]] long divide(long rounds) {
  long x = 1000;
  const long by = 1;
  for (long i = 0; i < rounds; ++i) asm volatile("xor %%edx, %%edx; div %1" : "+a"(x) : "r"(by) : "rdx");
  return x;
}
[[gnu::noipa]] long floating(long rounds) {
  double x = 1;
  for (long i = 0; i < rounds; ++i) asm volatile("addsd %0, %0" : "+x"(x));
  return x > 1 ? 1 : 0;
}
[[gnu::noipa]] long call(long rounds) {
  long x = 0;
  for (long i = 0; i < rounds; ++i) x += twice(i);
  return x;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "add";
  const long rounds = argc > 2 ? std::atol(argv[2]) : 1;
  long (*const loop)(long) = what == "multiply"   ? multiply
                             : what == "divide"   ? divide
                             : what == "floating" ? floating
                             : what == "call"     ? call
                                                  : add;
  std::printf("%ld\n", loop(rounds));
}
