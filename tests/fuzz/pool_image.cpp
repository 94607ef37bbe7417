#include "fuzz/pool_image.h"

#include "pool/format.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace situ::test {
namespace {

constexpr std::size_t page = 4096;

std::vector<std::byte> content_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

void fill_with_objects(pool& made) {
  made.transact([&](transaction& t) {
    pool_leaf* list = nullptr;
    for (std::uint64_t i = 0; i < 5; ++i) list = t.make<pool_leaf>(i, list);
    auto* const nodes = t.make_array<pool_node>(4);
    nodes[0] = {std::optional{list}, {nodes + 1, nodes + 2}, list->next, 1};
    nodes[1] = {std::nullopt, {nodes, nullptr}, list, 2};  // a cycle
    nodes[2] = {std::optional{list->next}, {nullptr, nodes + 3}, nullptr, 3};
    nodes[3] = {std::nullopt, {nullptr, nullptr}, nullptr, 4};
    auto* const large = t.make_array<pool_leaf>(6000);  // longer than the largest class
    large[0] = {7, list};
    large[5999] = {8, large};
    list->next->next->next = large;
    t.set_root("list", list);
    t.set_root("tree", nodes);
  });
}

}  // namespace

std::vector<std::byte> make_pool_image(bool is_cut, bool has_checks) {
  std::string folder = (std::filesystem::temp_directory_path() / "situ-pool-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error{"no folder " + folder};
  std::vector<std::byte> bytes;
  {
    const std::string path = folder + "/image.pool";
    pool made = pool::create(path, {.most_bytes = std::uint64_t{1} << 20, .object_checks = has_checks});
    fill_with_objects(made);
    if (is_cut) {
      transaction t{made};
      auto* const nodes = made.root<pool_node>("tree");
      t.set(nodes[3].number, 40u);
      t.set(nodes[2].children[0], nodes + 3);
      t.set_root("tree", t.make<pool_node>(nodes[0]));
      bytes = content_of(path);
    } else {
      bytes = content_of(path);
    }
  }
  std::filesystem::remove_all(folder);
  return bytes;
}

pool_in_memory::pool_in_memory() : descriptor_{::memfd_create("situ-pool", MFD_CLOEXEC)} {
  if (descriptor_ < 0) throw std::runtime_error{"no file in memory"};
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}
pool_in_memory::~pool_in_memory() { ::close(descriptor_); }

void pool_in_memory::fill(const std::vector<std::byte>& bytes) {
  if (::ftruncate(descriptor_, 0) != 0 || ::ftruncate(descriptor_, static_cast<off_t>(bytes.size())) != 0)
    throw std::runtime_error{"no room for a pool in memory"};
  static constexpr std::byte zeroes[page]{};
  for (std::size_t at = 0; at < bytes.size(); at += page) {
    const std::size_t length = std::min(page, bytes.size() - at);
    if (std::memcmp(bytes.data() + at, zeroes, length) == 0) continue;
    if (::pwrite(descriptor_, bytes.data() + at, length, static_cast<off_t>(at)) != static_cast<ssize_t>(length))
      throw std::runtime_error{"no room for a pool in memory"};
  }
}

void pool_in_memory::set(std::uint64_t offset, std::byte value) {
  if (::pwrite(descriptor_, &value, 1, static_cast<off_t>(offset)) != 1)
    throw std::runtime_error{"a pool in memory cannot be written"};
}

bool pool_in_memory::holds(const std::vector<std::byte>& bytes) const {
  if (::lseek(descriptor_, 0, SEEK_END) != static_cast<off_t>(bytes.size())) return false;
  // But for the bytes where those meet who have the pool open.
  constexpr std::size_t area = detail::pool_area_offset;
  constexpr std::size_t area_end = area + detail::pool_area_bytes;
  std::byte part[16 * page];
  for (std::size_t at = 0; at < bytes.size();) {
    if (at == area) at = std::min(area_end, bytes.size());
    const std::size_t wanted = std::min({sizeof part, bytes.size() - at, at < area ? area - at : sizeof part});
    const ssize_t length = ::pread(descriptor_, part, wanted, static_cast<off_t>(at));
    if (length <= 0) return at == bytes.size();
    if (std::memcmp(part, bytes.data() + at, static_cast<std::size_t>(length)) != 0) return false;
    at += static_cast<std::size_t>(length);
  }
  return true;
}

taken_address::taken_address(std::uintptr_t at)
    : at_{::mmap(reinterpret_cast<void*>(at), page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                 0)} {}
taken_address::~taken_address() {
  if (at_ != MAP_FAILED) ::munmap(at_, page);
}

}  // namespace situ::test
