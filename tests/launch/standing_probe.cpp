// A program for the tests of what a job says of itself: does one thing, named by its argument.
#include <situ/situ.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

std::uint32_t me() { return situ::here().index(); }

void break_a_promise() {
  const situ::future<int> never = situ::promise<int>{}.get_future();
  never.get();
}
[[gnu::noinline]] int wait_in_a_call() {
  static thread_local situ::promise<int> never;
  return never.get_future().get();
}
int twice(int n) { return 2 * n; }

void poll_for_ever() {
  const auto flag = situ::allocate<std::uint64_t>();
  situ::put(flag, 0);
  while (situ::atomic_load(flag) == 0) situ::progress();
}

// A loop that polls much longer than a ring holds, then a few of everything that a trace shows.
void work() {
  const auto flag = situ::allocate<std::uint64_t>();
  situ::put(flag, 0);
  const auto all = situ::all_gather(flag);
  const situ::place next{(me() + 1) % situ::place_count()};
  for (int i = 0; i < 20; ++i) situ::at(next, [](int n) { return twice(n); }, i);
  situ::barrier();
  for (int i = 0; i < 1'000'000; ++i) {
    static_cast<void>(situ::atomic_load(flag));
    if (i % 1000 == 0) situ::progress();
  }
  situ::finish([&] {
    for (int i = 0; i < 10; ++i) {
      situ::async_at(next, &twice, i);
      situ::async([next] { return situ::at(next, &twice, 1); });
    }
  });
  situ::put(all[next.index()], 1);
  situ::barrier();
}

void call_for_ever() {
  const situ::place next{(me() + 1) % situ::place_count()};
  std::printf("begun\n");
  std::fflush(stdout);
  for (;;) situ::at(next, &twice, 1);
}

void act(const std::string& action) {
  if (action == "barrier" && me() == 0) situ::barrier();  // the others leave
  if (action == "order") {                                // the one waits for the other's part
    if (me() == 0)
      situ::barrier();
    else
      static_cast<void>(situ::broadcast(1));
  }
  if (action == "roots") static_cast<void>(situ::broadcast(1, me() % 2));
  if (action == "kinds") {
    if (me() == 0)
      static_cast<void>(situ::all_reduce(1, std::plus<>{}));
    else
      static_cast<void>(situ::gather(1));
  }
  if (action == "promise" && me() == 0) {
    situ::promise<int> forgotten;
    forgotten.get_future().get();
  }
  if (action == "broken" && me() == 0) break_a_promise();
  if (action == "call" && me() == 0) situ::at(situ::place{1}, &wait_in_a_call);
  if (action == "scope" && me() == 0) situ::finish([] { situ::async(&wait_in_a_call); });
  if (action == "many" && me() == 0) {
    situ::promise<int> never;
    std::vector<situ::future<int>> tasks;
    for (int i = 0; i < 100; ++i) tasks.push_back(situ::async([f = never.get_future()] { return f.get(); }));
    tasks[0].get();
  }
  if (action == "poll" && me() == 0) poll_for_ever();
  if (action == "work") work();
  if (action == "calls") call_for_ever();
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime joined{argc, argv};
  act(argc > 1 ? argv[1] : "");
}
