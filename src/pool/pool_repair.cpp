// Mends a damaged pool as far as possible, in a copy of it. Each part has its check, so a part with one changed bit is
// mended by trying all bits; parts that are lost are given up and reported. Order: parts that are needed to read
// another part are mended before it.
#include <situ/base/error.h>
#include <situ/base/units.h>
#include <situ/pool/pool.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

#include "os/descriptor.h"
#include "os/mapping.h"
#include "pool/object_checks.h"
#include "pool/pool_file.h"
#include "pool/pool_tools.h"
#include "pool/whole_file.h"

namespace situ::detail {
namespace {

class mending {
 public:
  mending(std::byte* at, std::uint64_t bytes, const std::string& path, std::vector<std::string>& done)
      : at_{at}, bytes_{bytes}, path_{path}, done_{done} {}

  // Mends all structures that opening a pool needs.
  void mend_structures() {
    mend_header();
    mend_state();
    mend_sequence();
    mend_map();
    mend_slabs();
  }
  // For use after the last writer's incomplete transaction was rolled back, which may change roots and objects.
  void mend_objects();
  void mend_roots();
  // Returns the end of the file, once all is mended.
  [[nodiscard]] std::uint64_t end() const noexcept { return heap_ + std::uint64_t{chunks_} * chunk_bytes; }

 private:
  template <class T>
  [[nodiscard]] T* part(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(at_ + offset);
  }
  template <class... Arguments>
  void say(std::uint64_t offset, fmt::format_string<Arguments...> what, Arguments&&... arguments) {
    done_.push_back(fmt::format("byte {}: {}", offset, fmt::format(what, std::forward<Arguments>(arguments)...)));
  }

