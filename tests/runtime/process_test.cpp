// What is one a process: forks of a place, and memory that the kernel refuses. (Stacks that are used up: stack_test.)
#include "support/forked.h"
#include "support/places.h"

#include "launch/body_result.h"
#include "memory/job.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <thread>

namespace situ {
namespace {

using testing::HasSubstr;

// Memory that a place shares with its children and the other places: who came how far.
struct shared_words {
  std::atomic<int> values[16];
};
shared_words& shared() {
  static shared_words& made = *static_cast<shared_words*>(
      ::mmap(nullptr, sizeof(shared_words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return made;
}

using test::code_of;
using test::in_forked_child;
using test::said_by_child;
using test::said_in_forked_child;

// Forks a child that returns to here, with an empty object: what such a child does is what the test is about. So it
// cannot be one of test::fork_child.
os::child fork_here() {
  const pid_t forked = ::fork();
  return forked > 0 ? os::child{forked} : os::child{};
}

class forks : public test::on_places {
 protected:
  void SetUp() override {
    if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
    if (test::with_sanitizer && GetParam().mode == launch_mode::threads && GetParam().places > 1)
      GTEST_SKIP() << "a child may be forked while another thread holds the lock of AddressSanitizer's allocator";
    for (std::atomic<int>& each : shared().values) each = 0;
  }
};

// --- a child that comes back -----------------------------------------------------------------------------------------

// The child unwinds the place's body, and its runtime with it: the others' barrier must not count it, nor may the place
// have left.
TEST_P(forks, a_child_that_returns_from_the_body_does_not_leave_in_its_parents_name) {
  const launch_result result =
      launch(GetParam().places,
             [] {
               barrier();
               if (here().index() == 0) {
                 os::child child = fork_here();
                 if (!child) return 7;
                 EXPECT_EQ(code_of(child.wait()), 7);
                 EXPECT_EQ(shared().values[0], 0) << "somebody passed the barrier";
                 EXPECT_EQ(detail::current->job->slot(0).state.load(), detail::place_state::joined);
                 EXPECT_EQ(detail::current->job->slot(0).result.words().get(), -1);
               }
               barrier();
               ++shared().values[0];
               return testing::Test::HasFailure() ? 1 : 0;
             },
             {.mode = GetParam().mode});
  EXPECT_TRUE(result.ok()) << result.message();
}

TEST_P(forks, a_child_that_ends_by_an_exception_does_not_lose_its_parent) {
  run([] {
    barrier();  // the child unwinds a trace of GoogleTest, whose mutex no other thread may hold at the fork
    for (const bool is_caught_nowhere : {false, true}) {
      os::child child = fork_here();
      if (!child) {
        const int nowhere = ::open("/dev/null", O_WRONLY);
        test::copy_descriptor(nowhere, STDERR_FILENO);
        if (is_caught_nowhere) std::thread{[] { throw std::runtime_error{"on purpose"}; }}.join();
        throw std::runtime_error{"on purpose"};
      }
      EXPECT_NE(code_of(child.wait()), 0);
    }
    EXPECT_EQ(detail::current->job->failure_epoch.load(), 0U);
    barrier();
  });
}

// Back from the task it stands in the loop of a worker: it would answer, and take in messages that are its parent's.
TEST_P(forks, a_child_that_returns_from_a_task_ends_with_an_error) {
  if (GetParam().places == 1) return;
  run([] {
    if (here().index() == 0) {
      const int answer = at(
          place{1},
          [](int n) {
            os::pipe_ends ends = os::pipe_ends::make();
            EXPECT_TRUE(ends);
            os::child child = fork_here();
            if (!child) {
              test::copy_descriptor(ends.write.number(), STDERR_FILENO);
              return 1000;  // from the task
            }
            ends.write.close();
            std::string text(4096, ' ');
            EXPECT_GT(::read(ends.read.number(), text.data(), text.size()), 0);
            ends.read.close();
            EXPECT_NE(code_of(child.wait()), 0);
            EXPECT_THAT(text, HasSubstr("A forked child is no place"));
            ++shared().values[1];
            return n + 1;
          },
          1);
      EXPECT_EQ(answer, 2);
      EXPECT_EQ(shared().values[1], 1);
      EXPECT_EQ(at(place{1}, [](int n) { return n + 1; }, 1), 2);
    }
    barrier();
  });
}

// --- a child that goes on --------------------------------------------------------------------------------------------

TEST_P(forks, a_child_that_calls_situ_gets_an_error) {
  run([] {
    const ptr<int> own = allocate<int>();
    put(own, 5);
    promise<int> pending;
    const future<int> outcome = pending.get_future();
    const place other{place_count() - 1};
    const std::vector<std::pair<const char*, std::function<void()>>> calls{
        {"here", [] { (void)here(); }},
        {"place_count", [] { (void)place_count(); }},
        {"progress", [] { progress(); }},
        {"barrier", [] { barrier(); }},
        {"world", [] { (void)world(); }},
        {"at", [&] { (void)at(other, [](int n) { return n; }, 1); }},
        {"async_at", [&] { (void)async_at(other, [](int n) { return n; }, 1); }},
        {"async", [] { (void)async([] {}); }},
        {"async with a stack", [] { (void)async(with_stack(1 << 20), [] {}); }},
        {"finish", [] { finish([] {}); }},
        {"get", [&] { (void)get(own); }},
        {"put", [&] { put(own, 6); }},
        {"atomic", [&] { atomic_fetch_add(own, 1); }},
        {"allocate", [] { (void)allocate<int>(); }},
        {"deallocate", [&] { deallocate(own); }},
        {"wait", [&] { (void)outcome.get(); }},
        {"then", [&] { (void)outcome.then([](int n) { return n; }); }},
        {"reduce", [] { (void)all_reduce(1, std::plus<>{}); }},
    };
    for (const auto& [name, call] : calls) {
      const said_by_child answer = said_in_forked_child([&call = call]() -> std::string {
        try {
          call();
          return "nothing was thrown";
        } catch (const error& e) {
          return e.what();
        }
      });
      EXPECT_EQ(code_of(answer.end), 0) << name;
      EXPECT_THAT(answer.text, HasSubstr("no runtime")) << name;
      EXPECT_THAT(answer.text, HasSubstr("forked")) << name;
    }
    EXPECT_EQ(get(own), 5);
    EXPECT_EQ(said_in_forked_child([&] {
                pending.set_value(1);  // the child's copy of it: whoever waits is the parent's
                return std::string{"set"};
              }).text,
              "set");
    EXPECT_FALSE(outcome.is_ready());
    barrier();
    deallocate(own);
    pending.set_value(1);
  });
}

TEST_P(forks, a_child_may_read_the_jobs_memory_but_not_write_it) {
  run([] {
    const ptr<std::uint64_t> words = allocate<std::uint64_t>(100);
    for (std::uint64_t i = 0; i < 100; ++i) words.local()[i] = i;
    const said_by_child reads = said_in_forked_child([&] { return std::to_string(words.local()[99]); });
    EXPECT_EQ(reads.text, "99");
    const said_by_child writes = said_in_forked_child(
        [&] {
          words.local()[50] = 7;
          return std::string{"written"};
        },
        true);
    EXPECT_NE(code_of(writes.end), 0);
    EXPECT_THAT(writes.text, HasSubstr("wrote to the job's memory"));
    EXPECT_EQ(words.local()[50], 50U);
    barrier();
    deallocate(words);
  });
}

TEST_P(forks, a_child_may_start_programs_or_be_a_job_of_its_own) {
  run([] {
    // All by itself, as a program does.
    EXPECT_EQ(std::system("exit 3") >> 8, 3);
    char name[] = "/bin/true";
    char* arguments[] = {name, nullptr};
    pid_t spawned = 0;
    ASSERT_EQ(::posix_spawn(&spawned, name, nullptr, nullptr, arguments, environ), 0);
    EXPECT_EQ(code_of(os::child{spawned}.wait()), 0);
    EXPECT_EQ(code_of(in_forked_child([&] { return ::execv(name, arguments); })), 0);
    const said_by_child alone = said_in_forked_child([] {
      const runtime joined;
      return std::to_string(place_count()) + " " +
             std::to_string(at(here(), [](int n) { return async([n] { return n + 1; }); }, 41));
    });
    EXPECT_EQ(alone.text, "1 42") << code_of(alone.end);
    barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(layouts, forks,
                         testing::ValuesIn(!test::can_fork() ? std::vector<test::layout>{{launch_mode::processes, 1}}
                                                             : test::layouts({1, 3})),
                         test::layout_name);

// --- memory that the kernel refuses ----------------------------------------------------------------------------------

struct refused_memory : testing::Test {
  void SetUp() override {
    if (!test::can_fork()) GTEST_SKIP() << test::why_no_fork();
  }
};

// A page that cannot be had, as one beyond a limit of the machine: of a file that is too short. SIGBUS, at the first
// touch.
void take_page_away(void* at) {
  const int empty = ::memfd_create("situ-test-empty", MFD_CLOEXEC);
  ASSERT_NE(::mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, empty, 0), MAP_FAILED);
  ::close(empty);
}

TEST_F(refused_memory, in_a_segment_is_a_loss_that_says_so) {
  const launch_result result = launch(3, [] {
    const ptr<char> block = allocate<char>(8192, {.alignment = 4096});
    const std::vector<ptr<char>> all = all_gather(block);
    if (here().index() == 1) {
      char* const page = all[2].local();  // writes to another's segment
      take_page_away(page);
      *page = 1;
    }
    barrier();
  });
  EXPECT_EQ(result.first_lost, place{1});
  EXPECT_THAT(result.message(), HasSubstr("the kernel has no memory for the page at 0x"));
  EXPECT_THAT(result.message(), HasSubstr("in the segment of place 2"));
  EXPECT_THAT(result.message(), HasSubstr("situ run --memory"));
  EXPECT_TRUE(result.places[1].signal == SIGBUS || test::with_sanitizer);
}

TEST_F(refused_memory, of_the_program_itself_is_not_ours) {
  const launch_result result = launch(2, [] {
    void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (here().index() == 1) {
      take_page_away(page);
      *static_cast<volatile char*>(page) = 1;
    }
    barrier();
  });
  EXPECT_EQ(result.first_lost, place{1});
  EXPECT_THAT(result.message(), testing::Not(HasSubstr("kernel")));
}

// Also on a thread that is no place, as an agent's.
TEST_F(refused_memory, that_another_thread_touches_names_the_place) {
  const launch_result result = launch(2, [] {
    const ptr<char> block = allocate<char>(8192, {.alignment = 4096});
    if (here().index() == 1) {
      take_page_away(block.local());
      std::thread{[&] { *block.local() = 1; }}.join();
    }
    barrier();
  });
  EXPECT_EQ(result.first_lost, place{1});
  EXPECT_THAT(result.message(), HasSubstr("in the segment of place 1"));
}

}  // namespace
}  // namespace situ
