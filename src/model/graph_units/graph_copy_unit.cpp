#include "model/graph_units/graph_copy_unit.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace situ::model {

using detail::array_descriptor;
using detail::type_descriptor;

graph_copy_unit::graph_copy_unit(unit_memory_port& memory, map_buffer buffer, copy_unit_timing timing, word_sizes words,
                                 tagged_types tagged)
    : memory_{memory},
      timing_{timing},
      words_{words},
      layouts_{tagged},
      searched_{memory, buffer, words.pointer_bytes},
      hashed_{memory, buffer, words.pointer_bytes, timing.hash_cycles * timing.period} {}

copy_result graph_copy_unit::copy(const copy_request& request, time_ps now) {
  begin(request, now);
  result_.root = copy_root(request_.root, *request_.type);
  for (const detail::graph_root& root : request_.more_roots)
    result_.more_roots.push_back(root.object == nullptr ? nullptr : copy_root(root.object, *root.type));
  result_.objects = objects_.size();
  result_.bytes = used_;
  result_.probes = map_->probes() - result_.probes;
  result_.end = now_;
  return result_;
}

// Copies one root; returns its copy's final address.
void* graph_copy_unit::copy_root(const void* root, const type_descriptor& type) {
  target_ = static_cast<const std::byte*>(root);
  target_type_ = &type;
  object_ = no_object;
  const unit_copy_map::found found = map_->find(address_of(target_), now_);  // hashing learns its slot
  now_ = found.done;
  const bool is_known = found.copy != unit_copy_map::nothing;
  const std::uint32_t number = is_known ? found.copy : static_cast<std::uint32_t>(objects_.size());
  for (state next = is_known ? state::done : state::advance; next != state::done;) {
    switch (next) {
      case state::advance: next = advance(); break;
      case state::retreat: next = retreat(); break;
      case state::copy_word: next = copy_word(); break;
      case state::done: break;
    }
  }
  return const_cast<std::byte*>(request_.final_address + (known_as(number, type).copy - request_.destination));
}

void graph_copy_unit::begin(const copy_request& request, time_ps now) {
  request_ = request;
  if (request_.final_address == nullptr) request_.final_address = request_.destination;
  objects_.clear();
  used_ = 0;
  object_ = no_object;
  if (request.map == map_kind::linear) {
    map_ = &searched_;
  } else {
    map_ = &hashed_;
  }
  result_ = {.probes = map_->probes(), .begin = now};
  now_ = map_->begin(request.objects, now);
}

// Lines 1 to 8 of algorithm 1.
graph_copy_unit::state graph_copy_unit::advance() {
  spend(timing_.state_cycles);
  if (object_ != no_object) {
    copied_object& parent = objects_[object_];
    parent.offset = offset_;
    parent.index = index_;
    write_word(parent.copy);  // offset
    write_word(parent.copy);  // index
  }
  const unit_layout& layout = layouts_.of(layouts_.type_at(seen(target_, sizeof(std::uint64_t)), *target_type_));
  const auto number = static_cast<std::uint32_t>(objects_.size());
  copied_object made{.source = target_, .layout = &layout, .parent = object_};
  read_class(made);
  made.copy = create(layout.type->units * 8ULL, layout.type->alignment);
  write_word(made.copy);  // vptr
  now_ = map_->insert(address_of(target_), number, now_);
  write_word(made.copy);  // parent_src
  write_word(made.copy);  // parent_dst
  objects_.push_back(made);
  object_ = number;
  offset_ = 0;
  index_ = 0;
  mask_word_ = mask_at_ = 0;
  line_ = no_line;
  return state::copy_word;
}

// Lines 9 to 19 of algorithm 1.
graph_copy_unit::state graph_copy_unit::retreat() {
  spend(timing_.state_cycles);
  const copied_object& finished = objects_[object_];
  read_word(finished.copy);  // parent_src
  if (finished.parent == no_object) return state::done;
  read_word(finished.copy);  // parent_dst
  const copied_object& parent = objects_[finished.parent];
  object_ = finished.parent;
  offset_ = parent.offset;
  read_word(parent.copy);  // offset
  read_class(parent);
  mask_at_ = mask_position(offset_);
  mask_word_ = mask_at_ / timing_.mask_entries;
  line_ = no_line;
  const layout_word& word = parent.layout->words[offset_];
  if (word.kind == word_kind::array) {
    read_word(parent.copy);                // index
    read_word(parent.copy + word.offset);  // address of the copy's elements
    const array_view array = view_array(word);
    const element_slot& slot = array.block->slots[parent.index % array.block->slots.size()];
    const std::uint64_t at = parent.index / array.block->slots.size() * array.block->type->size + slot.offset;
    set_pointer(array.copy + at, finished.copy);
    write_word(array.copy + at);
    index_ = parent.index + 1;
    return state::copy_word;
  }
  set_pointer(parent.copy + word.offset, finished.copy);
  write_word(parent.copy + word.offset);
  mask_at_ += words_of(word);
  ++offset_;
  index_ = 0;
  return state::copy_word;
}

