#include "pool/pool_heap.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "pool/huge_pages.h"

namespace situ::detail {
namespace {

constexpr std::size_t largest_slab_alignment = 64;  // sizeof(slab_header) is a multiple of it
constexpr std::size_t largest_alignment = 4096;

}  // namespace

// --- runs ---

void chunk_runs::insert(std::uint32_t first, std::uint32_t chunks) {
  total_ += chunks;
  auto after = by_first_.lower_bound(first);
  if (after != by_first_.end() && after->first == first + chunks) {
    chunks += after->second;
    by_size_.erase({after->second, after->first});
    after = by_first_.erase(after);
  }
  if (after != by_first_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == first) {
      first = before->first;
      chunks += before->second;
      by_size_.erase({before->second, before->first});
      by_first_.erase(before);
    }
  }
  by_first_.emplace(first, chunks);
  by_size_.emplace(chunks, first);
}

std::uint32_t chunk_runs::take(std::uint32_t chunks) {
  const auto found = by_size_.lower_bound({chunks, 0});
  if (found == by_size_.end()) return no_chunk;
  const auto [length, first] = *found;
  by_size_.erase(found);
  by_first_.erase(first);
  total_ -= chunks;
  if (length != chunks) {
    by_first_.emplace(first + chunks, length - chunks);
    by_size_.emplace(length - chunks, first + chunks);
  }
  return first;
}

bool chunk_runs::take_at(std::uint32_t first, std::uint32_t chunks) {
  const auto after = by_first_.upper_bound(first);
  if (after == by_first_.begin()) return false;
  const auto [begin, length] = *std::prev(after);
  if (first - begin > length || length - (first - begin) < chunks) return false;
  by_first_.erase(std::prev(after));
  by_size_.erase({length, begin});
  total_ -= length;
  if (first != begin) insert(begin, first - begin);
  const std::uint32_t left = length - (first - begin) - chunks;
  if (left != 0) insert(first + chunks, left);
  return true;
}

std::uint32_t chunk_runs::chunks_at(std::uint32_t first) const noexcept {
  const auto found = by_first_.find(first);
  return found == by_first_.end() ? 0 : found->second;
}

std::uint32_t chunk_runs::chunks_before(std::uint32_t end) const noexcept {
  if (by_first_.empty()) return 0;
  const auto last = std::prev(by_first_.end());
  return last->first + last->second == end ? last->second : 0;
}

// --- reading ---

run_entry pool_heap::entry_of(std::uint32_t chunk) const {
  run_entry entry;
  if (!run_entry::unpack(*map_word(chunk), chunk, file_.salt(), entry) || entry.chunks > file_.chunks() - chunk)
    throw_damaged(file_.path(), file_.offset_of(map_word(chunk)),
                  fmt::format("the entry of chunk {} is damaged", chunk));
  return entry;
}

// Visits each run of the map, in order. Most entries have the same contents as the previous one, so most of the time
// goes to their checks.
template <class Visit>
inline void pool_heap::for_each_run(Visit visit) const {
  const std::uint64_t* const map = map_word(0);
  const std::uint32_t chunks = file_.chunks();
  const std::uint64_t salt = file_.salt();
  std::uint64_t last_number = ~std::uint64_t{0};  // differs from the number of any entry
  run_entry entry;
  for (std::uint32_t i = 0; i < chunks;) {
    const std::uint64_t word = map[i];
    if (word == 0) {
      ++i;
      continue;
    }
    if (word >> 16 != last_number || !is_sealed(word, run_entry::seal_salt(i, salt)) || entry.chunks > chunks - i)
        [[unlikely]] {
      entry = entry_of(i);
      last_number = word >> 16;
    }
    visit(i, entry);
    i += entry.chunks;
  }
}

void pool_heap::read() {
  const std::uint32_t chunks = file_.chunks();
  // A reader at the pool's own addresses allocates no blocks and needs no tables, which would take some bytes a chunk,
  // and most of the time.
  if (!file_.may_write() && !file_.is_moved()) return for_each_run([](std::uint32_t, const run_entry&) {});
  first_of_.assign(chunks, 0);
  class_of_slab_.assign(chunks, 0);
  slabs_.clear();
  reserve_huge(slabs_, chunks);
  slabs_.resize(chunks);
  free_ = {};
  large_.clear();
  partial_ = {};
  slab_count_ = {};
  std::uint32_t free_from = 0;
  for_each_run([&](std::uint32_t first, const run_entry& entry) {
    if (free_from != first) [[unlikely]]
      free_.insert(free_from, first - free_from);
    if (entry.kind == run_kind::slab) [[likely]] {
      note_slab(first, entry);
    } else {
      large_.emplace_hint(large_.end(), first, large_run{entry.chunks});
    }
    free_from = first + entry.chunks;
  });
  if (free_from != chunks) free_.insert(free_from, chunks - free_from);
  for (unsigned i = 0; i < class_count; ++i) partial_[i].reserve(slab_count_[i]);
  for (std::uint32_t i = 0; i < chunks; ++i)
    if (first_of_[i] == i + 1) partial_[class_of_slab_[i]].push_back(i);
}

