// Reads 256 lines in a region, twice: cold, and with what the first time has left in the caches. With an argument it
// drops the first `argument` lines from the caches between the regions.
#include <situ/base/detail/coherence.h>
#include <situ/model/region.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int count = 256;
alignas(64) volatile char lines[count * 64];

int read_all() {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += lines[i * 64];
  return sum;
}

}  // namespace

int main(int count_of_arguments, char** arguments) {
  int sum = 0;
  {
    const situ::model::region here{"first"};
    sum += read_all();
  }
  if (count_of_arguments > 1)
    situ::detail::flush(const_cast<const char*>(lines), std::strtoul(arguments[1], nullptr, 10) * 64);
  {
    const situ::model::region here{"second"};
    sum += read_all();
  }
  std::printf("%d\n", sum);
}
