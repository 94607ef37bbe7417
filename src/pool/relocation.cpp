#include "pool/relocation.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "pool/huge_pages.h"
#include "pool/object_checks.h"

namespace situ::detail {
namespace {

bool has_pointers(const type_descriptor& type) noexcept {
  return !type.pointers.empty() || !type.others.empty() || type.kind == object_kind::pointer_block;
}

}  // namespace

void relocation::move_from(const start& root) {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  try {
    if (blocks_before_.empty()) {
      make_table();
      runs_in_.resize((file_.end() - file_.heap_offset()) / page_maker::piece_bytes + 1);
    }
    to_ = reinterpret_cast<std::uintptr_t>(file_.base());
    const pool_file::private_writing writing{file_};
    expect_pages();
    note(root);
    move_queued();
    pages_.reset();
  } catch (...) {
    pages_.reset();
    failure_ = std::current_exception();
    throw;
  }
}

std::uint64_t relocation::move_all(const std::vector<start>& roots, std::uint64_t to) {
  make_table();
  to_ = to;
  is_flushed_ = true;
  visited_bytes_ = 0;
  expect_pages();
  for (const start& each : roots) note(each);
  move_queued();
  pages_.reset();
  return visited_bytes_;
}

// Announces the pages of a block in a run that is about to be visited. In a reader's copy each page takes memory: if
// many runs of a piece are wanted, all of the piece is made; if few are, making it would be a waste.
void relocation::expect_writes(const pool_heap::place& block) {
  std::byte* const at = file_.base() + block.offset;
  if (is_flushed_ || block.bytes >= page_maker::piece_bytes) return pages_->want(at, block.bytes);
  constexpr std::uint8_t many_runs = 8;  // of 64, when they are of one chunk
  std::uint8_t& runs = runs_in_[pages_->piece_of(at)];
  if (runs == many_runs) return;
  if (++runs == many_runs) pages_->want(at, block.bytes);
}

// The range ends with the heap's last chunk, since the file ends there.
void relocation::expect_pages() {
  pages_.emplace(file_.base() + file_.heap_offset(), file_.end() - file_.heap_offset());
}

void relocation::make_table() {
  blocks_before_.assign(file_.chunks(), 0);
  std::uint64_t blocks = 0;
  for (std::uint32_t i = 0; i < file_.chunks(); ++i) {
    blocks_before_[i] = blocks;
    blocks += heap_.most_blocks(i);
  }
  reserve_huge(found_as_, blocks);
  found_as_.assign(blocks, 0);
  reserve_huge(to_visit_, file_.chunks());
  to_visit_.assign(file_.chunks(), {});
  is_queued_.assign(file_.chunks(), false);
  queue_.clear();
  notes_settled_ = notes_made_;
}

// --- blocks ---

void relocation::refuse(const pool_heap::place& block, std::uint64_t within, std::uint16_t known,
                        const type_descriptor& type) const {
  if (type.size > block.bytes - within || within % type.size != 0)
    throw_damaged(file_.path(), block.offset + within,
                  fmt::format("an object of {} is looked for here, and the block of {} bytes from byte {} on, in which "
                              "this lies, has none here if it has any",
                              type.name, block.bytes, block.offset));
  if (known != 0)
    throw_error(
        errc::bad_file,
        fmt::format("pool {}, byte {}: a block is reached as {} and as {}, so its pointers cannot be made right at "
                    "other addresses; open the pool in a process in which {:#x} is free",
                    file_.path(), block.offset, types_[known]->name, type.name, file_.home()));
  throw_error(errc::not_supported,
              fmt::format("pool {}: its addresses are taken, and objects of {}, which derives from "
                          "situ::object, cannot be opened at others; open it in a process in which "
                          "{:#x} is free",
                          file_.path(), type.name, file_.home()));
}

void relocation::note(const start& target) {
  if (notes_made_ - notes_settled_ == most_notes) settle_note();
  waiting_note& next = notes_[notes_made_ % most_notes];
  if (!heap_.locate(target.offset, next.block)) return;  // it leads to no object, before and after the move
  next.within = target.offset - next.block.offset;
  next.type = target.type;
  ++notes_made_;
  __builtin_prefetch(&found_as_[blocks_before_[next.block.first] + next.block.index], 1);
  __builtin_prefetch(&to_visit_[next.block.first][next.block.index / 64], 1);
}

void relocation::settle_note() {
  const auto& [block, within, target] = notes_[notes_settled_++ % most_notes];
  const type_descriptor& type = *target;
  const bool is_object = type.size <= block.bytes - within && (within == 0 || within % type.size == 0);
  std::uint16_t& known = found_as_[blocks_before_[block.first] + block.index];
  if (known == type.index && is_object) return;
  if (!is_object || known != 0 || type.is_tagged) {
    if (!heap_.is_live(block)) return;
    refuse(block, within, known, type);
  }
  known = type.index;
  if (types_.size() <= type.index) types_.resize(type.index + std::size_t{1});
  types_[type.index] = &type;
  to_visit_[block.first][block.index / 64] |= std::uint64_t{1} << block.index % 64;
  __builtin_prefetch(file_.base() + block.offset, 1);
  if (is_queued_[block.first]) return;
  is_queued_[block.first] = true;
  queue_.push_back(block.first);
  if (has_pointers(type)) expect_writes(block);
}

void relocation::move_queued() {
  // Visits runs in the order in which they were queued, so that a run has many blocks to visit by then.
  for (std::size_t next = 0;; ++next) {
    while (next == queue_.size() && notes_settled_ != notes_made_) settle_note();
    if (next == queue_.size()) break;
    visit_run(queue_[next]);
    is_queued_[queue_[next]] = false;
  }
  queue_.clear();
}

// Repeats until no block is left, since the run's blocks may lead to other blocks of the run.
void relocation::visit_run(std::uint32_t first) {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::uint32_t word = 0; word < 16; ++word) {
      while (to_visit_[first][word] != 0) {
        goes_on = true;
        const std::uint64_t now = std::exchange(to_visit_[first][word], 0);
        const auto number_of = [&](std::uint64_t bits) {
          return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        };
        for (std::uint64_t bits = now; bits != 0; bits &= bits - 1)
          __builtin_prefetch(file_.base() + heap_.block_of(first, number_of(bits)).offset, 1);
        for (std::uint64_t bits = now; bits != 0; bits &= bits - 1) visit_block(first, number_of(bits));
      }
    }
  }
}