// Lines 20 to 53 of algorithm 1.
graph_copy_unit::state graph_copy_unit::copy_word() {
  const copied_object& object = objects_[object_];
  if (offset_ >= object.layout->words.size()) {
    spend(timing_.state_cycles);
    return state::retreat;
  }
  const layout_word& word = object.layout->words[offset_];
  switch (word.kind) {
    case word_kind::pointer: return copy_pointer(word);
    case word_kind::array: return copy_array(word);
    case word_kind::data:
    case word_kind::transient: break;
  }
  return copy_data(word);
}

graph_copy_unit::state graph_copy_unit::copy_data(const layout_word& word) {
  const copied_object& object = objects_[object_];
  const std::byte* const from = object.source + word.offset;
  std::byte* const to = object.copy + word.offset;
  for (std::uint32_t at = 0; at < word.bytes; at += static_cast<std::uint32_t>(words_.word_bytes)) {
    fetch_mask(mask_at_++);
    const std::uint64_t bytes = std::min<std::uint64_t>(words_.word_bytes, word.bytes - at);
    if (word.kind == word_kind::transient) {
      spend(timing_.state_cycles);
    } else {
      take_words(from + at, bytes);
    }
    memory_.post(address_of(to + at), bytes, now_);
  }
  if (word.kind == word_kind::transient) {
    std::memset(to, 0, word.bytes);
  } else {
    std::memcpy(to, seen(from, word.bytes), word.bytes);
  }
  ++offset_;
  return state::copy_word;
}

graph_copy_unit::state graph_copy_unit::copy_pointer(const layout_word& word) {
  fetch_mask(mask_at_);
  const copied_object& object = objects_[object_];
  if (!copy_known_pointer(object.source + word.offset, object.copy + word.offset, *word.target)) return state::advance;
  mask_at_ += words_of(word);
  ++offset_;
  return state::copy_word;
}

const graph_copy_unit::copied_object& graph_copy_unit::known_as(std::uint32_t number,
                                                                const type_descriptor& declared) const {
  const copied_object& known = objects_[number];
  if (declared.size > known.layout->type->size)
    throw_error(errc::bad_argument,
                fmt::format("the object at {} is a {}, but is met first by a pointer to its first part, a {}",
                            static_cast<const void*>(known.source), declared.name, known.layout->type->name));
  return known;
}

bool graph_copy_unit::copy_known_pointer(const std::byte* from, std::byte* to, const type_descriptor& target) {
  take_words(from, words_.pointer_bytes);
  target_ = pointer_at(seen(from, sizeof(void*)));
  target_type_ = &target;
  const std::byte* copy = nullptr;
  if (target_ != nullptr) {
    const unit_copy_map::found found = map_->find(address_of(target_), now_);
    now_ = found.done;
    if (found.copy == unit_copy_map::nothing) return false;
    copy = known_as(found.copy, target).copy;
  }
  set_pointer(to, copy);
  memory_.post(address_of(to), words_.pointer_bytes, now_);
  return true;
}

graph_copy_unit::state graph_copy_unit::copy_array(const layout_word& word) {
  fetch_mask(mask_at_);
  if (index_ == 0) {
    create_array(word);
  } else {  // resumed: address and number of the elements
    stream(objects_[object_].source + word.offset);
    spend(timing_.state_cycles);
  }
  const array_view array = view_array(word);
  while (index_ < array.slots()) {
    const std::uint64_t per_element = array.block->slots.size();
    const element_slot& slot = array.block->slots[index_ % per_element];
    const std::uint64_t at = index_ / per_element * array.block->type->size + slot.offset;
    if (slot.kind == word_kind::pointer && !copy_known_pointer(array.source + at, array.copy + at, *slot.target))
      return state::advance;
    ++index_;
  }
  mask_at_ += words_of(word);
  ++offset_;
  index_ = 0;
  line_ = no_line;
  return state::copy_word;
}

// Lines 34 to 42: copies the descriptor, makes room for the elements, and copies elements of plain data.
void graph_copy_unit::create_array(const layout_word& word) {
  const copied_object& object = objects_[object_];
  const std::byte* const from = object.source + word.offset;
  std::byte* const to = object.copy + word.offset;
  take_words(from, 3 * words_.pointer_bytes);
  memory_.post(address_of(to), 3 * words_.pointer_bytes, now_);
  array_descriptor copy = array_at(seen(from, sizeof(array_descriptor)));
  const std::byte* const elements = copy.data;
  const unit_layout& block = layouts_.of(*word.target);
  const std::uint64_t bytes = copy.count == 0 ? 0 : (copy.count + word.terminated) * block.type->size;
  std::byte* const made = bytes == 0 ? nullptr : create((bytes + 7) / 8 * 8, block.type->alignment);
  copy.data = nullptr;
  copy.capacity = bytes == 0 ? 0 : array_descriptor::in_arena | bytes;
  std::memcpy(to, static_cast<const void*>(&copy), sizeof copy);
  set_pointer(to, made);
  if (bytes == 0) return;
  ++result_.arrays;
  std::memcpy(made, seen(elements, bytes), bytes);
  line_ = no_line;
  // line 41 reads the mask of the descriptor's next word, which may be in the mask's next word
  fetch_mask(mask_at_ + 2 * words_.pointer_bytes / words_.word_bytes - 1);
  const bool is_of_pointers = block.type->kind == detail::object_kind::pointer_block;
  if (!is_of_pointers) now_ = memory_.copy(address_of(elements), address_of(made), bytes, now_);
  clear_transients({elements, made, copy.count, &block});
}

