// Place 0 allocates until its segment refuses; prints how many MiB it got, and the error.
#include <situ/situ.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  if (situ::here().index() != 0) return 0;
  std::vector<situ::ptr<char>> blocks;
  try {
    for (;;) {
      blocks.push_back(situ::allocate<char>(std::size_t{1} << 20));
      *blocks.back().local() = 1;
    }
  } catch (const situ::error& refused) {
    std::printf("%zu MiB: %s\n", blocks.size(), refused.what());
  }
  for (const situ::ptr<char> each : blocks) situ::deallocate(each);
}