void relocation::visit_block(std::uint32_t first, std::uint32_t index) {
  const pool_heap::place block = heap_.block_of(first, index);
  const type_descriptor& type = *types_[found_as_[blocks_before_[first] + index]];
  if (!heap_.is_live(block)) return;  // the pointer to it leads to no object
  visited_bytes_ += block.bytes;
  if (!has_pointers(type)) return;
  if (file_.has_checks()) {
    move_checked(block, type);
  } else {
    move_objects(block, type, to_);
  }
  if (is_flushed_) file_.persist().flush(file_.base() + block.offset, block.bytes, pool_step::move_pointers);
}

void relocation::move_objects(const pool_heap::place& block, const type_descriptor& type, std::uint64_t to) {
  to_ = to;
  std::byte* const at = file_.base() + block.offset;
  const std::size_t count = block.bytes / type.size;
  for (std::size_t i = 0; i < count; ++i) move_object(at + i * type.size, type);
}

// If a move was interrupted, the block's pointers lead to either place, and its check is that of the contents with all
// pointers at one of the two. A wrong check stays wrong, by more than one bit: a wrong bit in a pointer becomes other
// bits when the pointer moves, so a later repair must not take it for a single wrong bit.
void relocation::move_checked(const pool_heap::place& block, const type_descriptor& type) {
  const auto difference_at = [&](std::uint64_t to) {
    move_objects(block, type, to);
    return object_difference(file_.base(), block.offset, block.bytes, block.check_offset(), file_.salt());
  };
  const std::uint64_t to = to_;
  const object_check at_home = difference_at(file_.home());
  const bool is_right = at_home == 0 || (file_.is_moving() && difference_at(file_.moving_to()) == 0);
  const object_check now = difference_at(to);
  object_check left = is_right ? 0 : at_home;
  while (left != 0 && find_changed_bit(block.offset, block.bytes, block.check_offset(), left).has_value())
    left *= 0x9e3779b1;  // odd, so it never becomes 0
  auto* const check = file_.at<object_check>(block.check_offset());
  __atomic_store_n(check, *check ^ now ^ left, __ATOMIC_RELAXED);
  if (is_flushed_) file_.persist().flush(check, sizeof *check, pool_step::move_pointers);
}

// --- pointers ---

void relocation::move_object(std::byte* object, const type_descriptor& type) {
  if (type.kind == object_kind::pointer_block) return move_pointer(object, *type.element);
  for (const simple_pointer& each : type.pointers) move_pointer(object + each.offset, *each.target);
  move_ops(object, type.others);
}

void relocation::move_ops(std::byte* object, const std::vector<op>& ops) {
  for (const op& each : ops) {
    if (each.kind == op_kind::pointer) move_pointer(object + each.offset, *each.target);
    if (each.kind == op_kind::array) move_elements(object + each.offset, *each.target);
    if (each.kind != op_kind::choice) continue;
    const auto there = static_cast<std::size_t>(object[each.cases->flag_offset]);
    if (there >= each.cases->alternatives.size())
      throw_damaged(file_.path(), file_.offset_of(object + each.cases->flag_offset),
                    "an optional or a variant holds an alternative that there is not");
    move_ops(object, each.cases->alternatives[there]);
  }
}

// Removed elements are zeroes, so the whole block is walked like any other block; blocks of data are not walked.
void relocation::move_elements(std::byte* word, const type_descriptor& block) {
  if (block.kind == object_kind::data_block) {
    (void)move_word(word);
  } else {
    move_pointer(word, block.kind == object_kind::object_block ? *block.element : block);
  }
}

void relocation::move_pointer(std::byte* word, const type_descriptor& target) {
  if (const std::uint64_t offset = move_word(word); offset != 0) note({offset, &target});
}

std::uint64_t relocation::move_word(std::byte* word) const {
  std::uint64_t value = 0;
  std::memcpy(&value, word, sizeof value);
  if (value == 0) return 0;
  std::uint64_t offset = value - file_.home();
  if (offset >= file_.end()) offset = value - file_.moving_to();  // stays outside of the pool unless it is being moved
  if (offset < file_.heap_offset() || offset >= file_.end()) return 0;
  const std::uint64_t moved = to_ + offset;
  if (moved != value) std::memcpy(word, &moved, sizeof moved);  // one store, so a crash cannot tear it
  return offset;
}

}  // namespace situ::detail