void pool_heap::make_place(slab& in) const noexcept {
  in.blocks = pool_slab_blocks(in.size_class, file_.has_checks());
  in.block_bytes = size_classes[in.size_class].bytes;
  in.first_block = block_at(in, 0);
  in.live = header_of(in.first)->live;
}

pool_heap::slab& pool_heap::load(std::uint32_t first) {
  if (slabs_[first] != nullptr) return *slabs_[first];
  const slab_header& header = *header_of(first);
  auto read = std::make_unique<slab>();
  read->first = first;
  read->size_class = class_of_slab_[first];
  read->is_published = true;
  read->is_listed = true;  // like all slabs that have not been read
  make_place(*read);
  const std::uint32_t blocks = read->blocks;
  bool is_sound = header.check == slab_header::right_check(file_.salt(), first, read->size_class);
  for (std::uint32_t i = 0; i < 16; ++i) {
    read->taken[i] = header.live[i];
    read->used += static_cast<std::uint32_t>(std::popcount(header.live[i]));
    is_sound = is_sound && (header.live[i] & ~blocks_in_word(blocks, i)) == 0;
  }
  if (!is_sound)
    throw_damaged(file_.path(), file_.offset_of(&header),
                  fmt::format("the head of the slab in chunk {} is damaged", first));
  slabs_[first] = std::move(read);
  return *slabs_[first];
}

// --- runs of chunks ---

void pool_heap::lengthen(std::uint32_t chunks) {
  const auto before = static_cast<std::uint32_t>(first_of_.size());
  first_of_.resize(chunks, 0);
  class_of_slab_.resize(chunks, 0);
  slabs_.resize(chunks);
  free_.insert(before, chunks - before);
}

std::uint32_t pool_heap::take_run(std::uint64_t chunks) {
  const std::uint64_t most = file_.most_chunks();
  const auto asked = static_cast<std::uint32_t>(std::min(chunks, most + 1));
  std::uint32_t first = free_.take(asked);
  if (first == no_chunk) {
    lengthen_by(asked);
    first = free_.take(asked);
  }
  try {
    file_.fill_holes(first, asked);
  } catch (...) {
    free_.insert(first, asked);
    throw;
  }
  return first;
}

void pool_heap::lengthen_by(std::uint32_t asked) {
  const std::uint32_t before = file_.chunks();
  const std::uint32_t least = asked - free_.chunks_before(before);
  file_.grow(least, std::max(least, std::max<std::uint32_t>(before / 4, 64)));
  lengthen(file_.chunks());
}

std::uint32_t pool_heap::take_log_run(std::uint64_t chunks) {
  const std::uint32_t first = take_run(chunks);
  log_runs_.emplace_back(first, static_cast<std::uint32_t>(chunks));
  return first;
}

void pool_heap::free_all_log_runs() {
  for (const auto& [first, chunks] : log_runs_) free_.insert(first, chunks);
  log_runs_.clear();
}

// --- slabs ---

void pool_heap::list(slab& of) {
  if (of.is_listed) return;
  of.is_listed = true;
  partial_[of.size_class].push_back(of.first);
}

void pool_heap::unlist(slab& of) {
  if (!of.is_listed) return;
  of.is_listed = false;
  auto& slabs = partial_[of.size_class];
  slabs.erase(std::prev(std::find(slabs.rbegin(), slabs.rend(), of.first).base()));
}

void pool_heap::free_slab(slab& of) {
  unlist(of);
  const std::uint32_t first = of.first;
  const std::uint32_t chunks = size_classes[of.size_class].chunks;
  --slab_count_[of.size_class];
  std::fill_n(first_of_.begin() + first, chunks, 0);
  slabs_[first] = nullptr;
  free_.insert(first, chunks);
}

