// large_pages HOW: reads a byte of each 4 KiB of a mapping of 8 MiB, whose pages are "usual", "advised" to be of 2 MiB,
// asked for as such ("huge"), or "taken_back": advised, and then no longer.
#include <situ/model/region.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <string_view>

namespace {

constexpr std::size_t mapped = std::size_t{8} << 20;

[[gnu::noipa]] long read_all(const volatile char* at) {
  long sum = 0;
  for (std::size_t i = 0; i < mapped; i += 4096) sum += at[i];
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "usual";
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (how == "huge" ? MAP_HUGETLB : 0);
  void* const at = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (at == MAP_FAILED) return 1;
  if (how == "advised" || how == "taken_back")
    if (madvise(at, mapped, MADV_HUGEPAGE) != 0) return 2;
  if (how == "taken_back" && madvise(at, mapped, MADV_NOHUGEPAGE) != 0) return 3;
  long sum = 0;
  {
    const situ::model::region here{"read"};
    sum = read_all(static_cast<const volatile char*>(at));
  }
  std::printf("%ld\n", sum);
  return munmap(at, mapped) == 0 ? 0 : 4;
}
