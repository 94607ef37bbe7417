// A program that knows nothing of Situ, so it forks by itself: it has memory, and a child that has some, too, long enough
// to be looked at.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

std::uint64_t sum_of_some() {
  std::vector<std::uint64_t> all(std::size_t{1} << 20);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  std::uint64_t sum = 0;
  for (const std::uint64_t each : all) sum += each;
  std::this_thread::sleep_for(std::chrono::milliseconds{120});
  return sum;
}

}  // namespace

int main() {
  const pid_t child = ::fork();
  if (child < 0) return std::fputs("error: no process for the test\n", stderr), 3;
  const std::uint64_t sum = sum_of_some();
  if (child == 0) ::_exit(sum == 549755289600U ? 0 : 2);
  int status = 0;
  ::waitpid(child, &status, 0);
  std::printf("sum %llu\n", static_cast<unsigned long long>(sum));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
