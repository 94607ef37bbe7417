// What is printed, told and written to files: nothing is lost without a word, and nothing ends a program.
#include "base/print.h"

#include "base/file_size.h"
#include "os/output_file.h"

#include <situ/base/error.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "support/forked.h"

namespace {

namespace fs = std::filesystem;
using situ::detail::exit_code_after_output;
using situ::detail::output_file;
using situ::detail::print_out;
using situ::detail::replace_file;
using situ::detail::tell;
using situ::detail::write_file;
using testing::AllOf;
using testing::HasSubstr;

class scratch {
 public:
  scratch() {
    std::string name = testing::TempDir() + "situ-print-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~scratch() { fs::remove_all(path_); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }
  [[nodiscard]] std::ptrdiff_t count() const { return std::distance(fs::directory_iterator{path_}, {}); }

 private:
  std::string path_;
};

std::string text_of(const std::string& file) {
  std::ifstream stream{file};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const situ::error& e) {
    EXPECT_EQ(e.code(), situ::errc::bad_file);
    return e.what();
  }
  return "no error";
}

struct ended {
  int code;  // 128 + signal
  std::string err;
};

// Runs f in a child, whose streams are these files; an empty name closes one.
ended in_child(const std::string& out, const std::string& err, const std::function<int()>& f) {
  std::fflush(nullptr);
  const scratch folder;
  const std::string told = folder.file("told");
  const situ::os::exit_status end = situ::test::in_forked_child([&] {
    ::close(1), ::close(2);
    const auto open = [](const std::string& name, int stream) {
      if (name.empty()) return;
      const int made = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (made != stream) situ::test::copy_descriptor(made, stream), ::close(made);
    };
    open(out, 1), open(err == "told" ? told : err, 2);
    return f();
  });
  return {situ::test::code_of(end), text_of(told)};
}

TEST(print, output_on_a_full_disk_fails_the_command_with_a_sentence) {
  const ended full = in_child("/dev/full", "told", [] {
    print_out("{}\n", 1);
    return exit_code_after_output(0);
  });
  EXPECT_EQ(full.code, EXIT_FAILURE);
  EXPECT_EQ(full.err, "situ: cannot write standard output: No space left on device\n");
  // more than the stream's buffer holds, so that an earlier write than the last one fails
  const ended much = in_child("/dev/full", "told", [] {
    print_out("{}\n", std::string(1 << 20, 'x'));
    std::clearerr(stdout);
    return exit_code_after_output(0);
  });
  EXPECT_EQ(much.code, EXIT_FAILURE);
  EXPECT_THAT(much.err, HasSubstr("No space left on device"));
}

TEST(print, a_command_that_has_failed_keeps_its_code) {
  const ended full = in_child("/dev/full", "told", [] {
    print_out("lost\n");
    return exit_code_after_output(7);
  });
  EXPECT_EQ(full.code, 7);
  EXPECT_THAT(full.err, HasSubstr("cannot write standard output"));
}

TEST(print, output_by_other_means_counts_and_output_that_is_written_does_not) {
  EXPECT_EQ(in_child("/dev/full", "told",
                     [] {
                       std::fputs("from elsewhere\n", stdout);
                       return exit_code_after_output(0);
                     })
                .code,
            EXIT_FAILURE);
  const scratch folder;
  const ended good = in_child(folder.file("out"), "told", [] {
    print_out("{} and {}\n", "this", 2);
    return exit_code_after_output(0);
  });
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(good.err, "");
  EXPECT_EQ(text_of(folder.file("out")), "this and 2\n");
}

TEST(print, nothing_printed_to_a_closed_stream_is_no_failure) {
  EXPECT_EQ(in_child("", "told", [] { return exit_code_after_output(0); }).code, 0);
  EXPECT_EQ(in_child("", "told",
                     [] {
                       print_out("x");
                       return exit_code_after_output(0);
                     })
                .code,
            EXIT_FAILURE);
}

TEST(print, a_reader_that_has_gone_is_no_reason_for_a_sentence) {
  const ended gone = in_child("/dev/null", "told", [] {
    std::signal(SIGPIPE, SIG_IGN);
    situ::os::pipe_ends ends = situ::os::pipe_ends::make();
    if (!ends || !situ::test::copy_descriptor(ends.write.number(), 1)) return 99;
    ends.read.close();
    print_out("to nobody\n");
    return exit_code_after_output(0);
  });
  EXPECT_EQ(gone.code, EXIT_FAILURE);
  EXPECT_EQ(gone.err, "");
}

TEST(print, standard_error_that_is_closed_or_full_changes_nothing) {
  for (const char* const where : {"", "/dev/full"})
    EXPECT_EQ(in_child("/dev/null", where,
                       [] {
                         errno = 5;
                         tell("{} is told\n", "this");
                         return errno == 5 ? exit_code_after_output(3) : 4;
                       })
                  .code,
              3);
}

// --- a limit on the size of files ---

void limit_file_size(rlim_t bytes) {
  rlimit most{};
  ::getrlimit(RLIMIT_FSIZE, &most);
  most.rlim_cur = bytes;
  ::setrlimit(RLIMIT_FSIZE, &most);
}

TEST(file_size, a_limit_is_a_failure_and_no_signal) {
  const scratch folder;
  const ended limited = in_child(folder.file("out"), "told", [] {
    limit_file_size(4096);
    print_out("{}\n", std::string(8192, 'x'));
    return exit_code_after_output(0);
  });
  EXPECT_EQ(limited.code, EXIT_FAILURE);
  EXPECT_EQ(limited.err,
            "situ: cannot write standard output: the limit on the size of files is 4 KiB; raise it (ulimit -f)\n");
}

TEST(file_size, is_set_within_the_limit_only) {
  const scratch folder;
  const std::string path = folder.file("sized");
  EXPECT_EQ(in_child("", "",
                     [&] {
                       limit_file_size(4096);
                       const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
                       if (situ::detail::set_file_size(file, 4096) != 0) return 1;
                       if (situ::detail::set_file_size(file, 4097) == 0 || errno != EFBIG) return 2;
                       sigset_t pending;
                       ::sigpending(&pending);
                       if (::sigismember(&pending, SIGXFSZ) != 0) return 3;
                       sigset_t blocked;
                       ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
                       if (::sigismember(&blocked, SIGXFSZ) != 0) return 4;
                       return situ::detail::file_size_limit() == 4096 ? 0 : 5;
                     })
                .code,
            0);
}

// A program that waits for the signal itself gets what it sent.
TEST(file_size, a_signal_that_was_pending_stays) {
  EXPECT_EQ(in_child("", "",
                     [] {
                       limit_file_size(4096);
                       sigset_t set;
                       ::sigemptyset(&set);
                       ::sigaddset(&set, SIGXFSZ);
                       ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
                       std::raise(SIGXFSZ);
                       { const situ::detail::file_size_signal_held held; }
                       sigset_t pending;
                       ::sigpending(&pending);
                       return ::sigismember(&pending, SIGXFSZ) == 1 ? 0 : 1;
                     })
                .code,
            0);
}

// --- files ---

TEST(output_file, is_written_as_a_whole) {
  const scratch folder;
  const std::string path = folder.file("whole");
  {
    output_file file{path};
    for (int i = 0; i < 100'000; ++i) file.print("{}\n", i % 10);
    file.add("end");
    file.close();
  }
  const std::string text = text_of(path);
  EXPECT_EQ(text.size(), 200'003u);
  EXPECT_TRUE(text.ends_with("9\nend"));
  write_file(path, "short");
  EXPECT_EQ(text_of(path), "short");
}

TEST(output_file, a_failure_names_the_file_and_the_reason) {
  EXPECT_THAT(message_of([] { write_file("/dev/full", "x"); }),
              AllOf(HasSubstr("/dev/full cannot be written"), HasSubstr("No space left on device")));
  EXPECT_THAT(message_of([] { write_file("/nowhere/at/all", "x"); }),
              AllOf(HasSubstr("/nowhere/at/all cannot be written"), HasSubstr("No such file or directory")));
  const scratch folder;
  const std::string path = folder.file("limited");
  EXPECT_EQ(in_child("", "",
                     [&] {
                       limit_file_size(4096);
                       const std::string said = message_of([&] { write_file(path, std::string(8192, 'x')); });
                       return said.find(path) != std::string::npos && said.find("(ulimit -f)") != std::string::npos ? 0
                                                                                                                    : 1;
                     })
                .code,
            0);
}

TEST(replaced_file, is_the_old_one_until_the_new_one_is_whole) {
  const scratch folder;
  const std::string path = folder.file("settings");
  replace_file(path, "old");
  {
    situ::detail::replaced_file next{path};
    EXPECT_EQ(text_of(path), "old");
  }
  EXPECT_EQ(text_of(path), "old");
  EXPECT_EQ(in_child("", "",
                     [&] {
                       limit_file_size(4096);
                       return message_of([&] { replace_file(path, std::string(8192, 'x')); }) == "no error" ? 1 : 0;
                     })
                .code,
            0);
  EXPECT_EQ(text_of(path), "old");
  replace_file(path, "new");
  EXPECT_EQ(text_of(path), "new");
  EXPECT_EQ(folder.count(), 1) << "a file beside it is left";
}

TEST(replaced_file, is_published_durably_under_its_name_alone) {
  const scratch folder;
  const std::string path = folder.file("settings");
  replace_file(path, "old");
  situ::detail::replaced_file next{path};
  next.publish_durably("new");
  EXPECT_EQ(text_of(path), "new");
  EXPECT_EQ(folder.count(), 1) << "a file beside it is left";
  EXPECT_EQ(in_child("", "",
                     [&] {
                       limit_file_size(4096);
                       situ::detail::replaced_file other{path};
                       const auto publish = [&] { other.publish_durably(std::string(8192, 'x')); };
                       return message_of(publish) == "no error" ? 1 : 0;
                     })
                .code,
            0);
  EXPECT_EQ(text_of(path), "new");
}

// A link to where somebody keeps settings stays a link; a file of another that has the name beside stays as it is.
TEST(replaced_file, leaves_links_and_the_files_of_others) {
  const scratch folder;
  const std::string target = folder.file("target"), link = folder.file("link");
  write_file(target, "old");
  fs::create_symlink(target, link);
  const std::string others = fmt::format("{}.{}", target, ::getpid());
  write_file(others, "another's");
  replace_file(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(text_of(target), "new");
  EXPECT_EQ(text_of(others), "another's");
  EXPECT_EQ(folder.count(), 3);
  replace_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
