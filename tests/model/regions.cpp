// Reads 1000 cold lines before a region and 500 in it, twice; `main` and a thread are in it together the second time.
#include <situ/model/region.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

// A line is at most 64 bytes.
volatile char lines[4096 * 64];
int sum = 0;

void read_lines(int first, int count) {
  for (int i = first; i < first + count; ++i) sum += lines[i * 64];
}

}  // namespace

int main(int argc, char** argv) {
  read_lines(0, 1000);
  {
    const situ::model::region here{"part"};
    read_lines(1000, 500);
  }
  {
    const situ::model::region here{"part"};
    std::thread{[] {
      const situ::model::region with_it{"part"};
      read_lines(1500, 250);
    }}.join();
    read_lines(2000, 250);
  }
  read_lines(3000, argc > 1 ? std::atoi(argv[1]) : 0);
  std::printf("%d\n", sum);
}
