// A program for the tests of `situ run`: does one thing, named by its arguments.
//   launch_probe ACTION [PLACE [VALUE]]     PLACE is the one that does it, the others wait for a loss
#include "launch/launch_support.h"

#include <situ/base/error.h>
#include <situ/memory/placement.h>
#include <situ/situ.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

namespace {

using namespace situ::test;

std::uint32_t number(int argc, char** argv, int index) {
  return argc > index ? static_cast<std::uint32_t>(std::stoul(argv[index])) : 0;
}

// Which place this will be, before it has joined.
std::uint32_t place_to_be() {
  const char* const place = std::getenv("SITU_PLACE");
  return place != nullptr ? static_cast<std::uint32_t>(std::stoul(place)) : 0;
}

void print_pid() {
  std::printf("pid %d place %u\n", ::getpid(), my_place());
  std::fflush(stdout);
}

// The time of the steady clock at which this place is about to die, in nanoseconds.
void print_end() {
  std::printf("ends at %lld\n", static_cast<long long>(std::chrono::steady_clock::now().time_since_epoch().count()));
  std::fflush(stdout);
}

int echo_input() {
  for (std::string line; std::getline(std::cin, line);) std::printf("place %u read %s\n", my_place(), line.c_str());
  std::printf("place %u is through\n", my_place());
  return 0;
}

int write_lines() {
  for (int i = 0; i < 200; ++i) {
    std::printf("out %d of %u ", i, my_place());
    std::printf("%s\n", std::string(300, 'x').c_str());
    std::fprintf(stderr, "err %d of %u\n", i, my_place());
  }
  std::printf("no newline %u", my_place());
  return 0;
}

int print_processors() {
  cpu_set_t set;
  ::sched_getaffinity(0, sizeof set, &set);
  std::string text = "place " + std::to_string(my_place()) + " on";
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) text += " " + std::to_string(i);
  std::printf("%s\n", text.c_str());
  return 0;
}

int print_environment() {
  for (const char* const name : {"SITU_JOB_FD", "SITU_PLACE", "SITU_IN_PROCESS", "SITU_TAG"})
    if (std::getenv(name) != nullptr) std::printf("%s is still set\n", name);
  if (const char* const check = std::getenv("SITU_CHECK_UNITS")) std::printf("units are checked by %s\n", check);
  const int flags = ::fcntl(STDIN_FILENO, F_GETFD);
  std::printf("place %u of %u, standard input %s\n", my_place(), control().place_count, flags >= 0 ? "open" : "closed");
  return 0;
}

void take_first_base() {
  const auto base = situ::detail::job::create({.place_count = 2}).control().candidates[0];
  if (::mmap(reinterpret_cast<void*>(base), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
             0) == MAP_FAILED)
    throw std::runtime_error{"cannot take the base"};
}

int print_round() {
  for (std::uint32_t round = 0; round < situ::detail::job_control::address_rounds; ++round)
    if (control().candidates[round] == situ::detail::current->base) std::printf("base of round %u\n", round);
  return 0;
}

// Of a closed stream: what a program meets that knows nothing of Situ.
bool fails_as_closed(int stream) {
  char byte = 'x';
  return ::write(stream, &byte, 1) < 0 && errno == EBADF && ::read(stream, &byte, 1) < 0 && errno == EBADF;
}

// Uses the closed streams (a bit each) while calls and barriers go on; what was in the job's memory is still there.
// Ends at once where that is not so, with a code for each case. (Standard input is the first place's; the launcher
// gives the others an empty one.)
int use_closed_streams(unsigned closed) {
  const situ::ptr<std::uint64_t> words = situ::allocate<std::uint64_t>(1 << 12);
  for (std::uint64_t i = 0; i < 1 << 12; ++i) words.local()[i] = i;
  const std::string text(1 << 16, 'x');
  for (int stream = 0; stream < 3; ++stream) {
    if ((closed >> stream & 1) == 0 || (stream == 0 && my_place() != 0)) continue;
    if (!fails_as_closed(stream)) std::_Exit(40 + stream);
    if (::write(stream, text.data(), text.size()) >= 0) std::_Exit(50 + stream);
  }
  situ::barrier();
  const situ::place next{(my_place() + 1) % situ::place_count()};
  for (int i = 0; i < 200; ++i)
    if (situ::at(next, [](int n) { return n + 1; }, i) != i + 1) std::_Exit(60);
  for (std::uint64_t i = 0; i < 1 << 12; ++i)
    if (words.local()[i] != i) std::_Exit(61);
  situ::barrier();
  return 0;
}