  // Flips the one bit that makes is_right() true. If no bit or several bits do, changes nothing and returns false.
  template <class IsRight>
  bool put_bit_right(std::uint64_t offset, std::uint64_t bytes, IsRight is_right) {
    std::optional<std::uint64_t> found;
    for (std::uint64_t bit = 0; bit < bytes * 8; ++bit) {
      flip(offset, bit);
      const bool does = is_right();
      flip(offset, bit);
      if (does && found.has_value()) return false;
      if (does) found = bit;
    }
    if (!found.has_value()) return false;
    flip(offset, *found);
    say(offset + *found / 8, "bit {} was flipped; now the check is right", *found % 8);
    return true;
  }
  void flip(std::uint64_t offset, std::uint64_t bit) noexcept {
    at_[offset + bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
  }

  void mend_header();
  void mend_state();
  void mend_sequence();
  void mend_map();
  void mend_entry(std::uint32_t chunk, std::uint64_t& word);
  void mend_slabs();
  void mend_slab(std::uint32_t first, std::uint8_t size_class);
  void put_aside(std::uint32_t number, const char* why);
  // Calls visit(offset, bytes, offset of its check) for each live block, by rising offset.
  template <class Visit>
  void for_each_live(Visit visit) const;
  [[nodiscard]] bool fits(std::uint32_t chunk, std::uint64_t word, run_entry& entry) const noexcept {
    return run_entry::unpack(word, chunk, salt_, entry) && entry.chunks <= chunks_ - chunk;
  }

  std::byte* at_;
  std::uint64_t bytes_;
  const std::string& path_;
  std::vector<std::string>& done_;
  std::uint64_t salt_ = 0;
  std::uint64_t map_offset_ = 0;
  std::uint64_t heap_ = 0;
  std::uint32_t chunks_ = 0;
  bool has_checks_ = false;
};

void mending::mend_header() {
  auto* const header = part<pool_header>(0);
  const auto is_right = [&] { return header->check == check_of(0, header, offsetof(pool_header, check)); };
  if (!is_right() && !put_bit_right(0, sizeof *header, is_right))
    throw_lost(path_, 0, "the header has changed in more than a bit, and all else is read by it: it cannot be mended");
  if (std::memcmp(header->magic, pool_magic, sizeof pool_magic) != 0) throw_lost(path_, 0, "this is no pool");
  salt_ = add_to_check(header->identity[0], header->identity[1]);
  check_pool_features(*header, path_);
  has_checks_ = has_feature(*header, object_checks_feature);
  const std::uint64_t log_bytes = log_bytes_of(*header);
  if (log_bytes < pool_log_bytes || log_bytes > most_pool_log_bytes || log_bytes % pool_log_bytes != 0)
    throw_lost(path_, offsetof(pool_header, log_bytes), "the log has a length that no log has");
  map_offset_ = pool_log_offset + log_bytes;
  heap_ = pool_heap_offset(header->most_bytes, log_bytes);
  if (header->most_bytes > most_pool_heap_bytes || bytes_ < heap_ + chunk_bytes)
    throw_lost(path_, bytes_, "the file ends before its heap: it cannot be mended");
}

// Takes the valid copy with the larger generation. If neither is valid, takes the size from the length of the file.
void mending::mend_state() {
  auto* const first = part<pool_state_record>(pool_state_offset);
  auto* const second = part<pool_state_record>(pool_state_offset + pool_state_distance);
  const std::uint64_t there = (bytes_ - heap_) / chunk_bytes;
  const auto is_right = [&](const pool_state_record& copy) {
    return copy.check == copy.right_check(salt_) && copy.chunks != 0 &&
           copy.chunks <= part<pool_header>(0)->most_bytes / chunk_bytes;
  };
  const bool right[2] = {is_right(*first), is_right(*second)};
  pool_state_record next{1, there, 0};
  if (right[0] || right[1])
    next = right[0] && (!right[1] || first->generation >= second->generation) ? *first : *second;
  if (!right[0] && !right[1])
    say(pool_state_offset, "both copies of the heap's size were damaged; it has {} chunks, as the file has", there);
  if (right[0] != right[1])
    say(right[0] ? pool_state_offset + pool_state_distance : pool_state_offset,
        "a copy of the heap's size was damaged; it is written anew from the other one");
  if (next.chunks > there) {
    say(bytes_, "the file ended here, and its heap went to byte {}; what lay there is lost",
        heap_ + next.chunks * chunk_bytes);
    next.chunks = there;
  }
  chunks_ = static_cast<std::uint32_t>(next.chunks);
  next.check = next.right_check(salt_);
  *first = *second = next;
}

void mending::mend_sequence() {
  auto* const word = part<std::uint64_t>(pool_sequence_offset);
  if (is_sealed(*word, salt_)) return;
  if (put_bit_right(pool_sequence_offset, 8, [&] { return is_sealed(*word, salt_); })) return;
  // Takes a number that no entry of an old log can have.
  *word = seal(std::uint64_t{1} << 46, salt_);
  say(pool_sequence_offset,
      "the number of the log's transaction was damaged; if its last writer left one incomplete, that cannot be taken "
      "back");
}

void mending::mend_entry(std::uint32_t chunk, std::uint64_t& word) {
  const std::uint64_t offset = map_offset_ + std::uint64_t{chunk} * 8;
  run_entry entry;
  if (put_bit_right(offset, 8, [&] { return fits(chunk, word, entry); })) return;
  const auto* const head = part<const slab_header>(heap_ + chunk * chunk_bytes);
  for (std::uint8_t each = 0; each < class_count; ++each) {
    if (head->check != slab_header::right_check(salt_, chunk, each) || size_classes[each].chunks > chunks_ - chunk)
      continue;
    word = run_entry{run_kind::slab, each, size_classes[each].chunks}.pack(chunk, salt_);
    return say(offset, "the entry of chunk {} was damaged; by its head it is a slab of blocks of {} bytes", chunk,
               size_classes[each].bytes);
  }
  // If the run is taken as larger than it is, its memory stays unused; if as smaller, memory in use would be allocated
  // again.
  std::uint32_t end = chunk + 1;
  while (end < chunks_ && part<std::uint64_t>(map_offset_)[end] == 0) ++end;
  word = run_entry{run_kind::large, 0, end - chunk}.pack(chunk, salt_);
  say(offset, "the entry of chunk {} was damaged; it is taken for a large block of {} chunks, up to the next entry",
      chunk, end - chunk);
}

void mending::mend_map() {
  auto* const map = part<std::uint64_t>(map_offset_);
  const auto most = static_cast<std::uint32_t>(part<pool_header>(0)->most_bytes / chunk_bytes);
  for (std::uint32_t i = chunks_; i < most; ++i) {
    if (map[i] == 0) continue;
    say(map_offset_ + std::uint64_t{i} * 8, "there was an entry of chunk {}, which the heap has not got", i);
    map[i] = 0;
  }
  for (std::uint32_t i = 0; i < chunks_;) {
    run_entry entry;
    if (map[i] == 0) {
      ++i;
      continue;
    }
    if (run_entry::unpack(map[i], i, salt_, entry) && entry.chunks > chunks_ - i) {
      say(map_offset_ + std::uint64_t{i} * 8,
          "a run of {} chunks from chunk {} on went beyond the heap; it is given up", entry.chunks, i);
      map[i] = 0;
      continue;
    }
    if (!fits(i, map[i], entry)) {
      mend_entry(i, map[i]);
      (void)fits(i, map[i], entry);
    }
    for (std::uint32_t within = i + 1; within < i + entry.chunks; ++within) {
      if (map[within] == 0) continue;
      say(map_offset_ + std::uint64_t{within} * 8, "there was an entry of chunk {}, which lies in the run of chunk {}",
          within, i);
      map[within] = 0;
    }
    i += entry.chunks;
  }
}

void mending::mend_slab(std::uint32_t first, std::uint8_t size_class) {
  const std::uint64_t offset = heap_ + std::uint64_t{first} * chunk_bytes;
  auto* const head = part<slab_header>(offset);
  const std::uint64_t right = slab_header::right_check(salt_, first, size_class);
  if (head->check != right) {
    head->check = right;
    say(offset, "the check of the slab in chunk {} was wrong; which of its blocks are live is left as it is", first);
  }
  const std::uint32_t blocks = pool_slab_blocks(size_class, has_checks_);
  for (std::uint32_t word = 0; word < 16; ++word) {
    const std::uint64_t there = blocks_in_word(blocks, word);
    if ((head->live[word] & ~there) == 0) continue;
    say(offset + offsetof(slab_header, live) + word * 8, "the slab in chunk {} had blocks that it has no room for",
        first);
    head->live[word] &= there;
  }
}

void mending::mend_slabs() {
  const auto* const map = part<std::uint64_t>(map_offset_);
  for (std::uint32_t i = 0; i < chunks_;) {
    run_entry entry;
    if (map[i] != 0 && fits(i, map[i], entry)) {
      if (entry.kind == run_kind::slab) mend_slab(i, entry.size_class);
      i += entry.chunks;
    } else {
      ++i;
    }
  }
}

template <class Visit>
void mending::for_each_live(Visit visit) const {
  const auto* const map = part<std::uint64_t>(map_offset_);
  for (std::uint32_t i = 0; i < chunks_;) {
    run_entry entry;
    if (map[i] == 0 || !fits(i, map[i], entry)) {
      ++i;
      continue;
    }
    const std::uint64_t offset = heap_ + std::uint64_t{i} * chunk_bytes;
    const std::uint64_t end = offset + entry.chunks * chunk_bytes;
    if (entry.kind == run_kind::large)
      visit(offset, large_block_bytes(entry.chunks, has_checks_), object_check_offset(end, 0));
    const auto* const head = part<const slab_header>(offset);
    const std::uint32_t count = entry.kind == run_kind::slab ? pool_slab_blocks(entry.size_class, has_checks_) : 0;
    const std::uint64_t bytes = size_classes[entry.size_class].bytes;
    for (std::uint32_t index = 0; index < count; ++index)
      if ((head->live[index / 64] >> index % 64 & 1) != 0)
        visit(offset + sizeof(slab_header) + index * bytes, bytes, object_check_offset(end, index));
    i += entry.chunks;
  }
}

// Mends blocks of up to most_verified_bytes, which no transaction changes once their check is wrong. Leaves other
// changed blocks to be reported by the check of the copy.
void mending::mend_objects() {
  if (!has_checks_) return;
  for_each_live([&](std::uint64_t offset, std::uint64_t bytes, std::uint64_t check_offset) {
    const object_check difference = object_difference(at_, offset, bytes, check_offset, salt_);
    if (difference == 0 || bytes > most_verified_bytes) return;
    const auto bit = find_changed_bit(offset, bytes, check_offset, difference);
    if (!bit.has_value()) return;
    flip(*bit / 8, *bit % 8);
    say(*bit / 8, "bit {} of the object of {} bytes at byte {}, or of its check, was flipped", *bit % 8, bytes, offset);
  });
}

void mending::put_aside(std::uint32_t number, const char* why) {
  auto& root = part<pool_root_record>(pool_roots_offset)[number];
  std::string name;
  for (const char each : root.text()) name += each >= ' ' && each <= '~' ? each : '?';
  say(pool_roots_offset + number * sizeof root,
      "root {} {}, and is taken away: it had the name '{}', and led to byte {} as {} bytes with fingerprint {:016x}",
      number, why, name, root.offset, root.bytes, root.fingerprint);
  root = {};
}

void mending::mend_roots() {
  auto* const roots = part<pool_root_record>(pool_roots_offset);
  std::set<std::uint64_t> blocks;
  for_each_live([&](std::uint64_t offset, std::uint64_t, std::uint64_t) { blocks.insert(offset); });
  for (std::uint32_t i = 0; i < pool_root_count; ++i) {
    pool_root_record& each = roots[i];
    if (each.is_empty()) continue;
    const auto is_right = [&] { return each.check == each.right_check(salt_); };
    if (!is_right() && !put_bit_right(pool_roots_offset + i * sizeof each, sizeof each, is_right)) {
      put_aside(i, "was damaged");
    } else if (!blocks.contains(each.offset)) {
      put_aside(i, "led to no object");
    }
  }
}

// --- the file around it ---

// The file of a pool, locked so that no other process can have the pool open.
class locked_file {
 public:
  explicit locked_file(const std::string& path)
      : file_{::open(path.c_str(), O_RDWR | O_CLOEXEC)}, openers_{file_.number(), true} {
    if (!file_) throw_refused(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
    constexpr std::uint64_t patience_ns = 1'000'000'000;
    if (openers_.pass_gate(patience_ns) && openers_.enter(pool_company::alone) == pool_openers::refusal::none) return;
    throw_refused(path, "is in use; wait until it is closed");
  }
  [[nodiscard]] int number() const noexcept { return file_.number(); }

 private:
  os::descriptor file_;
  pool_openers openers_;
};

// Opens the copy, which rolls back the last writer's incomplete transaction.
pool open_copy(const whole_file& copy, const std::string& path) {
  try {
    return pool::open(copy.path_here());
  } catch (const error& refused) {
    throw_refused(path, fmt::format("cannot be mended; a mended copy of it is refused: {}", refused.message()));
  }
}

void mend(const whole_file& copy, std::uint64_t bytes, const std::string& path, std::vector<std::string>& done) {
  const auto mapped = os::mapping::anywhere(bytes, PROT_READ | PROT_WRITE, os::backing::shared(copy.descriptor()));
  if (!mapped) throw_refused(path, fmt::format("its copy cannot be mapped: {}", std::strerror(errno)));
  mending parts{mapped.begin(), bytes, path, done};
  parts.mend_structures();
  if (parts.end() < bytes && ::ftruncate(copy.descriptor(), static_cast<off_t>(parts.end())) != 0)
    throw_refused(path, fmt::format("its copy cannot be cut: {}", std::strerror(errno)));
  {
    const pool_info info = open_copy(copy, path).info();
    give_room(copy.descriptor(), info, path);
    if (info.restored_ranges != 0)
      done.push_back(
          fmt::format("a transaction that its last writer left incomplete is taken back: {} ranges of {} bytes",
                      info.restored_ranges, info.restored_bytes));
  }
  parts.mend_objects();
  parts.mend_roots();
}

}  // namespace

repaired_pool repair_pool(const std::string& path, const std::string& to) {
  const locked_file file{path};
  struct stat status{};
  if (::fstat(file.number(), &status) != 0)
    throw_refused(path, fmt::format("cannot be looked at: {}", std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) throw_refused(path, "is no regular file");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes < pool_map_offset) throw_lost(path, bytes, "the file ends before its heap: it cannot be mended");
  if (bytes > longest_file()) throw_too_long(to.empty() ? path : to, bytes);
  whole_file copy{to.empty() ? path : to, to.empty()};
  copy_bytes(file.number(), copy.descriptor(), bytes, path);
  repaired_pool result;
  mend(copy, bytes, path, result.done);
  result.left = open_copy(copy, path).check().damage;
  if (result.done.empty()) return result;
  ::fchmod(copy.descriptor(), status.st_mode & 07777);
  copy.publish();
  result.is_written = true;
  return result;
}

}  // namespace situ::detail
