// A program of a user of the installed Situ: every place hands its index to the next one, and all add up what they were
// given.
#include <situ/situ.h>

#include <cstdio>
#include <functional>

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const auto given = situ::allocate<std::uint32_t>();
  const auto everyones = situ::all_gather(given);
  const std::uint32_t me = situ::here().index();
  situ::put(everyones[(me + 1) % situ::place_count()], me);
  situ::barrier();
  const std::uint32_t sum = situ::all_reduce(situ::get(given), std::plus<>{});
  if (me == 0) std::printf("%u places, sum %u\n", situ::place_count(), sum);
  situ::deallocate(given);
}
