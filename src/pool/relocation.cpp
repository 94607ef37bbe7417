#include "pool/relocation.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <cstring>

namespace situ::detail {

void relocation::move_from(const std::byte* object, const type_descriptor& type) {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  try {
    reach(object, type);
    if (!to_move_.empty()) move_all();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

void relocation::move_all() {
  const pool_file::private_writing writing{file_};
  while (!to_move_.empty()) {
    const block_of next = to_move_.back();
    to_move_.pop_back();
    move_block(next);
  }
}

void relocation::reach(const std::byte* target, const type_descriptor& type) {
  std::byte* block = nullptr;
  std::size_t bytes = 0;
  if (!heap_.find_containing(target, block, bytes)) return;  // it leads to no object, here as there
  const auto within = static_cast<std::size_t>(target - block);
  if (within % type.size != 0 || type.size > bytes - within)
    throw_damaged(file_.path(), file_.offset_of(target),
                  fmt::format("an object of {} is looked for here, and the block of {} bytes from byte {} on, in which "
                              "this lies, has none here if it has any",
                              type.name, bytes, file_.offset_of(block)));
  const auto [known, is_new] = moved_.emplace(block, &type);
  if (!is_new) {
    if (known->second == &type) return;
    throw_error(
        errc::bad_file,
        fmt::format("pool {}, byte {}: a block is reached as {} and as {}, so its pointers cannot be made right "
                    "at other addresses; open the pool in a process in which {:#x} is free",
                    file_.path(), file_.offset_of(block), known->second->name, type.name, file_.header().base));
  }
  if (type.is_tagged)
    throw_error(errc::not_supported, fmt::format("pool {}: its addresses are taken, and objects of {}, which derives "
                                                 "from situ::object, cannot be opened at others; open it in a process "
                                                 "in which {:#x} is free",
                                                 file_.path(), type.name, file_.header().base));
  if (!type.pointers.empty() || !type.others.empty() || type.kind == object_kind::pointer_block)
    to_move_.push_back({block, bytes, &type});
}

void relocation::move_block(const block_of& block) {
  const std::size_t count = block.bytes / block.type->size;
  for (std::size_t i = 0; i < count; ++i) move_object(block.at + i * block.type->size, *block.type);
}

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

// Elements that are gone are zeroes, so the whole block is walked, as any other; data is not.
void relocation::move_elements(std::byte* word, const type_descriptor& block) {
  if (block.kind == object_kind::data_block) {
    (void)move_word(word);
  } else {
    move_pointer(word, block.kind == object_kind::object_block ? *block.element : block);
  }
}

void relocation::move_pointer(std::byte* word, const type_descriptor& target) {
  if (const std::byte* const moved = move_word(word); moved != nullptr) reach(moved, target);
}

const std::byte* relocation::move_word(std::byte* word) const {
  std::uint64_t value = 0;
  std::memcpy(&value, word, sizeof value);
  const std::uint64_t offset = value - file_.header().base;
  if (value == 0 || offset < file_.heap_offset() || offset >= file_.end()) return nullptr;
  std::byte* const moved = file_.base() + offset;
  std::memcpy(word, &moved, sizeof moved);
  return moved;
}

}  // namespace situ::detail
