// Copies pools, and compares two of them.
#include <situ/base/error.h>
#include <situ/pool/pool.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <span>

#include "os/descriptor.h"
#include "pool/pool_file.h"
#include "pool/pool_tools.h"
#include "pool/whole_file.h"

namespace situ::detail {
namespace {

os::descriptor open_to_read(const std::string& path) {
  os::descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) throw_refused(path, fmt::format("cannot be opened for reading: {}", std::strerror(errno)));
  return file;
}

pool_header header_of(int descriptor, const std::string& path) {
  pool_header header{};
  if (::pread(descriptor, &header, sizeof header, 0) != sizeof header) throw_refused(path, "cannot be read");
  return header;
}
pool_header header_of_pool(const std::string& path) { return header_of(open_to_read(path).number(), path); }

}  // namespace

std::uint64_t base_of_pool(const std::string& path) { return header_of_pool(path).base; }

// Allocates disk blocks for the holes of a copy: a writer that stores into a hole on a full disk would get a signal.
void give_room(int descriptor, const pool_info& of, const std::string& path) {
  const std::uint64_t log_bytes = log_bytes_of(header_of(descriptor, path));
  const std::uint64_t heap = pool_heap_offset(of.most_bytes, log_bytes);
  const std::uint64_t map_end = pool_log_offset + log_bytes + of.heap_bytes / chunk_bytes * 8;
  for (const auto& [from, bytes] : {std::pair{std::uint64_t{0}, map_end}, {heap, of.heap_bytes}}) {
    const int failed = ::posix_fallocate(descriptor, static_cast<off_t>(from), static_cast<off_t>(bytes));
    if (failed != 0) throw_no_room(path, descriptor, bytes, failed);
  }
}

namespace {

// Clears the area that openers of a pool share: the copy has no openers yet.
void clear_area(int descriptor, const std::string& path) {
  const std::vector<std::byte> zeroes(pool_area_bytes);
  if (::pwrite(descriptor, zeroes.data(), zeroes.size(), pool_area_offset) != static_cast<ssize_t>(zeroes.size()))
    throw_refused(path, fmt::format("cannot be written: {}", std::strerror(errno)));
}

}  // namespace

copied_pool copy_pool(const std::string& from, const std::string& to, bool may_replace,
                      std::chrono::nanoseconds patience) {
  const pool source = pool::open(from, {.access = pool_access::read, .patience = patience});
  const read_section nobody_writes{source};
  const os::descriptor file = open_to_read(from);
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) throw_refused(from, std::strerror(errno));
  whole_file copy{to, may_replace};
  copied_pool done;
  done.bytes = static_cast<std::uint64_t>(status.st_size);
  if (done.bytes > longest_file()) throw_too_long(to, done.bytes);
  done.data_bytes = copy_bytes(file.number(), copy.descriptor(), done.bytes, from);
  if (!has_feature(header_of(file.number(), from), redo_log_feature))
    clear_area(copy.descriptor(), to);  // otherwise the log is stored there
  give_room(copy.descriptor(), source.info(), to);
  ::fchmod(copy.descriptor(), status.st_mode & 07777);
  try {
    (void)pool::open(copy.path_here(), pool_access::read);
  } catch (const error& refused) {
    throw_refused(to, fmt::format("is not made, for the copy is refused: {}", refused.message()));
  }
  copy.publish();
  return done;
}

// --- differences ---

namespace {

using block_list = std::map<std::uint64_t, std::span<const std::byte>>;  // by offset

block_list blocks_of(const pool& of) {
  block_list blocks;
  const std::uintptr_t base = of.info().base;
  of.for_each_block([&](void* at, std::size_t bytes) {
    blocks.emplace(reinterpret_cast<std::uintptr_t>(at) - base,
                   std::span<const std::byte>{static_cast<const std::byte*>(at), bytes});
  });
  return blocks;
}

struct lies_at {
  std::uint64_t base;  // address of the pool that its pointers assume
  std::uint64_t reach;
};

bool is_same_word(std::uint64_t first, std::uint64_t second, const lies_at& a, const lies_at& b) noexcept {
  return first == second ||
         (first - a.base < a.reach && second - b.base < b.reach && first - a.base == second - b.base);
}

// pre: blocks consist of whole words.
bool compare_block(std::span<const std::byte> first, std::span<const std::byte> second, const lies_at& a,
                   const lies_at& b, pool_difference& into) noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t at = 0; at + 8 <= first.size(); at += 8) {
    std::uint64_t words[2];
    std::memcpy(&words[0], first.data() + at, 8);
    std::memcpy(&words[1], second.data() + at, 8);
    if (is_same_word(words[0], words[1], a, b)) continue;
    for (std::size_t i = at; i < at + 8; ++i) {
      if (first[i] == second[i]) continue;
      if (bytes++ == 0) into.first_byte = i;
    }
  }
  into.bytes = bytes;
  return bytes == 0;
}

lies_at where_made(const std::string& path, const pool_info& info) {
  return {base_of_pool(path), pool_reach(info.most_bytes, log_bytes_of(header_of_pool(path)))};
}

void compare_roots(const pool_info& first, const pool_info& second, std::vector<pool_difference>& into) {
  using kind = pool_difference::kind;
  std::map<std::string, pool_info::root> others;
  for (const auto& each : second.roots) others.emplace(each.name, each);
  for (const auto& each : first.roots) {
    const auto other = others.find(each.name);
    if (other == others.end()) {
      into.push_back({kind::only_in_first, each.name, each.offset, each.bytes});
      continue;
    }
    const auto& [name, offset, bytes, fingerprint] = other->second;
    if (offset != each.offset || bytes != each.bytes || fingerprint != each.fingerprint)
      into.push_back({kind::differs, each.name, each.offset, each.bytes});
    others.erase(other);
  }
  for (const auto& [name, each] : others) into.push_back({kind::only_in_second, name, each.offset, each.bytes});
}

}  // namespace

std::vector<pool_difference> compare_pools(const std::string& first_path, const std::string& second_path,
                                           std::chrono::nanoseconds patience) {
  using kind = pool_difference::kind;
  const pool first = pool::open(first_path, {.access = pool_access::read, .patience = patience});
  const pool second = pool::open(second_path, {.access = pool_access::read, .patience = patience});
  const read_section nobody_writes_the_first{first};
  const read_section nor_the_second{second};
  for (const pool* each : {&first, &second})
    if (const auto damage = each->check().damage; !damage.empty()) throw_refused(each->info().path, damage.front());
  const lies_at a = where_made(first_path, first.info());
  const lies_at b = where_made(second_path, second.info());
  std::vector<pool_difference> found;
  compare_roots(first.info(), second.info(), found);
  block_list others = blocks_of(second);
  for (const auto& [offset, block] : blocks_of(first)) {
    const auto other = others.find(offset);
    if (other == others.end() || other->second.size() != block.size()) {
      found.push_back({kind::only_in_first, {}, offset, block.size()});
      continue;
    }
    pool_difference here{kind::differs, {}, offset, block.size()};
    if (!compare_block(block, other->second, a, b, here)) found.push_back(here);
    others.erase(other);
  }
  for (const auto& [offset, block] : others) found.push_back({kind::only_in_second, {}, offset, block.size()});
  return found;
}

}  // namespace situ::detail
