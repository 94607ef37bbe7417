// Ends with an error if something is wrong; ctest runs it at several numbers of places.
#include <situ/situ.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "pi.h"

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const double found = pi(100'000);
  if (std::abs(found - 3.14159265358979) < 1e-9) return EXIT_SUCCESS;
  std::fprintf(stderr, "pi is %.12f at place %u\n", found, situ::here().index());
  return EXIT_FAILURE;
}
