// Calls functions of shared libraries: strchr often, atoi 30 times, and some once; memcpy is modelled.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {
volatile std::size_t sink;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  const std::string text(std::size_t{1} << 20, 'a');
  char copy[64];
  for (int i = 0; i < rounds; ++i) sink = std::strchr(text.c_str() + sink, 'b') == nullptr ? 0 : 1;
  for (int i = 0; i < 30; ++i) sink = static_cast<std::size_t>(std::atol("0"));
  for (int i = 0; i < 100; ++i) std::memcpy(copy, text.c_str() + sink, sizeof copy);
  std::puts(copy[0] == 'a' ? "done" : "");
}
