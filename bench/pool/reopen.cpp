#include "reopen.h"

#include "os/descriptor.h"
#include "os/mapping.h"

#include <situ/pool/pool.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>

namespace pool_bench {
namespace {

struct item {
  std::uint64_t key;
  item* next;
  std::uint64_t rest[30];
};
static_assert(sizeof(item) == 256);
struct lists {
  std::uint64_t count;
  item* heads[64];
};
constexpr std::size_t items_of_list = 16384;  // 4 MiB; longer where the pool is

std::string large_file(const order& what) { return what.file("large"); }

std::uint64_t sum_of(const lists& all) {
  std::uint64_t sum = 0;
  for (const item* first : all.heads)
    for (const item* each = first; each != nullptr; each = each->next) sum += each->key;
  return sum;
}

situ::os::descriptor open_file(const std::string& path, int how) {
  situ::os::descriptor file{::open(path.c_str(), how | O_CLOEXEC)};
  if (!file) fail("cannot open " + path);
  return file;
}

std::size_t bytes_of(const situ::os::descriptor& file) {
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) fail("cannot look at a file");
  return static_cast<std::size_t>(status.st_size);
}

// Takes all of a file out of the page cache, and looks whether it is. The machine's other files stay.
void make_cold(const std::string& path) {
  const situ::os::descriptor file = open_file(path, O_RDWR);
  if (::fsync(file.number()) != 0) fail("cannot write " + path);
  ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  const std::size_t bytes = bytes_of(file);
  const auto mapped = situ::os::mapping::anywhere(bytes, PROT_READ, situ::os::backing::shared(file.number()));
  std::vector<unsigned char> pages((bytes + 4095) / 4096);
  if (!mapped || ::mincore(mapped.begin(), bytes, pages.data()) != 0) fail("cannot look at the pages of " + path);
  const auto there = std::count_if(pages.begin(), pages.end(), [](unsigned char each) { return (each & 1) != 0; });
  if (static_cast<std::size_t>(there) > pages.size() / 50)
    fail("the pages of " + path + " stay in memory: it is on a file system in memory, or in use");
}

void warm(const std::string& path) {
  const situ::os::descriptor file = open_file(path, O_RDONLY);
  std::vector<char> buffer(std::size_t{1} << 20);
  while (::read(file.number(), buffer.data(), buffer.size()) > 0) {}
}

outcome open_warm(const order& what, situ::pool_access access) {
  warm(large_file(what));
  const double begin = now_ns();
  const situ::pool pool = situ::pool::open(large_file(what), access);
  const lists* const all = pool.root<lists>("lists");
  const double ns = now_ns() - begin;
  return {ns, sum_of(*all)};
}

outcome open_cold(const order& what, bool read_ahead) {
  make_cold(large_file(what));
  const double begin = now_ns();
  const situ::pool pool =
      situ::pool::open(large_file(what), {.access = situ::pool_access::read, .read_ahead = read_ahead});
  const std::uint64_t sum = sum_of(*pool.root<lists>("lists"));
  return {now_ns() - begin, sum};
}

}  // namespace

outcome make_large_pool(const order& what) {
  const double begin = now_ns();
  {
    situ::pool pool = situ::pool::create(large_file(what));
    const std::size_t count = what.size / sizeof(item);
    const std::size_t of_list = std::max(items_of_list, (count + 63) / 64);
    lists* all = nullptr;
    pool.transact([&](situ::transaction& t) { t.set_root("lists", all = t.make<lists>()); });
    for (std::size_t i = 0; i < count;) {
      situ::transaction t{pool};
      item*& head = all->heads[i / of_list];
      t.snapshot(&head, sizeof head);
      for (const std::size_t end = std::min({count, i + 1024, (i / of_list + 1) * of_list}); i < end; ++i)
        head = t.make<item>(item{i, head, {}});
      t.commit();
    }
  }
  return {now_ns() - begin, what.size / sizeof(item)};
}

outcome reopen_taken(const order& what) {
  warm(large_file(what));
  const std::uintptr_t base = situ::pool::open(large_file(what), situ::pool_access::read).info().base;
  const auto taken =
      situ::os::mapping::at_free(reinterpret_cast<void*>(base), 4096, PROT_NONE, situ::os::backing::zeros());
  if (!taken) fail("cannot take the pool's addresses");
  const double begin = now_ns();
  const situ::pool pool = situ::pool::open(large_file(what), situ::pool_access::read);
  const lists* const all = pool.root<lists>("lists");
  const double ns = now_ns() - begin;
  if (!pool.info().is_moved) fail("the pool was not moved");
  return {ns, sum_of(*all)};
}

outcome make_pages(const order& what) {
  warm(large_file(what));
  constexpr std::size_t piece = std::size_t{1} << 20;  // as src/pool/relocation.cpp asks for them
  const situ::os::descriptor file = open_file(large_file(what), O_RDONLY);
  const std::size_t bytes = std::min(what.size, bytes_of(file));
  // The records are the file's end, or close to it.
  const auto from = static_cast<off_t>((bytes_of(file) - bytes) / 4096 * 4096);
  const double begin = now_ns();
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.number(), from);
  if (at == MAP_FAILED) fail("cannot map " + large_file(what));
  for (std::size_t done = 0; done < bytes; done += piece)
    if (::madvise(static_cast<char*>(at) + done, std::min(piece, bytes - done), MADV_POPULATE_WRITE) != 0)
      fail("no pages for " + large_file(what));
  const double ns = now_ns() - begin;
  ::munmap(at, bytes);
  return {ns, bytes};
}

outcome reopen_free(const order& what) { return open_warm(what, situ::pool_access::read); }
outcome reopen_to_write(const order& what) { return open_warm(what, situ::pool_access::write); }

outcome reopen_cold(const order& what) { return open_cold(what, true); }
outcome reopen_by_faults(const order& what) { return open_cold(what, false); }

outcome read_disk(const order& what) {
  make_cold(large_file(what));
  constexpr std::size_t piece = std::size_t{1} << 20;
  const situ::os::descriptor file = open_file(large_file(what), O_RDONLY | O_DIRECT);
  const std::size_t bytes = bytes_of(file);
  // The holes before the heap are no work for a disk, nor are they here much.
  std::atomic<std::size_t> next{0};
  std::atomic<bool> has_failed{false};
  const auto body = [&] {
    const std::unique_ptr<char, void (*)(void*)> buffer{static_cast<char*>(std::aligned_alloc(4096, piece)), std::free};
    for (std::size_t at; (at = next.fetch_add(piece)) < bytes;)
      if (::pread(file.number(), buffer.get(), piece, static_cast<off_t>(at)) < 0) has_failed = true;
  };
  const double begin = now_ns();
  std::thread second{body};
  body();
  second.join();
  const double ns = now_ns() - begin;
  if (has_failed) fail("cannot read " + large_file(what));
  return {ns, bytes};
}

}  // namespace pool_bench
