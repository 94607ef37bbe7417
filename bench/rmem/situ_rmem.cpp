// Remote memory beside a blocking TCP echo of the same bytes, for `situ bench rmem`; by hand: situ run -n 1
// situ_bench_rmem (bench/support/job_samples.h). Server and echo are processes of their own, which sleep while nothing
// is asked of them.
#include "os/child.h"
#include "support/job_samples.h"
#include "support/tcp_echo.h"

#include <situ/rmem/client.h>
#include <situ/rmem/region.h>
#include <situ/rmem/server.h>

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace job_bench;
namespace rmem = situ::rmem;

constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr std::size_t paged_bytes = std::size_t{64} << 20;
constexpr std::size_t page_bytes = 4096;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

// Servers and echo have one processor, as if theirs were another host, and the client another: where the kernel puts
// who sleeps decides what a wake-up costs, by a factor of five, and is not the same for two that take turns.
enum class side : std::uint8_t { client, servers };
void take(side which) {
  cpu_set_t everywhere;
  std::memset(&everywhere, 0xff, sizeof everywhere);
  ::sched_setaffinity(0, sizeof everywhere, &everywhere);
  ::sched_getaffinity(0, sizeof everywhere, &everywhere);
  cpu_set_t one;
  CPU_ZERO(&one);
  int left = which == side::client || CPU_COUNT(&everywhere) == 1 ? 0 : 1;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &everywhere) && left-- == 0) CPU_SET(processor, &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

struct started {
  situ::os::child process;
  std::string text;  // what it has written to the pipe first
};
// Runs `body(pipe)` in a process of its own, which ends with this one.
template <class Body>
started start(Body body) {
  const situ::os::pipe_ends ends = situ::os::pipe_ends::make();
  if (!ends) fail("pipe");
  const auto serve = [&] {
    take(side::servers);
    body(ends.write.number());
    return 0;
  };
  situ::os::child process = situ::os::child::fork(serve, SIGKILL);
  if (!process) fail("fork");
  char text[64]{};
  if (::read(ends.read.number(), text, sizeof text - 1) <= 0) fail("a server does not start");
  return {std::move(process), text};
}

void serve_echo(int pipe) {
  tcp_echo::server echo{htonl(INADDR_LOOPBACK), most_bytes};
  const std::string port = std::to_string(ntohs(echo.way().port));
  if (::write(pipe, port.data(), port.size()) < 0) fail("write");
  echo.serve();
}

void serve_rmem(int pipe, const rmem::application_key& key) {
  rmem::server_options options;
  options.capacity_bytes = 4 * most_bytes + paged_bytes;
  options.keys = {key};
  rmem::server server{options};
  const std::string& endpoint = server.endpoints()[0];
  if (::write(pipe, endpoint.data(), endpoint.size()) < 0) fail("write");
  server.run();
}

struct sides {
  tcp_echo::client echo;
  rmem::client situ;
  rmem::client two_steps;
  rmem::capability region;
};

template <class Body>
double time_of(std::size_t operations, Body body) {
  body();
  const double begin = now_ns();
  for (std::size_t i = 0; i < operations; ++i) body();
  return (now_ns() - begin) / static_cast<double>(operations);
}

// The time for each touch that waited for a page: some of the body's touches meet one that is here.
template <class Body>
double time_of_absent(const rmem::region& region, std::size_t operations, Body body) {
  body();
  const std::uint64_t before = region.counted().missing;
  const double begin = now_ns();
  for (std::size_t i = 0; i < operations; ++i) body();
  const double ns = now_ns() - begin;
  return ns / static_cast<double>(std::max<std::uint64_t>(region.counted().missing - before, 1));
}

enum class what : std::uint8_t { read, write, fetch_add };

void measure(sides& with, const char* name, what kind, std::size_t bytes) {
  if (!is_wanted(name)) return;
  std::vector<std::byte> local(bytes, std::byte{1});
  const std::size_t operations = (is_quick() ? 100'000 : 2'000'000) / (bytes + 5000) + 1;
  const int rounds = is_quick() ? 1 : 25;
  std::vector<samples> all{{"echo"}, {"situ"}};
  if (kind == what::write) all.push_back({"situ_two_steps"});
  for (int i = 0; i < rounds; ++i) {
    all[0].ns.push_back(time_of(operations, [&] {
      with.echo.ask(kind == what::write ? local : std::span<std::byte>{},
                    kind == what::read ? local : std::span<std::byte>{});
    }));
    all[1].ns.push_back(time_of(operations, [&] {
      if (kind == what::read) with.situ.read(with.region, 0, local);
      if (kind == what::write) with.situ.write(with.region, 0, local);
      if (kind == what::fetch_add) with.situ.fetch_add(with.region, 0, 1);
    }));
    if (kind == what::write)
      all[2].ns.push_back(time_of(operations, [&] { with.two_steps.write(with.region, 0, local); }));
  }
  print(name, all);
}

void keep(std::uint64_t value) { asm volatile("" ::"r"(value) : "memory"); }
void keep(std::byte value) { keep(static_cast<std::uint64_t>(value)); }

// A page of a region beside the client's call for the same bytes: one here and there, and all in order. A sixteenth of
// them has room here.
void measure_pages(rmem::client& client, const std::string& endpoint, const rmem::application_key& key) {
  if (!is_wanted("remote_page_random") && !is_wanted("remote_pages_in_order") && !is_wanted("cached_page")) return;
  const rmem::capability all = client.allocate(paged_bytes);
  constexpr std::size_t pages = paged_bytes / page_bytes;
  const int rounds = is_quick() ? 1 : 15;
  const auto region_of = [&](rmem::prefetch ahead, rmem::fetcher fetches = rmem::fetcher::own_thread) {
    return rmem::region{
        rmem::client{endpoint, key}, all, {.local_bytes = paged_bytes / 16, .ahead = ahead, .fetches = fetches}};
  };
  std::vector<std::byte> here(most_bytes, std::byte{1});
  std::uint64_t state = 1;
  const auto any_page = [&] {
    return (state = state * 6364136223846793005U + 1442695040888963407U) >> 33 & (pages - 1);
  };
  if (is_wanted("remote_page_random")) {
    rmem::region far = region_of(rmem::prefetch::none);
    rmem::region by_itself = region_of(rmem::prefetch::none, rmem::fetcher::toucher);
    const std::size_t operations = is_quick() ? 50 : 1000;
    std::vector<samples> each{{"client_read"}, {"touch"}, {"change"}, {"touch_itself"}, {"above"}, {"above_itself"}};
    const auto above = [](const samples& touched, const samples& read) {
      return std::max(touched.ns.back() - read.ns.back(), 0.01);  // a figure, also where it is noise
    };
    for (int i = 0; i < rounds; ++i) {
      each[0].ns.push_back(
          time_of(operations, [&] { client.read(all, any_page() * page_bytes, std::span{here}.first(page_bytes)); }));
      each[1].ns.push_back(time_of_absent(far, operations, [&] { keep(far.data()[any_page() * page_bytes]); }));
      each[2].ns.push_back(
          time_of_absent(far, operations, [&] { far.data()[any_page() * page_bytes] ^= std::byte{1}; }));
      each[3].ns.push_back(
          time_of_absent(by_itself, operations, [&] { keep(by_itself.data()[any_page() * page_bytes]); }));
      each[4].ns.push_back(above(each[1], each[0]));
      each[5].ns.push_back(above(each[3], each[0]));
    }
    print("remote_page_random", each);
  }
  if (is_wanted("remote_pages_in_order")) {
    rmem::region far = region_of(rmem::prefetch::majority);
    std::vector<samples> each{{"client_read"}, {"touch"}, {"change"}};
    const std::size_t some = is_quick() ? pages / 16 : pages;
    const auto per_page = [&](const auto& walk) {
      const double begin = now_ns();
      walk();
      return (now_ns() - begin) / static_cast<double>(some);
    };
    for (int i = 0; i < rounds; ++i) {
      each[0].ns.push_back(per_page([&] {
        for (std::size_t at = 0; at < some * page_bytes; at += most_bytes) client.read(all, at, here);
      }));
      each[1].ns.push_back(per_page([&] {
        for (std::size_t page = 0; page < some; ++page) keep(far.data()[page * page_bytes]);
      }));
      each[2].ns.push_back(per_page([&] {
        for (std::size_t page = 0; page < some; ++page) far.data()[page * page_bytes] ^= std::byte{1};
      }));
    }
    print("remote_pages_in_order", each);
  }
  if (is_wanted("cached_page")) {
    rmem::region far = region_of(rmem::prefetch::majority);
    std::vector<samples> each{{"plain"}, {"touch"}};
    const auto sum = [&](const std::byte* from) {
      std::uint64_t total = 0;
      for (std::size_t at = 0; at < most_bytes; at += 64) total += static_cast<std::uint64_t>(from[at]);
      keep(total);
    };
    for (int i = 0; i < rounds; ++i) {
      each[0].ns.push_back(time_of(50, [&] { sum(here.data()); }) / (most_bytes / 64));
      each[1].ns.push_back(time_of(50, [&] { sum(far.data()); }) / (most_bytes / 64));
    }
    print("cached_page", each);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto key = rmem::application_key::generate("bench");
  const started echo = start(serve_echo);
  const started server = start([&](int pipe) { serve_rmem(pipe, key); });
  const std::string& endpoint = server.text;
  take(side::client);
  situ::runtime rt{argc, argv};
  const tcp_echo::address way{htonl(INADDR_LOOPBACK), htons(static_cast<in_port_t>(std::stoi(echo.text)))};
  sides with{tcp_echo::client{way}, {endpoint, key}, {endpoint, key, {.two_steps = true}}, {}};
  with.region = with.situ.allocate(most_bytes);
  measure(with, "remote_read_8", what::read, 8);
  measure(with, "remote_read_4096", what::read, 4096);
  measure(with, "remote_read_1M", what::read, most_bytes);
  measure(with, "remote_write_8", what::write, 8);
  measure(with, "remote_write_4096", what::write, 4096);
  measure(with, "remote_write_1M", what::write, most_bytes);
  measure(with, "remote_fetch_add", what::fetch_add, 0);
  measure_pages(with.situ, endpoint, key);
  print_end();
}
