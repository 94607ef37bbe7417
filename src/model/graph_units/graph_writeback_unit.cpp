#include "model/graph_units/graph_writeback_unit.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace situ::model {

writeback_result graph_writeback_unit::write_back(const void* root, const detail::type_descriptor& type, time_ps now) {
  const detail::graph_root only{root, &type};
  return write_back({&only, 1}, now);
}

writeback_result graph_writeback_unit::write_back(std::span<const detail::graph_root> roots, time_ps now) {
  now_ = std::max(now, free_from_);
  result_ = {.begin = now_};
  pending_.clear();
  marked_.clear();
  for (const detail::graph_root& root : roots) {
    push(static_cast<const std::byte*>(root.object), root.type);
    while (!pending_.empty()) visit(pop());
  }
  result_.end = free_from_ = now_;
  return result_;
}

time_ps graph_writeback_unit::dispatch(network_port& network, std::uint32_t tile, time_ps now) {
  now_ = local_.write(stack_.address, 2 * words_.word_bytes, std::max(now, free_from_));  // into M
  free_from_ = now_;
  return network.spawn_with_data(tile, timing_.metadata_bytes, now_);
}

void graph_writeback_unit::push(const std::byte* object, const detail::type_descriptor* type) {
  if (object == nullptr) return;
  if (pending_.size() == stack_.entries)
    throw_error(errc::out_of_memory,
                fmt::format("the graph has more than {} outstanding objects: give the writeback unit a larger stack",
                            stack_.entries));
  now_ = local_.write(stack_.address + pending_.size() * words_.pointer_bytes, words_.pointer_bytes, now_);
  pending_.push_back({object, type});
  result_.deepest_stack = std::max<std::uint64_t>(result_.deepest_stack, pending_.size());
}

graph_writeback_unit::outstanding graph_writeback_unit::pop() {
  const outstanding next = pending_.back();
  pending_.pop_back();
  now_ = local_.read(stack_.address + pending_.size() * words_.pointer_bytes, words_.pointer_bytes, now_);
  return next;
}

void graph_writeback_unit::visit(const outstanding& next) {
  read(next.object, words_.word_bytes);  // the mark
  if (!marked_.insert(next.object).second) return;
  now_ = cache_.write(address_of(next.object), static_cast<std::uint32_t>(words_.word_bytes), now_);
  cache_.see(address_of(next.object), sizeof(std::uint64_t));
  const unit_layout& layout = layouts_.of(layouts_.type_at(next.object, *next.type));
  read(next.object, words_.pointer_bytes);  // vptr
  read(layout.type, words_.pointer_bytes);  // the class
  read(&layout.type->size, words_.word_bytes);
  read(&layout.type->mask, words_.word_bytes);
  ++result_.objects;
  result_.finalizers += layout.type->has_containers ? 1 : 0;
  count(layout.type->units * 8ULL, layout.type->alignment);
  write_back_lines(next.object, layout.type->size);
  for (const layout_word& word : layout.words) {
    spend(timing_.state_cycles);
    if (word.kind == word_kind::array) visit_array(next.object, word);
    if (word.kind != word_kind::pointer) continue;
    read(next.object + word.offset, words_.pointer_bytes);
    cache_.see(address_of(next.object + word.offset), sizeof(void*));
    push(pointer_at(next.object + word.offset), word.target);
  }
}

void graph_writeback_unit::visit_array(const std::byte* object, const layout_word& word) {
  for (std::uint64_t i = 0; i < 3; ++i) read(object + word.offset + i * 8, words_.pointer_bytes);
  cache_.see(address_of(object + word.offset), sizeof(detail::array_descriptor));
  const detail::array_descriptor array = array_at(object + word.offset);
  if (array.count == 0) return;
  const unit_layout& block = layouts_.of(*word.target);
  const std::uint64_t bytes = (array.count + word.terminated) * block.type->size;
  ++result_.arrays;
  count((bytes + 7) / 8 * 8, block.type->alignment);
  write_back_lines(array.data, bytes);
  for (std::uint64_t i = 0; i < array.count && !block.slots.empty(); ++i) {
    for (const element_slot& slot : block.slots) {
      spend(timing_.state_cycles);
      if (slot.kind != word_kind::pointer) continue;
      const std::byte* const at = array.data + i * block.type->size + slot.offset;
      read(at, words_.pointer_bytes);
      cache_.see(address_of(at), sizeof(void*));
      push(pointer_at(at), slot.target);
    }
  }
}

void graph_writeback_unit::write_back_lines(const std::byte* begin, std::uint64_t bytes) {
  const std::uintptr_t line_bytes = cache_.line_bytes();
  const std::uintptr_t end = address_of(begin) + bytes;
  for (std::uintptr_t line = address_of(begin) / line_bytes * line_bytes; line < end; line += line_bytes) {
    spend(timing_.state_cycles);
    const cache_port::written_line written = cache_.write_back(line, now_);
    now_ = written.done;
    ++result_.lines;
    result_.modified_lines += written.was_modified ? 1 : 0;
  }
}

// Adds to the sums. Blocks start at multiples of 8 bytes at least; a stricter alignment may need padding of up to the
// rest.
void graph_writeback_unit::count(std::uint64_t bytes, std::uint64_t alignment) {
  result_.bytes += bytes;
  result_.alignment = std::max(result_.alignment, static_cast<std::uint32_t>(alignment));
  result_.room_bytes += bytes + (alignment > 8 ? alignment - 8 : 0);
}

void graph_writeback_unit::read(const void* address, std::uint64_t bytes) {
  now_ = cache_.read(address_of(address), static_cast<std::uint32_t>(bytes), now_);
}

}  // namespace situ::model