void graph_copy_unit::clear_transients(const array_view& array) {
  for (const element_slot& slot : array.block->slots) {
    if (slot.kind != word_kind::transient) continue;
    for (std::uint64_t i = 0; i < array.count; ++i) {
      std::byte* const at = array.copy + i * array.block->type->size + slot.offset;
      std::memset(at, 0, slot.bytes);
      spend(timing_.state_cycles);
      memory_.post(address_of(at), slot.bytes, now_);
    }
  }
}

// The copy's elements are in the destination, also if the pointer to them holds their final address.
graph_copy_unit::array_view graph_copy_unit::view_array(const layout_word& word) {
  const copied_object& object = objects_[object_];
  const array_descriptor source = array_at(seen(object.source + word.offset, sizeof(array_descriptor)));
  const std::byte* const final_copy = array_at(object.copy + word.offset).data;
  std::byte* const copy =
      final_copy == nullptr ? nullptr : request_.destination + (final_copy - request_.final_address);
  return {source.data, copy, source.count, &layouts_.of(*word.target)};
}

std::byte* graph_copy_unit::create(std::uint64_t bytes, std::uint64_t alignment) {
  const std::uintptr_t base = address_of(request_.destination);
  const std::uint64_t at = ((base + used_ + alignment - 1) & ~(alignment - 1)) - base;
  if ((address_of(request_.final_address) - base) % alignment != 0)
    throw_error(errc::bad_argument, fmt::format("the copy is made at {}, and shall lie at {}: both must be aligned to "
                                                "{} bytes alike",
                                                static_cast<const void*>(request_.destination),
                                                static_cast<const void*>(request_.final_address), alignment));
  if (at + bytes > request_.destination_bytes)
    throw_error(errc::out_of_memory,
                fmt::format("a graph's copy needs more than the {} bytes of its destination: measure it first",
                            request_.destination_bytes));
  used_ = at + bytes;
  memory_.see(base + at, bytes, true);
  return request_.destination + at;
}

void graph_copy_unit::set_pointer(std::byte* at, const std::byte* copy) const {
  const std::byte* const value = copy == nullptr ? nullptr : request_.final_address + (copy - request_.destination);
  std::memcpy(at, &value, sizeof value);
}

std::uint64_t graph_copy_unit::words_of(const layout_word& word) const noexcept {
  switch (word.kind) {
    case word_kind::pointer: return words_.pointer_bytes / words_.word_bytes;
    case word_kind::array: return 3 * words_.pointer_bytes / words_.word_bytes;
    case word_kind::data:
    case word_kind::transient: break;
  }
  return (word.bytes + words_.word_bytes - 1) / words_.word_bytes;
}

std::uint64_t graph_copy_unit::mask_position(std::uint32_t word) const noexcept {
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < word; ++i) at += words_of(objects_[object_].layout->words[i]);
  return at;
}

// --- time ---

void graph_copy_unit::read_word(const void* address) {
  now_ = memory_.read(address_of(address), words_.pointer_bytes, now_);
}

void graph_copy_unit::write_word(const void* address) {
  now_ = memory_.write(address_of(address), words_.pointer_bytes, now_);
}

// Reads vptr, the class's first word, the size, and the first word of the mask.
void graph_copy_unit::read_class(const copied_object& object) {
  read_word(object.source);
  read_word(object.layout->type);
  read_word(&object.layout->type->size);
  now_ = memory_.read(address_of(&object.layout->type->mask), words_.word_bytes, now_);
}

void graph_copy_unit::fetch_mask(std::uint64_t entry) {
  const std::uint64_t word = entry / timing_.mask_entries;
  if (word == mask_word_) return;
  mask_word_ = word;
  ++result_.mask_words;
  now_ = memory_.read(address_of(objects_[object_].layout->type->mask.data()) + word * words_.word_bytes,
                      words_.word_bytes, now_);
}

// Fetches the next line while the current line is copied. The unit still waits for next_line_cycles, or longer if the
// current line had few words to copy or the memory is busy.
void graph_copy_unit::stream(const std::byte* address) {
  const std::uintptr_t line = address_of(address) / timing_.line_bytes;
  if (line == line_) return;
  if (line_ != no_line && line == line_ + 1) {
    spend(timing_.next_line_cycles);
    now_ = std::max(now_, next_line_ready_);
  } else {
    now_ = memory_.read(address_of(address), words_.word_bytes, now_);
  }
  line_ = line;
  next_line_ready_ = memory_.read((line + 1) * timing_.line_bytes, timing_.line_bytes, now_);
}

void graph_copy_unit::take_words(const std::byte* from, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += words_.word_bytes) {
    stream(from + at);
    spend(timing_.state_cycles);
  }
}

}  // namespace situ::model
