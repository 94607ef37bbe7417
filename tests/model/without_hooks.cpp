// Spends the host's time in the C library, and in its own code.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

volatile std::size_t sink;

// Looks for a byte that is not there: memchr is none of the functions over memory that are modelled.
void look_in_library(const std::string& text) { sink = std::strchr(text.c_str() + sink, 'b') == nullptr ? 0 : 1; }

void add_up(const std::vector<int>& numbers) {
  int sum = 0;
  for (const int each : numbers) sum += each;
  sink = static_cast<std::size_t>(sum);
}

}  // namespace

int main(int argc, char** argv) {
  const bool in_library = argc > 1 && std::strcmp(argv[1], "library") == 0;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1;
  const std::string text(std::size_t{1} << 20, 'a');
  const std::vector<int> numbers(std::size_t{1} << 18, 1);
  for (int i = 0; i < rounds; ++i)
    if (in_library)
      look_in_library(text);
    else
      add_up(numbers);
  std::puts("done");
}