// Makes the pages of a new slab, and of the free chunks behind it, which are the next ones in a growing heap. Doubles
// the number each time, so that at most as many pages are made ahead as are used.
void pool_heap::make_pages(std::uint32_t first, std::uint32_t chunks) {
  constexpr std::uint32_t most_ahead = 16;  // 256 KiB: longer ones gain nothing (docs/decisions/0026-pool-bench.md)
  const std::uint32_t behind = std::min(file_.chunks() - first, chunks + free_.chunks_at(first + chunks));
  const std::uint32_t made = std::clamp(ahead_, chunks, behind);
  file_.make_pages(first, made);
  paged_to_ = first + made;
  ahead_ = std::min(2 * ahead_, most_ahead);
}

pool_heap::slab& pool_heap::make_slab(unsigned size_class) {
  const auto chunks = static_cast<std::uint32_t>(size_classes[size_class].chunks);
  const std::uint32_t before = file_.chunks();
  const std::uint32_t first = take_run(chunks);
  if (file_.chunks() != before) paged_to_ = std::max(paged_to_, before);
  if (paged_to_ != 0 && first >= paged_to_) make_pages(first, chunks);
  auto made = std::make_unique<slab>();
  made->first = first;
  made->size_class = static_cast<std::uint8_t>(size_class);
  make_place(*made);
  made->is_listed = true;
  note_slab(first, {run_kind::slab, made->size_class, chunks});
  partial_[size_class].push_back(first);
  slabs_[first] = std::move(made);
  return *slabs_[first];
}

inline pool_heap::slab& pool_heap::slab_with_room(unsigned size_class) {
  auto& slabs = partial_[size_class];
  while (!slabs.empty()) [[likely]] {
    slab* const there = slabs_[slabs.back()].get();
    slab& last = there != nullptr ? *there : load(slabs.back());
    if (last.used != last.blocks) return last;
    last.is_listed = false;
    slabs.pop_back();
  }
  return make_slab(size_class);
}

inline void pool_heap::note_fresh(std::byte* block, slab& of, std::uint32_t index) {
  if (may_join_) {
    block_ref& last = fresh_.back();
    if (last.of == &of && last.index + last.count == index) {
      ++last.count;
      last.bytes += of.block_bytes;
      return;
    }
  }
  fresh_.push_within({block, of.block_bytes, &of, of.first, index, 1});
  may_join_ = true;
}

inline std::byte* pool_heap::take_of(slab& from) {
  // One of the slab's blocks is free, so the first clear bit belongs to a block: bits without a block come last.
  std::uint32_t word = from.hint;
  while (from.taken[word] == ~std::uint64_t{0}) ++word;
  from.hint = word;
  const auto bit = static_cast<std::uint32_t>(std::countr_one(from.taken[word]));
  from.taken[word] |= std::uint64_t{1} << bit;
  ++from.used;
  const std::uint32_t index = word * 64 + bit;
  std::byte* const block = from.first_block + std::size_t{index} * from.block_bytes;
  // The bytes after the object must be zero. Mostly they are among the last 16 bytes, and the caller sets the rest of
  // these.
  std::memset(block + from.block_bytes - smallest_block_bytes, 0, smallest_block_bytes);
  note_fresh(block, from, index);
  return block;
}

std::byte* pool_heap::take_large(std::size_t bytes) {
  const std::uint64_t behind = chunk_bytes - large_block_bytes(1, file_.has_checks());
  const std::uint64_t chunks = bytes / chunk_bytes + (bytes % chunk_bytes + behind + chunk_bytes - 1) / chunk_bytes;
  const std::uint32_t first = take_run(chunks);
  const auto taken = static_cast<std::uint32_t>(chunks);
  large_.emplace(first, large_run{taken, large_state::taken, false});
  std::memset(address(first) + bytes, 0, chunks * chunk_bytes - bytes);
  fresh_.push_back({address(first), large_block_bytes(chunks, file_.has_checks()), nullptr, first, taken, 1});
  may_join_ = false;
  return address(first);
}

// --- a transaction's blocks ---

// Fast path for a block of a small class whose slab has room. Leaves all other cases to take_any in tail position, so
// that no register is saved across a call.
std::byte* pool_heap::take(std::size_t bytes, std::size_t alignment) {
  if (bytes - 1 >= 1024 || alignment - 1 >= smallest_block_bytes || (alignment & (alignment - 1)) != 0) [[unlikely]]
    return take_any(bytes, alignment);
  const auto& slabs = partial_[class_of(bytes)];
  slab* const from = slabs.empty() ? nullptr : slabs_[slabs.back()].get();
  if (from == nullptr || from->used == from->blocks || fresh_.is_full() ||
      from->block_bytes - bytes > smallest_block_bytes) [[unlikely]]
    return take_any(bytes, alignment);
  return take_of(*from);
}

