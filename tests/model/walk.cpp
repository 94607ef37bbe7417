// walk NUMBERS ROUNDS: adds up so many numbers so often; what it reads can be counted by hand.
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

std::vector<int> numbers;  // global: each element is read from memory in each round

[[gnu::noipa]] long sum_of(const int* first, std::size_t count) {
  long sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += first[i];
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 1;
  numbers.assign(count, 1);
  long sum = 0;
  for (int i = 0; i < rounds; ++i) sum += sum_of(numbers.data(), count);
  std::printf("%ld\n", sum);
}
