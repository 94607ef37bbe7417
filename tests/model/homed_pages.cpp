// Two places write and read two pages: one that is homed at place 1, without further calls, and a user-managed one,
// whose lines the reader invalidates and the writer writes back. "forgotten" leaves the write-back out. "shared" makes
// the homed page user-managed in between, and hands it over as such. Prints whether each place has read what the other
// wrote. The places meet by an atomic word: situ::barrier() would write everything back.
#include <situ/base/detail/coherence.h>
#include <situ/situ.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t words = page_bytes / sizeof(std::uint32_t);

struct alignas(page_bytes) page {
  std::uint32_t word[words];
};

// Waits for the other place.
void meet(page& at) {
  const std::atomic_ref count{at.word[0]};
  const std::uint32_t before = count.fetch_add(1);
  while (count.load() < (before | 1) + 1) {}
}

[[gnu::noinline]] void write(page& to, std::uint32_t first) {
  for (std::uint32_t i = 0; i < words; ++i) to.word[i] = first + i;
}
[[gnu::noinline]] std::uint32_t read(const page& from) {
  std::uint32_t sum = 0;
  for (const std::uint32_t each : from.word) sum += each;
  return sum;
}
[[nodiscard]] std::uint32_t sum_from(std::uint32_t first) { return words * first + words * (words - 1) / 2; }

}  // namespace

int main(int argc, char** argv) {
  const bool is_forgotten = argc > 1 && std::strcmp(argv[1], "forgotten") == 0;
  const bool is_shared = argc > 1 && std::strcmp(argv[1], "shared") == 0;
  situ::runtime rt{argc, argv};
  const std::uint32_t me = situ::here().index();
  situ::ptr<page> at;
  if (me == 0) {
    at = situ::allocate<page>(3, {.alignment = page_bytes});
    situ::detail::home_pages(at.local(), page_bytes, 1);
    at.local()[2].word[0] = 0;
    write(at.local()[0], 1);
    write(at.local()[1], 2);
    situ::detail::write_back(at.local() + 1, 2 * page_bytes);
  }
  at = situ::broadcast(at);
  page& homed = at.local()[0];
  page& managed = at.local()[1];
  page& meeting = at.local()[2];
  for (std::uint32_t round = 0; round < 3; ++round) {
    if (is_shared && me == 0 && round == 1) situ::detail::share_pages(&homed, page_bytes);
    const bool is_managed_now = is_shared && round > 0;
    for (const std::uint32_t writer : {0U, 1U}) {
      meet(meeting);
      if (me != writer) {
        situ::detail::invalidate(&managed, page_bytes);
        if (is_managed_now) situ::detail::invalidate(&homed, page_bytes);
      }
      meet(meeting);
      if (me == writer) {
        write(homed, 1000 * round + writer);
        write(managed, 500 * round + writer);
        if (!is_forgotten) situ::detail::write_back(&managed, page_bytes);
        if (is_managed_now) situ::detail::write_back(&homed, page_bytes);
      }
      meet(meeting);
      if (me == writer) continue;
      const bool is_right = read(homed) == sum_from(1000 * round + writer);
      const bool is_managed_right = read(managed) == sum_from(500 * round + writer);
      std::printf("%u: homed %s, managed %s\n", me, is_right ? "right" : "wrong", is_managed_right ? "right" : "wrong");
    }
  }
  situ::barrier();
}
