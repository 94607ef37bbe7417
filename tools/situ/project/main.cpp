#include <situ/situ.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "pi.h"

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};  // joins the job; started by itself, the program is one place
  const std::uint64_t steps = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000'000;
  if (steps == 0) {
    if (situ::here().index() == 0) std::fprintf(stderr, "usage: %s [STEPS]\n", argv[0]);
    return EXIT_FAILURE;
  }

  const double found = pi(steps);
  if (situ::here().index() == 0) std::printf("%u places: pi is about %.12f\n", situ::place_count(), found);
}
