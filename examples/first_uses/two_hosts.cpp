// two_hosts: places on several hosts count the primes below a number. A counter at place 0 hands out pieces of work to
// all places, on whatever host; a sum over all places brings the result to place 0, which checks it by a loop.
//
//   situ run --hosts a:2,b:2 two_hosts [below, 200000]
#include <situ/situ.h>
#include <situ/spread/counter.h>

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

bool is_prime(std::int64_t n) {
  if (n < 2) return false;
  for (std::int64_t divisor = 2; divisor * divisor <= n; ++divisor)
    if (n % divisor == 0) return false;
  return true;
}

// By the sieve of Eratosthenes, which is another way than the places'.
std::int64_t sieve(std::int64_t below) {
  std::vector<bool> is_composite(static_cast<std::size_t>(below) + 1);
  std::int64_t count = 0;
  for (std::int64_t n = 2; n < below; ++n) {
    if (is_composite[static_cast<std::size_t>(n)]) continue;
    ++count;
    for (std::int64_t m = n * n; m < below; m += n) is_composite[static_cast<std::size_t>(m)] = true;
  }
  return count;
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

int main(int argc, char** argv) {
  situ::runtime rt{argc, argv};
  const std::int64_t below = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 200'000;

  situ::counter work{situ::place{0}, {.end = below}};
  std::int64_t found = 0;
  while (const auto some = work.next(1000))
    for (const std::int64_t n : some) found += is_prime(n);

  const std::int64_t sum = situ::reduce(found, std::plus<>{}, 0);
  const std::vector<std::string> hosts = situ::gather(host_name());
  if (situ::here().index() != 0) return 0;
  std::map<std::string, int> places_on;
  for (const std::string& host : hosts) ++places_on[host];
  for (const auto& [host, places] : places_on) std::printf("%s: %d places\n", host.c_str(), places);
  const bool is_right = sum == sieve(below);
  std::printf("%lld primes below %lld, %s\n", static_cast<long long>(sum), static_cast<long long>(below),
              is_right ? "as a sieve finds" : "but a sieve finds another number");
  return is_right ? 0 : 1;
}
