// Pages that are asked for ahead.
#include "pools.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

using namespace situ_pool_test;
using situ::pool;
using situ::pool_access;

namespace {

struct block {
  std::uint64_t words[2048];
};
constexpr std::size_t blocks = 2048;  // 32 MiB: more than the kernel reads around what it is asked for

// Of the file's pages, those that lie in memory.
std::size_t pages_in_memory(const std::string& path, bool are_dropped = false) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (are_dropped) {
    EXPECT_EQ(::fsync(file) | ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  const std::size_t bytes = std::filesystem::file_size(path);
  void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  std::vector<unsigned char> pages((bytes + 4095) / 4096);
  EXPECT_EQ(::mincore(at, bytes, pages.data()), 0);
  ::munmap(at, bytes);
  ::close(file);
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char each) { return (each & 1) != 0; }));
}

class pool_read_ahead : public testing::TestWithParam<pool_access> {
 protected:
  void SetUp() override {
    pool made = pool::create(in.file(), {.most_bytes = std::uint64_t{1} << 28});
    for (std::size_t i = 0; i < blocks; ++i)
      made.transact([&](situ::transaction& t) { t.set_root("last", t.make<block>(block{{i}})); });
  }
  folder in;
};

TEST_P(pool_read_ahead, brings_objects_into_memory_that_nobody_has_looked_at) {
  const std::size_t pages = blocks * sizeof(block) / 4096;
  if (pages_in_memory(in.file(), true) > pages / 2) GTEST_SKIP() << "the file system keeps pages in memory";
  {
    const pool opened = pool::open(in.file(), GetParam());
    EXPECT_LT(pages_in_memory(in.file()), pages * 3 / 4) << "without it";
  }
  const pool opened = pool::open(in.file(), {.access = GetParam(), .read_ahead = true});
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (pages_in_memory(in.file()) < pages && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  EXPECT_GE(pages_in_memory(in.file()), pages);
  EXPECT_EQ(opened.root<block>("last")->words[0], blocks - 1);
}

TEST_P(pool_read_ahead, ends_with_its_pool) {
  for (int i = 0; i < 20; ++i) {
    (void)pages_in_memory(in.file(), true);
    const pool opened = pool::open(in.file(), {.access = GetParam(), .read_ahead = true});
    EXPECT_EQ(opened.root<block>("last")->words[0], blocks - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(opened, pool_read_ahead, testing::Values(pool_access::read, pool_access::write),
                         [](const auto& info) { return info.param == pool_access::read ? "to_read" : "to_write"; });

}  // namespace
