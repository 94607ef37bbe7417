// What a distributed_map is made of, without its types: the table of this place, the roots of the others', and the way
// to them. Not thread-safe: belongs to its place's thread.
#pragma once

#include <situ/fabric/detail/function_id.h>
#include <situ/runtime/future.h>
#include <situ/runtime/team.h>
#include <situ/spread/detail/map_table.h>
#include <situ/spread/detail/outbox.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>
#include <span>
#include <vector>

namespace situ::detail {

// A one-way operation, run at the owner of its key; `operand` lies at a word.
using map_operation = void (*)(map_table& table, const key_view& key, std::span<const std::byte> operand);

void insert_entry(map_table& table, const key_view& key, std::span<const std::byte> value);
void assign_entry(map_table& table, const key_view& key, std::span<const std::byte> value);
void erase_entry(map_table& table, const key_view& key, std::span<const std::byte> nothing);

class map_core {
 public:
  // Collective.
  map_core(std::uint64_t type, std::size_t buffer_bytes, std::uint32_t buffers, const team& members);
  // Collective, unless an exception or a loss ends its scope: then its memory stays until the job ends.
  ~map_core();
  map_core(const map_core&) = delete;
  map_core& operator=(const map_core&) = delete;

  [[nodiscard]] std::uint32_t owner_index(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>((hash & 0xffff'ffff) * places_.size() >> 32);
  }
  [[nodiscard]] std::uint32_t owner_of(std::uint64_t hash) const noexcept { return places_[owner_index(hash)]; }

  // Has an operation run at the key's owner, after all that this place asked of that owner before; write(std::byte*)
  // fills its operand.
  template <class Write>
  void start(map_operation operation, const key_view& key, std::size_t operand_bytes, Write write);

  // Reads a key's value into `value`, wherever it is; false where there is none. What this place asked of the owner
  // before is done first.
  [[nodiscard]] bool read(const key_view& key, word_buffer& value);
  // Whether a key's owner is on another host: its table is read there, by a call.
  [[nodiscard]] bool is_far(std::uint64_t hash) const noexcept { return has_far_ && is_far_[owner_index(hash)]; }
  using far_value = std::optional<std::vector<std::byte>>;
  // Begins such a call, once what this place asked of that owner before is done; nothing where the key has no value.
  [[nodiscard]] future<far_value> read_far(const key_view& key);
  // Before some reads, see map_table.h. pre: not is_far(hash).
  void prefetch_slot(std::uint64_t hash) const noexcept { detail::prefetch_slot(root_of(hash), hash); }
  void prefetch_record(std::uint64_t hash) const noexcept { detail::prefetch_record(root_of(hash), hash); }

  // Sends what is on its way to a key's owner, so that a call behind it comes later.
  void send_to_owner(std::uint64_t hash) { outbox_.send(owner_of(hash)); }
  void flush() { outbox_.settle_all(); }
  // Collective: the others are not left waiting where this place's operations threw.
  void drain(const std::source_location& where);

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] map_table& table() noexcept { return table_; }
  [[nodiscard]] const object_id& id() const noexcept { return id_; }

 private:
  [[nodiscard]] const map_root& root_of(std::uint64_t hash) const noexcept { return *roots_[owner_index(hash)]; }
  static void run_batch(void* self, const std::byte* items, std::size_t bytes);

  int exceptions_before_;
  team members_;
  std::vector<std::uint32_t> places_;   // of the members
  std::vector<const map_root*> roots_;  // theirs; to be read where they are of this host
  std::vector<bool> is_far_;            // of another one
  bool has_far_ = false;
  map_table table_;
  object_id id_;
  outbox outbox_;
};

// This place's part of the map of this identity. Throws as find_object().
[[nodiscard]] map_core& find_map(const object_id& id);

struct map_item {
  std::uint64_t hash;
  function_id operation;
  std::uint32_t key_bytes;
  std::uint32_t operand_bytes;

  [[nodiscard]] std::size_t bytes() const noexcept {
    return sizeof(map_item) + 8 * (words_for(key_bytes) + words_for(operand_bytes));
  }
};
static_assert(sizeof(map_item) == 24);

template <class Write>
void map_core::start(map_operation operation, const key_view& key, std::size_t operand_bytes, Write write) {
  const std::uint32_t owner = owner_of(key.hash);
  if (outbox_.handles_here(owner)) {
    outbox_.note_handled();
    word_buffer operand;
    write(operand.resize(operand_bytes));
    return operation(table_, key, operand.view());
  }
  const map_item item{.hash = key.hash,
                      .operation = name_function(reinterpret_cast<const void*>(operation)),
                      .key_bytes = key.bytes,
                      .operand_bytes = static_cast<std::uint32_t>(operand_bytes)};
  std::byte* at = outbox_.reserve(owner, item.bytes());
  std::memcpy(at, &item, sizeof(item));
  at += sizeof(item);
  for (std::size_t i = 0; i < words_for(key.bytes); ++i) std::memcpy(at + 8 * i, key.words + i, 8);
  at += 8 * words_for(key.bytes);
  if (operand_bytes != 0) {
    std::memset(at + 8 * (words_for(operand_bytes) - 1), 0, 8);
    write(at);
  }
}

}  // namespace situ::detail
