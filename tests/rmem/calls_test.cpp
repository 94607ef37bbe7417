// compat/rmem: the paper's calls, from one process and from two.
#include <rmem.h>

#include "rmem/servers.h"

#include <situ/base/log.h>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "support/forked.h"

namespace {

namespace rmem = situ_rmem_test;
using testing::HasSubstr;

// One server for all tests of the process, since that connects once.
rmem::running_server& server() {
  static rmem::running_server only{rmem::mebibyte};
  return only;
}

class RmemCalls : public testing::Test {
 protected:
  RmemCalls() {
    static const bool is_set = [] {
      ::setenv("SITU_RMEM_SERVER", server().endpoint().c_str(), 1);
      const std::string folder = testing::TempDir() + "/situ-rmem-calls-XXXXXX";
      std::vector<char> name{folder.c_str(), folder.c_str() + folder.size() + 1};
      const int descriptor = ::mkstemp(name.data());
      const std::string line = rmem::packages().to_line() + "\n";
      EXPECT_EQ(::write(descriptor, line.data(), line.size()), static_cast<ssize_t>(line.size()));
      ::close(descriptor);
      ::setenv("SITU_RMEM_KEYS", name.data(), 1);
      return true;
    }();
    EXPECT_TRUE(is_set);
  }
  static void TearDownTestSuite() { std::filesystem::remove(std::getenv("SITU_RMEM_KEYS")); }
};

// Snippet 1.1 of the paper.
void scalar_vector_multiply(double* a, int n, double f) {
  double tmp;
  for (int i = 0; i < n; i++) {
    ASSERT_EQ(memread(&tmp, &a[i], sizeof(double)), 0) << rmem_error();
    tmp *= f;
    ASSERT_EQ(memwrite(&tmp, &a[i], sizeof(double)), 0) << rmem_error();
  }
}

// In a process of its own; what the call returns, 0 to 255.
int in_a_child(const std::function<int()>& call) {
  const situ::os::exit_status end = situ::test::in_forked_child(call);
  EXPECT_TRUE(end.is_known);
  return end.signal == 0 ? end.code : 255;
}

// With the calls' own client still unconnected: the first test.
TEST_F(RmemCalls, WithoutSettingsItSaysWhichAreMissing) {
  EXPECT_EQ(in_a_child([] {
              ::unsetenv("SITU_RMEM_SERVER");
              if (memalloc(8) != nullptr || errno != EDESTADDRREQ) return 1;
              return std::string{rmem_error()}.find("SITU_RMEM_SERVER is not set") == 0 ? 0 : 2;
            }),
            0);
}

// The second test: the calls' client of the test itself is still unconnected, so each child registers its own end.
TEST_F(RmemCalls, AProcessThatEndsLeavesItsServerInOrder) {
  rmem::client watch{server().endpoint(), rmem::packages()};
  std::atomic<int> losses = 0;
  const situ::log_sink before = situ::set_log_sink([&](situ::log_level, std::string_view message) {
    losses += message.find(" is lost: ") != std::string_view::npos ? 1 : 0;
  });
  const auto end = [&](bool in_order) {
    const std::uint64_t logins = watch.server_statistics().logins;
    EXPECT_EQ(in_a_child([&] {
                std::atexit([] { ::_exit(0); });  // before the destructors of what the test has
                if (memalloc(8) == nullptr) return 1;
                if (in_order) std::exit(2);
                return 0;
              }),
              0);
    while (watch.server_statistics().clients != 1) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    EXPECT_EQ(watch.server_statistics().logins, logins + 1);
    (void)watch.server_statistics();  // by now, the server has written what the turn before had to say
    return losses.load();
  };
  EXPECT_EQ(end(true), 0);
  EXPECT_EQ(end(false), 1);
  situ::set_log_sink(before);
}

TEST_F(RmemCalls, ThePapersProgram) {
  constexpr int n = 100;
  auto* const a = static_cast<double*>(memalloc(n * sizeof(double)));
  ASSERT_NE(a, nullptr) << rmem_error();
  std::vector<double> here(n);
  std::iota(here.begin(), here.end(), 1.0);
  ASSERT_EQ(memwrite(here.data(), a, n * sizeof(double)), 0) << rmem_error();
  scalar_vector_multiply(a, n, 2.5);
  std::vector<double> back(n);
  ASSERT_EQ(memread(back.data(), a, n * sizeof(double)), 0) << rmem_error();
  for (int i = 0; i < n; ++i) EXPECT_EQ(back[i], here[i] * 2.5);
  EXPECT_EQ(memfree(a), 0) << rmem_error();
}

TEST_F(RmemCalls, RemotePointersAreNoAddresses) {
  void* const remote = memalloc(64);
  ASSERT_NE(remote, nullptr) << rmem_error();
  EXPECT_DEATH((void)*static_cast<volatile char*>(remote), "");
  EXPECT_EQ(memfree(remote), 0);
}

TEST_F(RmemCalls, OtherProcessesHaveWhatTheyAreGranted) {
  auto* const a = static_cast<char*>(memalloc(4096));
  ASSERT_NE(a, nullptr) << rmem_error();
  ASSERT_EQ(memwrite("remote", a + 100, 7), 0) << rmem_error();
  char text[RMEM_TEXT_BYTES];
  ASSERT_EQ(rmem_grant(a + 100, 7, RMEM_READ, text), 0) << rmem_error();
  EXPECT_EQ(std::strlen(text) + 1, RMEM_TEXT_BYTES);

  EXPECT_EQ(in_a_child([&] {
              ::setenv("SITU_RMEM_AS", "packages", 1);
              char word[7];
              const void* const got = rmem_accept(text);
              if (got != a + 100 || memread(word, got, 7) != 0 || std::strcmp(word, "remote") != 0) return 2;
              if (memfree(a) != 0) return 1;  // it has the table of its parent, and its application's rights
              return 0;
            }),
            0);
  EXPECT_EQ(memread(text, a, 1), -1);
  EXPECT_EQ(errno, EACCES) << "the region has ended, which this process does not know";
}

TEST_F(RmemCalls, AcceptedPartsHaveTheRightsThatWereGranted) {
  rmem::client owner{server().endpoint(), rmem::packages()};
  const rmem::capability whole = owner.allocate(4096);
  const rmem::capability part = owner.grant(whole, 1000, 24, rmem::rights::read);
  auto* const remote = static_cast<char*>(rmem_accept(part.to_text().c_str()));
  ASSERT_NE(remote, nullptr) << rmem_error();
  EXPECT_EQ(rmem_accept(part.to_text().c_str()), remote);
  char bytes[32];
  EXPECT_EQ(memread(bytes, remote + 4, 20), 0) << rmem_error();
  EXPECT_EQ(memread(bytes, remote, 25), -1);
  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(memwrite(bytes, remote, 8), -1);
  EXPECT_EQ(errno, EACCES);
  char text[RMEM_TEXT_BYTES];
  EXPECT_EQ(rmem_grant(remote, 8, RMEM_READ, text), -1);
  EXPECT_EQ(errno, EACCES);
  // All of it, by another name for it: the wider one is found where the part does not do.
  ASSERT_NE(rmem_accept(whole.to_text().c_str()), nullptr) << rmem_error();
  EXPECT_EQ(memwrite(bytes, remote, 32), 0) << rmem_error();
  EXPECT_EQ(memfree(remote - 1000), 0) << rmem_error();
  EXPECT_EQ(memread(bytes, remote, 8), -1);
  EXPECT_EQ(errno, EFAULT);
}

TEST_F(RmemCalls, WhatCannotBeIsAnError) {
  char byte = 0;
  EXPECT_EQ(memread(&byte, &byte, 1), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_THAT(rmem_error(), HasSubstr("lies in no region"));
  EXPECT_EQ(memread(&byte, nullptr, 1), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(memalloc(std::size_t{1} << 40), nullptr);
  EXPECT_EQ(errno, ENOMEM) << rmem_error();
  EXPECT_EQ(rmem_accept("no capability"), nullptr);
  EXPECT_EQ(errno, EINVAL) << rmem_error();

  auto* const a = static_cast<char*>(memalloc(100));
  ASSERT_NE(a, nullptr) << rmem_error();
  EXPECT_EQ(memfree(a + 1), -1);
  EXPECT_EQ(errno, EINVAL) << rmem_error();
  EXPECT_EQ(memwrite("ab", a + 99, 2), -1);
  EXPECT_EQ(errno, EACCES) << rmem_error();
  EXPECT_EQ(memread(&byte, a + 99, 1), 0);
  EXPECT_EQ(byte, 0) << "nothing was written";
  char text[RMEM_TEXT_BYTES];
  EXPECT_EQ(rmem_grant(a, 8, 0, text), -1);
  EXPECT_EQ(errno, EINVAL) << rmem_error();
  EXPECT_EQ(memfree(a), 0);
  EXPECT_EQ(memfree(a), -1);
  EXPECT_EQ(errno, EFAULT) << rmem_error();
}

TEST_F(RmemCalls, ThreadsEachHaveTheirOwnError) {
  auto* const a = static_cast<std::uint64_t*>(memalloc(4 * sizeof(std::uint64_t)));
  ASSERT_NE(a, nullptr) << rmem_error();
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i)
    threads.emplace_back([=] {
      for (std::uint64_t k = 1; k <= 100; ++k) {
        EXPECT_EQ(memwrite(&k, a + i, sizeof k), 0) << rmem_error();
        std::uint64_t back = 0;
        EXPECT_EQ(memread(&back, a + i, sizeof back), 0) << rmem_error();
        EXPECT_EQ(back, k);
      }
      EXPECT_STREQ(rmem_error(), "");
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(memfree(a), 0);
}

}  // namespace
