// What lies where a server shall listen: of it only a socket that nobody answers is removed, and at the end only the
// server's own.
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "os/local_socket.h"
#include "rmem/servers.h"

using namespace situ_rmem_test;
namespace fs = std::filesystem;

namespace {

class rmem_listen : public testing::Test {
 protected:
  rmem_listen() { fs::create_directory(folder); }
  ~rmem_listen() override { fs::remove_all(folder); }
  static rmem::server_options at(const fs::path& path) {
    auto made = options_of(mebibyte);
    made.listen = {"unix:" + path.string()};
    return made;
  }
  static void expect_refused_at(const fs::path& path, const std::string& words) {
    expect_refused(errc::bad_launch, [&] { rmem::server{at(path)}; }, words);
  }
  static void write(const fs::path& path) { std::ofstream{path} << "years of work\n"; }
  // A socket's file that nobody listens at.
  static void leave_socket(const fs::path& path, int type = SOCK_STREAM) { (void)bind_at(path, type); }
  static os::descriptor bind_at(const fs::path& path, int type) {
    os::descriptor made = os::open_local_socket(type);
    const auto at = os::local_address::of_path(path.string());
    EXPECT_EQ(::bind(made.number(), at.get(), at.bytes()), 0);
    return made;
  }
  const fs::path folder = testing::TempDir() + "situ-rmem-listen-" + std::to_string(::getpid());
  const fs::path path = folder / "socket";
};

TEST_F(rmem_listen, a_file_that_is_no_socket_stays) {
  write(path);
  expect_refused_at(path, "there is a file that is no socket");
  EXPECT_EQ(fs::file_size(path), 14U);
  fs::create_directory(folder / "folder");
  expect_refused_at(folder / "folder", "there is a file that is no socket");
}

TEST_F(rmem_listen, links_are_not_followed) {
  write(folder / "file");
  leave_socket(folder / "stale");
  for (const char* to : {"file", "stale", "nothing"}) {
    fs::create_symlink(folder / to, path);
    expect_refused_at(path, "there is a file that is no socket");
    EXPECT_TRUE(fs::is_symlink(path)) << to;
    fs::remove(path);
  }
  EXPECT_TRUE(fs::exists(folder / "file"));
  EXPECT_TRUE(fs::is_socket(folder / "stale"));
}

TEST_F(rmem_listen, a_socket_that_nobody_answers_is_replaced_and_the_own_one_removed) {
  leave_socket(path);
  {
    running_server server{at(path)};
    struct stat seen{};
    ASSERT_EQ(::lstat(path.c_str(), &seen), 0);
    EXPECT_EQ(seen.st_mode & 0777U, 0600U);
    client{server.endpoint(), packages()};
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(rmem_listen, a_server_that_answers_keeps_its_socket) {
  running_server first{at(path)};
  expect_refused_at(path, "another process listens there");
  client{first.endpoint(), packages()};
}

TEST_F(rmem_listen, whether_one_answers_that_cannot_be_asked_is_not_known) {
  const os::descriptor other = bind_at(path, SOCK_DGRAM);
  expect_refused_at(path, "cannot be told");
  EXPECT_TRUE(fs::is_socket(path));
}

TEST_F(rmem_listen, what_others_have_put_there_meanwhile_stays) {
  {
    running_server server{at(path)};
    fs::remove(path);
    write(path);
  }
  EXPECT_EQ(fs::file_size(path), 14U);
  fs::remove(path);
  {
    running_server server{at(path)};
    fs::rename(path, folder / "elsewhere");
    leave_socket(path);
  }
  EXPECT_TRUE(fs::is_socket(path));
}

TEST_F(rmem_listen, what_was_made_before_a_refusal_is_removed) {
  auto two = at(path);
  two.listen.push_back("unix:" + (folder / "none" / "socket").string());
  expect_refused(errc::bad_launch, [&] { rmem::server{two}; });
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
