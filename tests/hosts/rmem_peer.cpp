// A client of remote memory for the scenario `rmem` of scenarios.py: rmem_peer NAME_SERVER KEYS TIMEOUT_MS SERVER...
// has 1 MiB at each of these servers as ordinary memory, a sixteenth of it here, and checks it all once. Then it does
// what it reads:
//
//   touch SERVER    a page that is not here: "ok", or the error's code in words, and how many milliseconds that took
//   check SERVER    all bytes there: "ok" or the first that is wrong
#include <situ/base/error.h>
#include <situ/rmem/client.h>
#include <situ/rmem/region.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <utility>

namespace {

namespace rmem = situ::rmem;
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t page = 4096;

std::byte expected(std::uint32_t server, std::uint64_t at) {
  return static_cast<std::byte>((at * 2654435761U >> 20) + at / page + server);
}

std::string check(const rmem::region& all, std::uint32_t server) {
  for (std::uint64_t at = 0; at < mebibyte; ++at)
    if (all.data()[at] != expected(server, at)) return "wrong at byte " + std::to_string(at);
  return "ok";
}

template <class Body>
std::string attempt(Body body) {
  const auto begin = std::chrono::steady_clock::now();
  std::string said = "ok";
  try {
    rmem::guarded(body);
  } catch (const situ::error& failure) {
    said = situ::name(failure.code());
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  return said + ", " + std::to_string(took.count());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string names = argv[1];
  const rmem::application_key key = rmem::load_key(argv[2], "packages");
  std::map<std::uint32_t, rmem::region> regions;
  std::map<std::uint32_t, std::uint64_t> turns;
  const std::chrono::milliseconds timeout{std::stoul(argv[3])};
  for (int i = 4; i < argc; ++i) {
    const auto server = static_cast<std::uint32_t>(std::stoul(argv[i]));
    rmem::client with{names, key, {.timeout = timeout}};
    const rmem::capability mine = with.allocate(mebibyte, server);
    auto& all = regions.try_emplace(server, std::move(with), mine, rmem::region_options{.local_bytes = mebibyte / 16})
                    .first->second;
    for (std::uint64_t at = 0; at < mebibyte; ++at) all.data()[at] = expected(server, at);
    all.refresh();
    std::cout << check(all, server) << std::endl;
  }
  std::string what;
  std::uint32_t server = 0;
  while (std::cin >> what >> server) {
    const rmem::region& all = regions.at(server);
    if (what == "check") {
      std::cout << check(all, server) << std::endl;
      continue;
    }
    std::uint64_t at = 0;
    do at = turns[server]++ * 37 % (mebibyte / page) * page;
    while (all.is_here(at, 1));
    std::byte got{};
    std::string said = attempt([&] { got = all.data()[at]; });
    if (said.starts_with("ok") && got != expected(server, at)) said = "wrong at byte " + std::to_string(at);
    std::cout << said << std::endl;
  }
} catch (const std::exception& failure) {
  std::cout << failure.what() << std::endl;
  return 1;
}
