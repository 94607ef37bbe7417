// A mistake that only a machine without coherent caches shows: place 1 writes a number and says so by an atomic word;
// place 0, which has read the number before, reads it again. "fixed" hands it over. "fetched" copies it past the caches
// without that, and so gets what the memory has. "returned" is "fixed", but the number is in an object that a call
// returns: gcc has no hook for that write. "dropped" is "fixed" with the wrong order: the writer drops its line in
// place of writing it back, so the number is lost. Prints what place 0 has read.
#include <situ/base/detail/coherence.h>
#include <situ/fabric/detail/carry.h>
#include <situ/situ.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

struct numbered {
  int value;
};

constexpr std::size_t line_bytes = 64;

struct alignas(line_bytes) shared {
  numbered number;
  alignas(64) std::uint64_t is_read;
  std::uint64_t is_written;
  alignas(64) numbered copy;
};

[[gnu::noinline]] numbered returned_seven() { return {7}; }

void write_number(shared& at, bool is_fixed, bool is_returned, bool is_dropped) {
  while (std::atomic_ref{at.is_read}.load() == 0) {}
  if (is_returned)
    at.number = returned_seven();
  else
    at.number.value = 7;
  if (is_dropped)
    situ::detail::invalidate(&at, line_bytes);
  else if (is_fixed)
    situ::detail::write_back(&at.number, sizeof at.number);
  std::atomic_ref{at.is_written}.store(1);
}

int read_number(shared& at, bool is_fixed, bool is_fetched) {
  while (std::atomic_ref{at.is_written}.load() == 0) {}
  if (is_fetched) {
    situ::detail::fetch_parcel(&at.copy, &at.number, sizeof at.number);
    return at.copy.value;
  }
  if (is_fixed) situ::detail::invalidate(&at.number, sizeof at.number);
  return at.number.value;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_returned = argc > 1 && std::strcmp(argv[1], "returned") == 0;
  const bool is_dropped = argc > 1 && std::strcmp(argv[1], "dropped") == 0;
  const bool is_fixed = is_returned || is_dropped || (argc > 1 && std::strcmp(argv[1], "fixed") == 0);
  const bool is_fetched = argc > 1 && std::strcmp(argv[1], "fetched") == 0;
  situ::runtime rt{argc, argv};
  situ::ptr<shared> at;
  if (situ::here().index() == 0) {
    at = situ::allocate<shared>(1, {.alignment = 64});
    *at.local() = {};
  }
  at = situ::broadcast(at);
  situ::barrier();
  if (situ::here().index() == 1) {
    write_number(*at.local(), is_fixed, is_returned, is_dropped);
  } else if (situ::here().index() == 0) {
    const int before = at.local()->number.value;
    std::atomic_ref{at.local()->is_read}.store(1);
    const int after = read_number(*at.local(), is_fixed, is_fetched);
    std::printf("%d %d\n", before, after);
  }
  situ::barrier();
}
