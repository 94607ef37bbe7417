#include "pool/reachability.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace situ::detail {

// --- blocks ---

block_table::block_table(const pool_file& file, std::uint32_t chunks) : heap_offset_{file.heap_offset()} {
  run_of_.resize(chunks);
  const auto* const map = file.at<const std::uint64_t>(file.map_offset());
  for (std::uint32_t i = 0; i < chunks;) {
    if (map[i] == 0) {
      ++i;
      continue;
    }
    run_entry entry;
    if (!run_entry::unpack(map[i], i, file.salt(), entry) || entry.chunks > chunks - i)
      throw_damaged(file.path(), file.map_offset() + std::uint64_t{i} * 8,
                    fmt::format("the entry of chunk {} is damaged", i));
    add(file, i, entry);
    i += entry.chunks;
  }
}

void block_table::add(const pool_file& file, std::uint32_t first, const run_entry& entry) {
  const std::uint64_t offset = heap_offset_ + std::uint64_t{first} * chunk_bytes;
  const std::uint64_t end = offset + entry.chunks * chunk_bytes;
  run next{size_, offset, large_block_bytes(entry.chunks, file.has_checks()), 1, nullptr, end};
  if (entry.kind == run_kind::slab) {
    next = {size_,
            offset + sizeof(slab_header),
            size_classes[entry.size_class].bytes,
            pool_slab_blocks(entry.size_class, file.has_checks()),
            file.at<const slab_header>(offset),
            end};
    bool is_sound = next.slab->check == slab_header::right_check(file.salt(), first, entry.size_class);
    for (std::uint32_t word = 0; word < 16; ++word)
      is_sound = is_sound && (next.slab->live[word] & ~blocks_in_word(next.blocks, word)) == 0;
    if (!is_sound)
      throw_damaged(file.path(), offset, fmt::format("the head of the slab in chunk {} is damaged", first));
  }
  runs_.push_back(next);
  size_ += next.blocks;
  std::fill_n(run_of_.begin() + first, entry.chunks, static_cast<std::uint32_t>(runs_.size()));
}

block_table::block block_table::find(std::uint64_t offset) const noexcept {
  const std::uint64_t chunk = (offset - heap_offset_) / chunk_bytes;
  if (offset < heap_offset_ || chunk >= run_of_.size() || run_of_[chunk] == 0) return {};
  const run& in = runs_[run_of_[chunk] - 1];
  if (offset < in.blocks_offset) return {};
  const std::uint64_t index = (offset - in.blocks_offset) / in.bytes;
  if (index >= in.blocks || !is_live(in, index)) return {};
  return block_of(in, index);
}

void block_table::for_each_live(const std::function<void(const block&)>& visit) const {
  for (const run& each : runs_)
    for (std::uint64_t i = 0; i < each.blocks; ++i)
      if (is_live(each, i)) visit(block_of(each, i));
}

// --- what is reached ---

void reachability::add_root(std::uint64_t offset, const type_descriptor& type) {
  reach(offset, &type, offset);
  walk();
}

void reachability::note_stray(std::uint64_t value, std::uint64_t from, const type_descriptor& type) {
  constexpr std::size_t most_told_of = 20;
  ++stray_pointers_;
  if (told_of_.size() < most_told_of)
    told_of_.push_back(
        fmt::format("byte {}: a pointer to {} leads to {:#x}, where no object of the pool is", from, type.name, value));
}

// `from` is the offset in the file at which the object was reached.
void reachability::reach(std::uint64_t offset, const type_descriptor* type, std::uint64_t from) {
  const block_table::block at = blocks_.find(offset);
  if (at.number == block_table::none)
    return note_stray(offset + reinterpret_cast<std::uintptr_t>(file_.base()), from, *type);
  if (type->is_tagged) {
    std::uint64_t tag = 0;
    std::memcpy(&tag, file_.base() + at.offset, sizeof tag);
    const type_descriptor* const is = find_tagged(tag);
    if (is == nullptr || !derives_from(*is, *type))
      throw_damaged(file_.path(), at.offset,
                    fmt::format("an object is declared as {}, and this program has no type of its header, {:#x}",
                                type->name, tag));
    type = is;
  }
  std::uint16_t& known = reached_as_[at.number];
  if (known == type->index) return;
  if (known != 0 && !reached_again_.emplace(at.number, type).second) return;
  if (known == 0) known = type->index;
  if (types_.size() <= type->index) types_.resize(type->index + std::size_t{1});
  types_[type->index] = type;
  if (!type->pointers.empty() || !type->others.empty() || type->kind == object_kind::pointer_block)
    to_walk_.push_back({at.offset, at.bytes, type});
}

void reachability::walk() {
  while (!to_walk_.empty()) {
    const piece next = to_walk_.back();
    to_walk_.pop_back();
    const std::byte* const at = file_.base() + next.offset;
    for (std::uint64_t i = 0; i + next.type->size <= next.bytes; i += next.type->size) walk_object(at + i, *next.type);
  }
}

void reachability::walk_object(const std::byte* object, const type_descriptor& type) {
  if (type.kind == object_kind::pointer_block) return follow(object, *type.element);
  for (const simple_pointer& each : type.pointers) follow(object + each.offset, *each.target);
  if (!type.others.empty()) walk_ops(object, type.others);
}

void reachability::walk_ops(const std::byte* object, const std::vector<op>& ops) {
  for (const op& each : ops) {
    if (each.kind == op_kind::pointer) follow(object + each.offset, *each.target);
    if (each.kind == op_kind::array)
      follow(object + each.offset,
             each.target->kind == object_kind::object_block ? *each.target->element : *each.target);
    if (each.kind != op_kind::choice) continue;
    const auto there = static_cast<std::size_t>(object[each.cases->flag_offset]);
    if (there >= each.cases->alternatives.size())
      throw_damaged(file_.path(), file_.offset_of(object + each.cases->flag_offset),
                    "an optional or a variant holds an alternative that there is not");
    walk_ops(object, each.cases->alternatives[there]);
  }
}

void reachability::follow(const std::byte* word, const type_descriptor& type) {
  std::uint64_t value = 0;
  std::memcpy(&value, word, sizeof value);
  if (value == 0) return;
  reach(value - reinterpret_cast<std::uintptr_t>(file_.base()), &type, file_.offset_of(word));
}

}  // namespace situ::detail
