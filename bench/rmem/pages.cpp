// A program that knows nothing of Situ, for unmodified.py: fills so many MiB with random bytes, touches one page after
// another, at random or in order, and prints the nanoseconds a touch.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::size_t pages = std::strtoull(argv[1], nullptr, 10) * 256;
  const bool is_random = std::strcmp(argv[2], "random") == 0;
  constexpr std::size_t page_words = 512;
  auto* const all = static_cast<std::uint64_t*>(std::malloc(pages * page_words * 8));
  if (all == nullptr) return 1;
  std::uint64_t state = 1;
  const auto next = [&state] { return (state = state * 6364136223846793005U + 1442695040888963407U) >> 16; };
  for (std::size_t i = 0; i < pages * page_words; ++i) all[i] = next();
  const std::size_t touches = is_random ? 20'000 : pages;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < touches; ++i) all[(is_random ? next() % pages : i) * page_words] += 1;
  const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%.0f\n", ns / static_cast<double>(touches));
  std::free(all);
}