int launch_with_closed_streams(unsigned closed, situ::launch_mode mode) {
  const situ::launch_result result = situ::launch(2, [closed] { return use_closed_streams(closed); }, {.mode = mode});
  for (int stream = 0; stream < 3; ++stream)
    if ((closed >> stream & 1) != 0 && !fails_as_closed(stream)) return 70 + stream;
  return result.exit_code();
}

// Of what is allocated without one.
int print_intent() {
  const auto block = situ::allocate<int>(100);
  std::printf("%s\n", situ::placement(block).intent.c_str());
  situ::deallocate(block);
  return 0;
}

// As daemons do: closes every descriptor, then opens files, whose numbers are those of what was closed.
int close_all() {
  ::close_range(3, ~0U, 0);
  const int files[] = {::open("/dev/null", O_WRONLY), ::open("/dev/null", O_WRONLY), ::open("/dev/null", O_WRONLY)};
  use_closed_streams(0);
  static int first = -1;
  first = files[0];
  std::atexit([] {  // after the runtime
    if (::write(first, "x", 1) != 1) std::_Exit(71);
  });
  return 0;
}

[[gnu::noinline]] int recurse(int depth) {
  volatile char frame[1024];
  frame[0] = 1;
  return depth == 0 ? 0 : recurse(depth - 1) + frame[0];
}

int act(const std::string& action, std::uint32_t actor, int value) {
  if (action == "allocate") {
    std::memset(situ::allocate<std::byte>(4 << 20).local(), 1, 4 << 20);
    return 0;
  }
  if (action == "exit") return my_place() == actor ? value : 0;
  if (action == "cat") return echo_input();
  if (action == "lines") return write_lines();
  if (action == "processors") return print_processors();
  if (action == "environment") return print_environment();
  if (action == "streams") return use_closed_streams(actor);
  if (action == "streams-labelled") return use_closed_streams(actor & 1);  // the others are pipes to the launcher
  if (action == "intent") return print_intent();
  if (action == "deep-task") return situ::async([] { return recurse(2000); }).get() == 2000 ? 0 : 1;
  if (action == "close-all") return close_all();
  if (action == "stand" && my_place() == 0) situ::barrier();
  if (action == "stand") return 0;
  if (action == "collide") return print_round();
  print_pid();
  if (action == "sleep") sleep_for_ever();
  if (action == "ignore") {
    ::signal(SIGINT, SIG_IGN);
    std::printf("ignoring\n");
    std::fflush(stdout);
    sleep_for_ever();
  }
  if (my_place() != actor) sleep_until_loss();
  print_end();
  if (action == "kill") {
    ::signal(value, SIG_DFL);  // sanitizers catch some
    ::kill(::getpid(), value);
  }
  if (action == "leave") std::_Exit(value);
  if (action == "overflow") return recurse(1 << 20);
  if (action == "throw") throw std::runtime_error{"thrown on purpose"};
  std::fprintf(stderr, "launch_probe: unknown action %s\n", action.c_str());
  return 99;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string action = argc > 1 ? argv[1] : "";
  const std::uint32_t actor = number(argc, argv, 2);
  const int value = static_cast<int>(number(argc, argv, 3));
  if (action == "no-join" && place_to_be() == actor) {
    std::this_thread::sleep_for(std::chrono::milliseconds{argc > 4 ? number(argc, argv, 4) : 0});
    print_end();
    return value;
  }
  if (action == "never-join") return value;
  if (action == "streams-launch") return launch_with_closed_streams(actor, situ::launch_mode::processes);
  if (action == "streams-launch-threads") return launch_with_closed_streams(actor, situ::launch_mode::threads);
  if (action == "collide" && place_to_be() == actor) take_first_base();
  if (action == "again") {
    for (const int turn : {1, 2}) {
      situ::runtime joined{argc, argv};
      if (situ::all_reduce(1, std::plus<>{}) == static_cast<int>(situ::place_count())) std::printf("turn %d\n", turn);
    }
    return 0;
  }
  if (action == "throw-inside") {  // caught, so the runtime is left by unwinding
    try {
      situ::runtime joined{argc, argv};
      if (my_place() == actor) {
        print_end();
        throw std::runtime_error{"thrown on purpose"};
      }
      sleep_until_loss();
    } catch (const std::exception& error) {
      std::printf("caught %s\n", error.what());
      return 5;
    }
  }
  situ::runtime joined{argc, argv};
  return act(action == "no-join" ? "wait" : action, actor, value);
}
