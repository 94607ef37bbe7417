#include "pool/relocation.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <cstring>

namespace situ::detail {

void relocation::move_from(const start& root) {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  try {
    if (visited_.empty()) make_table();
    to_ = reinterpret_cast<std::uintptr_t>(file_.base());
    const pool_file::private_writing writing{file_};
    found_.push_back(root);
    move_queued();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

std::uint64_t relocation::move_all(const std::vector<start>& roots, std::uint64_t to) {
  make_table();
  to_ = to;
  is_flushed_ = true;
  visited_bytes_ = 0;
  found_ = roots;
  move_queued();
  return visited_bytes_;
}

void relocation::make_table() {
  blocks_before_.assign(file_.chunks(), 0);
  std::uint64_t blocks = 0;
  for (std::uint32_t i = 0; i < file_.chunks(); ++i) {
    blocks_before_[i] = blocks;
    blocks += heap_.most_blocks(i);
  }
  visited_.assign(blocks, 0);
}

// --- what is next ---

void relocation::queue_ahead() {
  while (ahead_count_ != most_ahead && !found_.empty()) {
    const start next = found_.back();
    found_.pop_back();
    const std::byte* const object = file_.base() + next.offset;
    __builtin_prefetch(object);
    if (next.type->size > 64) __builtin_prefetch(object + 64);
    heap_.expect(next.offset);
    ahead_[(first_ahead_ + ahead_count_++) % most_ahead] = next;
  }
}

void relocation::move_queued() {
  for (;;) {
    queue_ahead();
    if (ahead_count_ == 0) return;
    const start next = ahead_[first_ahead_];
    first_ahead_ = (first_ahead_ + 1) % most_ahead;
    --ahead_count_;
    visit(next);
  }
}

void relocation::refuse_second_type(std::uint64_t block, std::uint16_t known, const type_descriptor& type) const {
  throw_error(
      errc::bad_file,
      fmt::format("pool {}, byte {}: a block is reached as {} and as {}, so its pointers cannot be made right at "
                  "other addresses; open the pool in a process in which {:#x} is free",
                  file_.path(), block, types_[known]->name, type.name, file_.home()));
}

void relocation::visit(const start& next) {
  const type_descriptor& type = *next.type;
  pool_heap::place block{};
  if (!heap_.locate(next.offset, block)) return;  // it leads to no object, here as there
  const std::uint64_t within = next.offset - block.offset;
  if (within % type.size != 0 || type.size > block.bytes - within)
    throw_damaged(file_.path(), next.offset,
                  fmt::format("an object of {} is looked for here, and the block of {} bytes from byte {} on, in which "
                              "this lies, has none here if it has any",
                              type.name, block.bytes, block.offset));
  std::uint16_t& known = visited_[blocks_before_[block.first] + block.index];
  if (known == type.index) return;
  if (known != 0) refuse_second_type(block.offset, known, type);
  if (type.is_tagged)
    throw_error(errc::not_supported, fmt::format("pool {}: its addresses are taken, and objects of {}, which derives "
                                                 "from situ::object, cannot be opened at others; open it in a process "
                                                 "in which {:#x} is free",
                                                 file_.path(), type.name, file_.home()));
  known = type.index;
  if (types_.size() <= type.index) types_.resize(type.index + std::size_t{1});
  types_[type.index] = &type;
  visited_bytes_ += block.bytes;
  if (type.pointers.empty() && type.others.empty()) return;
  std::byte* const at = file_.base() + block.offset;
  const std::size_t count = block.bytes / type.size;
  for (std::size_t i = 0; i < count; ++i) move_object(at + i * type.size, type);
  if (is_flushed_) file_.persist().flush(at, block.bytes, pool_step::move_pointers);
}

// --- pointers ---

void relocation::move_object(std::byte* object, const type_descriptor& type) {
  for (const simple_pointer& each : type.pointers) move_pointer(object + each.offset, *each.target);
  move_ops(object, type.others);
}

void relocation::move_ops(std::byte* object, const std::vector<op>& ops) {
  for (const op& each : ops) {
    if (each.kind == op_kind::pointer) move_pointer(object + each.offset, *each.target);
    if (each.kind != op_kind::choice) continue;
    const auto there = static_cast<std::size_t>(object[each.cases->flag_offset]);
    if (there >= each.cases->alternatives.size())
      throw_damaged(file_.path(), file_.offset_of(object + each.cases->flag_offset),
                    "an optional or a variant holds an alternative that there is not");
    move_ops(object, each.cases->alternatives[there]);
  }
}

void relocation::move_pointer(std::byte* word, const type_descriptor& target) {
  std::uint64_t value = 0;
  std::memcpy(&value, word, sizeof value);
  if (value == 0) return;
  std::uint64_t offset = value - file_.home();
  if (offset >= file_.end()) offset = value - file_.moving_to();  // out of the pool where it is not being moved
  if (offset < file_.heap_offset() || offset >= file_.end()) return;
  const std::uint64_t moved = to_ + offset;
  if (moved != value) std::memcpy(word, &moved, sizeof moved);  // one store: a crash leaves either
  found_.push_back({offset, &target});
}

}  // namespace situ::detail
