// Reads 256 lines in a region, twice: cold, and with what the first time has left in the caches.
#include <situ/model/region.h>

#include <cstdio>

namespace {

constexpr int count = 256;
alignas(64) volatile char lines[count * 64];

int read_all() {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += lines[i * 64];
  return sum;
}

}  // namespace

int main() {
  int sum = 0;
  {
    const situ::model::region here{"first"};
    sum += read_all();
  }
  {
    const situ::model::region here{"second"};
    sum += read_all();
  }
  std::printf("%d\n", sum);
}
