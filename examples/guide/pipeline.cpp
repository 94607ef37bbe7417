// pipeline: each place is one stage, and items go from stage to stage as values. The source sends on only while fewer
// than a few items are under way, so memory is bounded however slow a stage is.
//
//   situ run -n 4 pipeline [items, 10000]
#include <situ/situ.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {

struct item {
  std::uint64_t number = 0;
  std::string text;
  std::map<std::string, int> marks;  // of each stage that it has passed
};

constexpr std::uint64_t most_under_way = 64;

// At place 0: what has come out at the end.
thread_local situ::ptr<situ::signal> done;
thread_local std::uint64_t letters = 0;

void pass(item it) {
  const std::uint32_t stage = situ::here().index();
  it.text += static_cast<char>('a' + stage % 26);
  ++it.marks["stage " + std::to_string(stage)];
  if (stage + 1 < situ::place_count()) {
    situ::async_at(situ::place{stage + 1}, &pass, std::move(it));
    return;
  }
  situ::async_at(
      situ::place{0},
      [](const item& last) {
        letters += last.text.size() + last.marks.size();
        situ::send_signal(done, 1, situ::signal_by::add);
      },
      std::move(it));
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const std::uint64_t items = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10'000;
  if (situ::here().index() != 0) return 0;  // serves until all are done

  done = situ::allocate_signals();
  for (std::uint64_t i = 0; i < items; ++i) {
    if (i >= most_under_way) situ::wait_until(done, [&](std::uint64_t out) { return i - out < most_under_way; });
    pass({i, "", {}});
  }
  situ::wait_until(done, items);
  std::printf("%lu items, %lu letters and marks: %s\n", static_cast<unsigned long>(items),
              static_cast<unsigned long>(letters),
              letters == items * 2 * situ::place_count() ? "as it should be" : "wrong");
}
