// Pages along an ordering, by the kernel that runs here.
#include "modelled_kernel.h"

#include "os/pages.h"

#include <situ/base/error.h>

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <string>

namespace situ {
namespace {

// One that allows it tells where a page is.
bool is_told_where_pages_are() {
  const detail::pages memory{page};
  std::memset(memory.data(), 0, page);
  return detail::locate_pages(memory.data(), page).error == 0;
}

// Of a mapping of this process.
std::uint64_t resident_bytes(void* begin, std::size_t bytes) {
  std::vector<unsigned char> resident(bytes / page);
  EXPECT_EQ(::mincore(begin, bytes, resident.data()), 0);
  return page * static_cast<std::uint64_t>(
                    std::count_if(resident.begin(), resident.end(), [](unsigned char one) { return (one & 1) != 0; }));
}

// Memory of whole huge pages, with guards around it: its mappings merge with no others.
class guarded_memory {
 public:
  explicit guarded_memory(std::size_t bytes) : bytes_{bytes} {
    void* const mapped = ::mmap(nullptr, bytes_ + 4 * MiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc{};
    mapping_ = static_cast<std::byte*>(mapped);
    ::mprotect(data(), bytes_, PROT_READ | PROT_WRITE);
    ::madvise(data(), bytes_, MADV_HUGEPAGE);
  }
  ~guarded_memory() { ::munmap(mapping_, bytes_ + 4 * MiB); }
  guarded_memory(const guarded_memory&) = delete;
  guarded_memory& operator=(const guarded_memory&) = delete;

  std::byte* data() const {
    return mapping_ + 4 * MiB - reinterpret_cast<std::uintptr_t>(mapping_) % (2 * MiB) - 2 * MiB;
  }
  std::uint64_t huge_bytes() const {
    std::ifstream maps{"/proc/self/smaps"};
    const auto begin = reinterpret_cast<std::uintptr_t>(data());
    std::uint64_t sum = 0;
    bool is_inside = false;
    for (std::string line; std::getline(maps, line);) {
      unsigned long low = 0;
      unsigned long high = 0;
      unsigned long long kilobytes = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx ", &low, &high) == 2)
        is_inside = low >= begin && high <= begin + bytes_;
      else if (is_inside && std::sscanf(line.c_str(), "AnonHugePages: %llu kB", &kilobytes) == 1)
        sum += kilobytes * KiB;
    }
    return sum;
  }

 private:
  std::size_t bytes_;
  std::byte* mapping_ = nullptr;
};

TEST(placer_here, two_memories_by_budgets_on_node_0) {
  byte_budget fast{.bytes = 10 * MiB};
  byte_budget slow{.bytes = 64 * MiB};
  const placer by{{.steps = {{{.fill = 0.5, .budget = &fast}}, {{.fill = 0.5, .budget = &slow}}}}};
  const detail::pages memory{16 * MiB};
  ASSERT_FALSE(memory.empty());
  EXPECT_EQ(resident_bytes(memory.data(), memory.size()), 0u);
  const placement_report report = by.place(memory.data(), memory.size());
  ASSERT_EQ(report.outcome, placement_outcome::placed) << format_fills(report);
  EXPECT_EQ(report.memories[0].placed_bytes, 5 * MiB);
  EXPECT_EQ(report.memories[1].placed_bytes, 11 * MiB);
  EXPECT_EQ(fast.used.load(), 5 * MiB);
  EXPECT_EQ(slow.used.load(), 11 * MiB);
  EXPECT_EQ(report.meminfo_reads, 0u);
  EXPECT_EQ(resident_bytes(memory.data(), memory.size()), 16 * MiB);
  EXPECT_EQ(std::count(memory.data(), memory.data() + memory.size(), std::byte{0}), 16 * MiB);

  // What is left of the second takes 21 MiB more, and then nothing.
  const detail::pages more{32 * MiB};
  const placement_report rest = by.place(more.data(), more.size());
  EXPECT_EQ(rest.outcome, placement_outcome::no_room);
  EXPECT_EQ(rest.placed_bytes, 21 * MiB);
  EXPECT_EQ(slow.used.load(), 32 * MiB);
  // Without policies the kernel makes a huge page for the first fine chunk in it.
  if (rest.is_possible) {
    EXPECT_EQ(resident_bytes(more.data(), more.size()), 21 * MiB) << format_fills(rest);
  }
  release_budgets(report);
  release_budgets(rest);
  EXPECT_EQ(fast.used.load() + slow.used.load(), 0u);
}

TEST(placer_here, node_0_takes_a_private_and_a_shared_mapping) {
  const int file = ::memfd_create("placer_test", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::ftruncate(file, 8 * MiB), 0);
  void* const shared = ::mmap(nullptr, 8 * MiB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* const anonymous = ::mmap(nullptr, 8 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  ASSERT_NE(anonymous, MAP_FAILED);
  const placer by{{.steps = {{{.node = 0, .fill = 1.0}}}}};
  for (void* const mapping : {anonymous, shared}) {
    const placement_report report = by.place(mapping, 6 * MiB);
    ASSERT_EQ(report.outcome, placement_outcome::placed) << format_fills(report);
    EXPECT_EQ(report.placed_bytes, 6 * MiB);
    EXPECT_GE(report.meminfo_reads, 1u);
    EXPECT_GT(report.memories[0].total_bytes, 64 * MiB);
    EXPECT_GT(report.memories[0].total_bytes, report.memories[0].used_bytes);
    EXPECT_EQ(resident_bytes(mapping, 8 * MiB), 6 * MiB);
    if (!is_told_where_pages_are()) continue;
    EXPECT_EQ(report.memories[0].elsewhere_bytes, 0u);
    const detail::page_locations found = detail::locate_pages(mapping, 8 * MiB);
    EXPECT_EQ(found.error, 0);
    EXPECT_THAT(found.node_bytes, ElementsAre(6 * MiB));
    EXPECT_EQ(found.absent_bytes, 2 * MiB);
  }
  struct stat status{};
  ASSERT_EQ(::fstat(file, &status), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(status.st_blocks) * 512, 6 * MiB);
  ::munmap(shared, 8 * MiB);
  ::munmap(anonymous, 8 * MiB);
  ::close(file);
}

TEST(placer_here, huge_pages_stay_whole) {
  constexpr std::uint64_t bytes = 16 * MiB;
  const guarded_memory touched{bytes};
  const guarded_memory placed{bytes};
  for (std::uint64_t at = 0; at < bytes; at += page) touched.data()[at] = std::byte{0};
  byte_budget even{.bytes = 1024 * MiB};
  byte_budget odd{.bytes = 1024 * MiB};
  const placer by{{.steps = {{{.budget = &even}, {.budget = &odd}}}}};
  const placement_report report = by.place(placed.data(), bytes);
  EXPECT_EQ(report.placed_bytes, bytes);
  EXPECT_EQ(even.used.load(), bytes / 2);
  EXPECT_EQ(odd.used.load(), bytes / 2);
  if (touched.huge_bytes() < bytes) GTEST_SKIP() << "this kernel has no huge pages, or none left";
  EXPECT_GE(placed.huge_bytes(), bytes - 2 * MiB) << "one may not have been there";
}

TEST(placer_here, a_placed_range_keeps_its_policy) {
  const guarded_memory memory{4 * MiB};
  const placement_report report = placer{{.steps = {{{.node = 0, .fill = 1.0}}}}}.place(memory.data(), 2 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::placed);
  if (!report.is_possible) GTEST_SKIP() << "no policies here";
  const auto policy = [](void* address) {
    int mode = -1;
    unsigned long nodes[16] = {};
    EXPECT_EQ(::syscall(SYS_get_mempolicy, &mode, nodes, 1024ul, address, MPOL_F_ADDR), 0);
    return std::pair{mode, nodes[0]};
  };
  EXPECT_EQ(policy(memory.data()), (std::pair{static_cast<int>(MPOL_PREFERRED), 1ul}));
  EXPECT_EQ(policy(memory.data() + 2 * MiB - page), (std::pair{static_cast<int>(MPOL_PREFERRED), 1ul}));
  EXPECT_EQ(policy(memory.data() + 2 * MiB), (std::pair{static_cast<int>(MPOL_DEFAULT), 0ul}));
}

TEST(placer_here, the_system_tells_of_nodes) {
  const detail::placement_calls& calls = detail::system_placement_calls();
  EXPECT_EQ(calls.find_meminfo(0), 0);
  char text[512] = {};
  EXPECT_GT(calls.read_meminfo(0, text, sizeof text - 1), 0);
  EXPECT_THAT(std::string{text}, AllOf(HasSubstr("MemTotal:"), HasSubstr("MemFree:"), HasSubstr("Active(file):")));
  if (std::filesystem::exists("/proc/zoneinfo")) {
    EXPECT_GT(calls.kept_free(0), 0u);
  }
  EXPECT_EQ(calls.kept_free(1000), 0u);
  EXPECT_EQ(calls.find_meminfo(1000), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(calls.read_meminfo(1000, text, sizeof text), -1);
}

TEST(placer_here, a_range_that_cannot_be_written_is_refused) {
  const guarded_memory memory{8 * MiB};
  ASSERT_EQ(::mprotect(memory.data() + 4 * MiB, 2 * MiB, PROT_NONE), 0);
  const placement_report report = placer{{.steps = {{{.node = 0, .fill = 1.0}}}}}.place(memory.data(), 8 * MiB);
  EXPECT_EQ(report.outcome, placement_outcome::refused);
  EXPECT_EQ(report.error, EINVAL);
  EXPECT_EQ(report.placed_bytes, 4 * MiB);
}

TEST(locate_pages, counts_pages_that_a_range_has_a_part_of) {
  if (!is_told_where_pages_are()) GTEST_SKIP() << "this kernel does not tell where pages are";
  constexpr std::uint64_t bytes = 3 * MiB;  // more than one batch
  void* const mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapping, MAP_FAILED);
  ::madvise(mapping, bytes, MADV_NOHUGEPAGE);
  auto* const at = static_cast<char*>(mapping);
  for (std::uint64_t touched = 0; touched < bytes; touched += 3 * page) at[touched] = 1;
  const detail::page_locations all = detail::locate_pages(at, bytes);
  EXPECT_THAT(all.node_bytes, ElementsAre(bytes / 3));
  EXPECT_EQ(all.absent_bytes, bytes / 3 * 2);
  const detail::page_locations few = detail::locate_pages(at + 3 * page - 1, 2);
  EXPECT_THAT(few.node_bytes, ElementsAre(page));
  EXPECT_EQ(few.absent_bytes, page);
  const detail::page_locations none = detail::locate_pages(at, 0);
  EXPECT_THAT(none.node_bytes, ElementsAre());
  EXPECT_EQ(none.absent_bytes, 0u);
  ::munmap(mapping, bytes);
}

}  // namespace
}  // namespace situ