std::byte* pool_heap::take_any(std::size_t bytes, std::size_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > largest_alignment)
    throw_error(errc::bad_argument, fmt::format("pool {}: an alignment of {}; it is a power of two up to {}",
                                                file_.path(), alignment, largest_alignment));
  // A block of a class whose size is a multiple of the alignment is aligned.
  const std::size_t asked = std::max<std::size_t>(bytes, 1);
  const std::size_t rounded = (asked + alignment - 1) & ~(alignment - 1);
  if (rounded > largest_class_bytes || alignment > largest_slab_alignment || rounded < asked) return take_large(asked);
  if (fresh_.is_full()) fresh_.make_room();
  slab& from = slab_with_room(class_of(rounded));
  std::byte* const block = take_of(from);
  std::memset(block + asked, 0, from.block_bytes - asked);
  return block;
}

void pool_heap::take_many(std::size_t bytes, std::size_t alignment, std::size_t count, std::byte** to,
                          std::size_t distance) {
  for (std::size_t i = 0; i < count; ++i) to[i * distance] = take(bytes, alignment);
}

bool pool_heap::find(const void* at, block_ref& into) {
  const std::uint64_t offset = file_.offset_of(at);
  if (offset < file_.heap_offset() || offset >= file_.end()) return false;
  const auto chunk = static_cast<std::uint32_t>((offset - file_.heap_offset()) / chunk_bytes);
  auto* const block = static_cast<std::byte*>(const_cast<void*>(at));
  if (first_of_[chunk] == 0) {
    const auto found = large_.find(chunk);
    if (found == large_.end() || block != address(chunk)) return false;
    into = {block, 0, nullptr, chunk, found->second.chunks, 1};
    return true;
  }
  slab& in = load(first_of_[chunk] - 1);
  if (block < in.first_block) return false;
  const block_index where =
      index_of(static_cast<std::uint64_t>(block - in.first_block), size_classes[in.size_class].reciprocal);
  if (!where.exact || where.index >= in.blocks) return false;
  into = {block, 0, &in, in.first, static_cast<std::uint32_t>(where.index), 1};
  return true;
}

bool pool_heap::is_live(const block_ref& block) {
  if (block.of == nullptr) return large_.at(block.first).state != large_state::going;
  const slab& in = *block.of;
  const std::uint64_t bit = std::uint64_t{1} << block.index % 64;
  return (in.taken[block.index / 64] & ~in.leaving[block.index / 64] & bit) != 0;
}

bool pool_heap::is_block(const void* at) {
  block_ref found{};
  return find(at, found) && is_live(found);
}

void pool_heap::give_back(const void* block) {
  block_ref found{};
  if (!find(block, found) || !is_live(found))
    throw_error(errc::bad_address,
                fmt::format("pool {}: {} is not the start of an object of it that is there; destroy what `make`, "
                            "`make_array` or `allocate` of this pool returned, once",
                            file_.path(), block));
  going_.push_back(found);
  if (found.of == nullptr) {
    large_.at(found.first).state = large_state::going;
  } else {
    slab& in = *found.of;
    in.leaving[found.index / 64] |= std::uint64_t{1} << found.index % 64;
    ++in.going;
  }
}

void pool_heap::undo(mark from) {
  is_one_word_ = false;
  emptied_.clear();
  new_heads_.clear();
  for (; going_.size() > from.going; going_.pop_back()) {
    const block_ref& each = going_.back();
    if (each.of == nullptr) {
      large_run& run = large_.at(each.first);
      run.state = run.is_published ? large_state::live : large_state::taken;
    } else {
      slab& in = *each.of;
      in.leaving[each.index / 64] &= ~(std::uint64_t{1} << each.index % 64);
      --in.going;
    }
  }
  may_join_ = false;
  for (; fresh_.size() > from.fresh; fresh_.pop_back()) {
    const block_ref& each = fresh_.back();
    if (each.of == nullptr) {
      large_.erase(each.first);
      free_.insert(each.first, each.index);
      continue;
    }
    slab& in = *each.of;
    for (std::uint32_t index = each.index; index != each.index + each.count; ++index)
      in.taken[index / 64] &= ~(std::uint64_t{1} << index % 64);
    in.hint = std::min(in.hint, each.index / 64);
    in.used -= each.count;
    if (in.used == 0 && !in.is_published) {
      free_slab(in);
    } else {
      list(in);
    }
  }
}

}  // namespace situ::detail
