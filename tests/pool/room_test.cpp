// Room on the disk, and the limit on the size of files: what is lacking is an error, never a signal.
#include "pools.h"
#include "processes.h"

#include <situ/base/log.h>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace situ_pool_test;
using situ::errc;
using situ::pool;
using situ::pool_access;
using situ::transaction;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

// An object of zeroes, some pages of which are written; the pool's free chunks were never written.
struct large {
  std::uint64_t words[1 << 17];
};

void make_pool(const std::string& path) {
  pool made = pool::create(path, small);
  made.transact([](transaction& t) {
    auto* const zeroes = static_cast<large*>(t.allocate(sizeof(large), 16));
    zeroes->words[1000] = 7;
    t.set_root("large", zeroes);
  });
}

// As `cp --sparse=always` does, and cp where nothing was written: pages of zeroes are holes of the copy.
void copy_sparsely(const std::vector<char>& bytes, const std::string& to) {
  static constexpr std::array<char, 4096> zeroes{};
  const int target = ::open(to.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool is_whole = ::ftruncate(target, static_cast<off_t>(bytes.size())) == 0;
  for (std::size_t at = 0; at < bytes.size(); at += zeroes.size()) {
    const std::size_t count = std::min(zeroes.size(), bytes.size() - at);
    if (std::memcmp(bytes.data() + at, zeroes.data(), count) == 0) continue;
    is_whole = is_whole && ::pwrite(target, bytes.data() + at, count, static_cast<off_t>(at)) >= 0;
  }
  ::close(target);
  if (!is_whole) throw std::runtime_error{"no copy: " + to};
}

std::uint64_t bytes_on_disk(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
}

// Runs the body in a child, and returns what it said.
std::string said_by_child(const std::function<std::string()>& body) {
  common<std::array<char, 1024>> said;
  process child{[&] {
    body().copy(said->data(), said->size() - 1);
    return true;
  }};
  EXPECT_TRUE(child.wait());
  return said->data();
}

std::string error_text(const std::function<void()>& body) {
  try {
    body();
  } catch (const situ::error& thrown) {
    return thrown.what();
  }
  return "nothing was thrown";
}

// Of a file system with a table of extents, and of one in memory.
class pool_room : public testing::TestWithParam<const char*> {
 protected:
  folder in{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(disks, pool_room, testing::Values("/tmp", "/dev/shm"), [](const auto& of) {
  return std::string{of.param == std::string_view{"/tmp"} ? "tmp" : "shm"};
});

TEST_P(pool_room, the_holes_of_a_copy_are_filled_when_it_is_opened_for_writing) {
  make_pool(in.file());
  copy_sparsely(bytes_of(in.file()), in.file("copy"));
  const std::uint64_t whole = bytes_on_disk(in.file());
  ASSERT_LT(bytes_on_disk(in.file("copy")), whole / 2) << "the copy has holes";
  {
    const pool reader = pool::open(in.file("copy"), pool_access::read);
    EXPECT_LT(bytes_on_disk(in.file("copy")), whole / 2) << "a reader needs no room for them";
  }
  pool copy = pool::open(in.file("copy"));
  EXPECT_GE(bytes_on_disk(in.file("copy")), copy.info().heap_bytes);
  EXPECT_EQ(copy.root<large>("large")->words[1000], 7);
  EXPECT_EQ(copy.root<large>("large")->words[100], 0);
  EXPECT_THAT(copy.check().damage, testing::ElementsAre());
}

// A hole that a compaction has made is filled when its chunks are taken, those of live objects at once.
TEST_P(pool_room, holes_in_objects_are_filled_where_free_chunks_may_stay_holes) {
  make_pool(in.file());
  std::uint64_t heap = 0;
  {
    pool made = pool::open(in.file());
    void* const gone = made.transact([](transaction& t) { return t.allocate(sizeof(large), 16); });
    made.transact([](transaction& t) { t.set_root("more", t.make<large>()); });
    made.transact([&](transaction& t) { t.destroy(gone); });
    heap = made.info().heap_bytes;
  }
  std::vector<char> bytes = bytes_of(in.file());
  bytes[situ::detail::pool_holes_offset] = 1;
  copy_sparsely(bytes, in.file("copy"));
  ASSERT_LT(bytes_on_disk(in.file("copy")), sizeof(large)) << "the copy has holes";
  const pool copy = pool::open(in.file("copy"));
  EXPECT_GE(bytes_on_disk(in.file("copy")), 2 * sizeof(large)) << "live objects have room";
  EXPECT_LE(bytes_on_disk(in.file("copy")), heap - sizeof(large) / 2) << "free chunks have none";
}

// A disk of its own, which only the child sees.
TEST(pool_full_disk, a_sparse_copy_is_refused_for_writing_and_read) {
  const folder in;
  make_pool(in.file());
  std::filesystem::create_directory(in.file("disk"));
  const std::string said = said_by_child([&]() -> std::string {
    if (!has_mounts_of_its_own() || ::mount("none", in.file("disk").c_str(), "tmpfs", 0, "size=6m") != 0)
      return "may not";
    copy_sparsely(bytes_of(in.file()), in.file("disk/copy"));
    const int fill = ::open(in.file("disk/fill").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    static constexpr std::array<char, 4096> something{'x'};
    while (::write(fill, something.data(), something.size()) > 0) {}
    const std::string full = error_text([&] { (void)pool::open(in.file("disk/copy")); });
    const pool reader = pool::open(in.file("disk/copy"), pool_access::read);
    return full + (reader.info().roots.size() == 1 ? "; a reader reads" : "");
  });
  if (said == "may not") GTEST_SKIP() << "this user may not mount a file system";
  EXPECT_THAT(said, AllOf(HasSubstr("disk/copy"), HasSubstr("No space left on device"), HasSubstr("; a reader reads")));
}

// --- the limit on the size of files ---

void limit_files_to(std::uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(pool_file_limit, a_pool_that_cannot_be_so_long_is_not_made) {
  const folder in;
  const std::string said = said_by_child([&] {
    limit_files_to(1 << 19);
    return error_text([&] { (void)pool::create(in.file(), small); });
  });
  EXPECT_THAT(said, AllOf(HasSubstr(in.file()), HasSubstr("512 KiB"), HasSubstr("ulimit -f"), Not(HasSubstr("disk"))));
  EXPECT_FALSE(std::filesystem::exists(in.file()));
}

// Its writes are calls, which the kernel ends with a signal beyond the limit, also where the file is longer already.
TEST(pool_file_limit, a_pool_with_a_redo_log_that_is_longer_is_not_opened_for_writing) {
  const folder in;
  {
    pool made = pool::create(in.file(), {.most_bytes = 1 << 24, .promise = situ::pool_promise::batched});
    push(made, 1);
  }
  const std::string said = said_by_child([&] {
    limit_files_to(1 << 16);
    return error_text([&] {
      pool opened = pool::open(in.file());
      push(opened, 2);
    });
  });
  EXPECT_THAT(said, AllOf(HasSubstr(in.file()), HasSubstr("64 KiB"), HasSubstr("ulimit -f")));
  EXPECT_THAT(values_of(pool::open(in.file()).root<item>("head")), testing::ElementsAre(1));
}

TEST(pool_file_limit, a_pool_that_is_memory_is_written_within_what_it_has) {
  const folder in;
  push(*std::make_unique<pool>(pool::create(in.file(), small)), 1);
  const std::string said = said_by_child([&] {
    limit_files_to(1 << 16);
    pool opened = pool::open(in.file());
    push(opened, 2);
    return error_text([&] { opened.transact([](transaction& t) { (void)t.allocate(2 << 20, 16); }); });
  });
  EXPECT_THAT(said, HasSubstr("ulimit -f"));
  EXPECT_THAT(values_of(pool::open(in.file()).root<item>("head")), testing::ElementsAre(2, 1));
}

}  // namespace
