// triad_threads THREADS NUMBERS: each thread does a[i] = b[i] + 3 * c[i] over so many numbers of its own.
#include <situ/model/region.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  const std::size_t threads = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2;
  const std::size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10'000;
  struct arrays {
    std::vector<double> a, b, c;
  };
  std::vector<arrays> own(threads);
  for (arrays& each : own)
    each = {std::vector<double>(count), std::vector<double>(count, 1), std::vector<double>(count, 2)};
  {
    const situ::model::region here{"triad"};
    std::vector<std::jthread> working;
    for (arrays& each : own)
      working.emplace_back([&its = each, count] {
        for (std::size_t i = 0; i < count; ++i) its.a[i] = its.b[i] + 3 * its.c[i];
      });
  }
  double sum = 0;
  for (const arrays& each : own) sum += each.a.back();
  std::printf("%.0f\n", sum);
}
