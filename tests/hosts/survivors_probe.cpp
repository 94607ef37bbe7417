// survivors_probe WHAT PLACE...: a job over several hosts that works until places are lost, and goes on by survivors().
//
//   killed PLACE...     these kill themselves, one after the other, while all work
//   agreeing PLACE...   the first kills itself while all work, the others once they have come to survivors()
//   outside SECONDS     nobody kills himself: place 0 prints "ready", and the test kills a host; then the others work for
//                       so long
//   standing PLACE      as killed; then the first of those that go on waits for the others in a barrier, which leave
//   held                nobody dies: place 0 prints "ready", and calls the last a second later, when the test has cut the
//                       link between them
//
// Each place that goes on checks that all others have the same team and that everything works in it, and prints the
// team.
#include <situ/situ.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "memory/job.h"

namespace {

using namespace situ;
using namespace std::chrono_literals;

constexpr unsigned longest_run_s = 60;  // then something hangs
constexpr int steps_before = 50;
constexpr int steps_after = 30;

void must(bool holds, std::string_view what) {
  if (!holds) throw std::runtime_error{fmt::format("place {}: {}", here().index(), what)};
}

[[noreturn]] void die() {
  for (;;) ::kill(::getpid(), SIGKILL);
}

std::vector<std::uint32_t> members_of(const team& rest) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t i = 0; i < rest.size(); ++i) members.push_back(rest.member(i).index());
  return members;
}

// A sum over all members, and a call to the next.
void step(const team& members) {
  must(all_reduce(1U, std::plus<>{}, members) == members.size(), "a sum over the team");
  const place next = members.member((members.index() + 1) % members.size());
  must(at(next, [] { return here().index(); }) == next.index(), "an answer of the next member");
}

void use(const team& rest) {
  const std::vector<std::uint32_t> members = members_of(rest);
  must(rest.member(rest.index()) == here(), "its own index");
  barrier(rest);
  for (const std::vector<std::uint32_t>& others : all_gather(members, rest))
    must(others == members, "another team at another place");
  std::vector<double> many(20'000, 1.0);
  all_reduce(std::span{many}, std::plus<>{}, rest);
  must(many[19'999] == rest.size(), "a long sum");
  const team halves = rest.split(rest.index() % 2);
  must(all_reduce(1U, std::plus<>{}, halves) == (rest.size() + 1 - rest.index() % 2) / 2, "a sum over half of it");
  std::uint32_t ran = 0;
  finish([&] {
    for (const std::uint32_t p : members)
      async_at(place{p}, [] { finish([] { async([] {}); }); }).then([&ran] { ++ran; });
  });
  must(ran == rest.size(), "calls in a scope");
  barrier_async(rest).get();
}

bool has_member_at(const team& rest, std::uint16_t host) {
  const auto members = members_of(rest);
  return std::any_of(members.begin(), members.end(),
                     [host](std::uint32_t p) { return detail::current->job->homes()[p].host == host; });
}

// What the others had written: at a host that goes on it is still there.
void look_at_the_lost(const team& rest, const std::vector<ptr<std::uint32_t>>& words) {
  for (std::uint32_t p = 0; p < place_count(); ++p) {
    if (rest.index_of(place{p})) continue;
    if (has_member_at(rest, detail::current->job->homes()[p].host))
      must(get(words[p]) == 100 + p, "memory of a lost place");
    bool is_refused = false;
    try {
      at(place{p}, [] {});
    } catch (const place_lost_error&) {
      is_refused = true;
    }
    must(is_refused, "a call to a lost place");
  }
}

team agree(bool dies) {
  if (!dies) return survivors();
  const future<> comes = async([] { (void)survivors(); });
  try {
    (void)comes.wait_for(60ms);
  } catch (const place_lost_error&) {
    std::this_thread::sleep_for(60ms);
  }
  die();
}

void say_ready() {
  if (here().index() != 0) return;
  std::printf("ready\n");
  std::fflush(stdout);
}

// All sleep while the message of the call is held up.
void call_later() {
  say_ready();
  if (here().index() != 0) return;
  std::this_thread::sleep_for(1s);
  must(at(place{place_count() - 1}, [] { return here().index(); }) == place_count() - 1,
       "an answer that took its time");
  std::printf("answered\n");
}

void run(std::string_view what, const std::vector<std::uint32_t>& victims) {
  const auto its_turn = std::find(victims.begin(), victims.end(), here().index()) - victims.begin();
  const bool is_victim = what != "outside" && its_turn < static_cast<std::ptrdiff_t>(victims.size());
  const bool dies_at_work = is_victim && (what != "agreeing" || its_turn == 0);
  const ptr<std::uint32_t> own = allocate<std::uint32_t>();
  put(own, 100 + here().index());
  const std::vector<ptr<std::uint32_t>> words = all_gather(own);
  if (what == "outside") say_ready();
  const std::size_t losses = what == "outside" ? 1 : victims.size();
  const auto longest_work = std::chrono::seconds{what == "outside" ? victims[0] : 0};
  team rest = world();
  for (bool done = false; !done;) try {
      for (int i = 0; rest.size() + losses > place_count() || i < steps_after; ++i) {
        if (dies_at_work && i == steps_before + 10 * its_turn) die();
        step(rest);
      }
      for (const auto begun = std::chrono::steady_clock::now();;) {  // all end after the same step
        const bool is_over = std::chrono::steady_clock::now() - begun >= longest_work;
        if (broadcast(is_over ? 1 : 0, 0, rest) != 0) break;
        step(rest);
        std::this_thread::sleep_for(10ms);
      }
      done = true;
    } catch (const place_lost_error&) {
      // Others have come for long when one host's places do.
      if (what == "agreeing" && here().index() + 1 == place_count()) std::this_thread::sleep_for(300ms);
      rest = agree(what == "agreeing" && is_victim);
    }
  if (what == "standing") return rest.index() == 0 ? barrier(rest) : void();
  use(rest);
  look_at_the_lost(rest, words);
  use(survivors());
  std::printf("%s", fmt::format("place {} goes on: {}\n", here().index(), fmt::join(members_of(rest), " ")).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  ::alarm(longest_run_s);
  try {
    runtime rt{argc, argv};
    std::vector<std::uint32_t> victims;
    for (int i = 2; i < argc; ++i) victims.push_back(static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10)));
    const std::string_view what = argc > 1 ? argv[1] : "";
    what == "held" ? call_later() : run(what, victims);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "survivors_probe: %s\n", e.what());
    return 1;
  }
}
