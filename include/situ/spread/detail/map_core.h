// The engine of a distributed_map, without its types: this place's table, the roots of the others' tables, and the
// outbox for operations on them. Not thread-safe: it belongs to its place's thread.
#pragma once

#include <situ/fabric/detail/function_id.h>
#include <situ/runtime/future.h>
#include <situ/runtime/team.h>
#include <situ/spread/detail/map_table.h>
#include <situ/spread/detail/outbox.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>
#include <span>
#include <vector>

namespace situ::detail {

// A one-way operation, run at the owner of its key; `operand` is aligned to a word.
using map_operation = void (*)(map_table& table, const key_view& key, std::span<const std::byte> operand);

void insert_entry(map_table& table, const key_view& key, std::span<const std::byte> value);
void assign_entry(map_table& table, const key_view& key, std::span<const std::byte> value);
void erase_entry(map_table& table, const key_view& key, std::span<const std::byte> nothing);

class map_core {
 public:
  // Makes an empty map. Collective.
  map_core(std::uint64_t type, std::size_t buffer_bytes, std::uint32_t buffers, const team& members);
  // Collective, unless an exception or a loss ends its scope: then the memory stays allocated until the job ends.
  ~map_core();
  map_core(const map_core&) = delete;
  map_core& operator=(const map_core&) = delete;

  [[nodiscard]] std::uint32_t owner_index(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>((hash & 0xffff'ffff) * places_.size() >> 32);
  }
  [[nodiscard]] std::uint32_t owner_of(std::uint64_t hash) const noexcept { return places_[owner_index(hash)]; }

  // Runs an operation at the key's owner, after all earlier operations of this place at that owner; write(std::byte*)
  // fills its operand.
  template <class Write>
  void start(map_operation operation, const key_view& key, std::size_t operand_bytes, Write write);

  // Reads a key's value into `value`, from any place; returns false if the key has none. Waits first for this place's
  // earlier operations at the owner.
  [[nodiscard]] bool read(const key_view& key, word_buffer& value);
  // Returns true if a key's owner is on another host: its table is then read there, by a call.
  [[nodiscard]] bool is_far(std::uint64_t hash) const noexcept { return has_far_ && is_far_[owner_index(hash)]; }
  using far_value = std::optional<std::vector<std::byte>>;
  // Starts such a call, after this place's earlier operations at the owner are done; its result is nullopt if the key
  // has no value.
  [[nodiscard]] future<far_value> read_far(const key_view& key);
  // Prefetch for a read; see map_table.h. pre: not is_far(hash).
  void prefetch_slot(std::uint64_t hash) const noexcept { detail::prefetch_slot(root_of(hash), hash); }
  void prefetch_record(std::uint64_t hash) const noexcept { detail::prefetch_record(root_of(hash), hash); }

  // Sends the buffered operations for a key's owner, so that a call made afterwards runs after them.
  void send_to_owner(std::uint64_t hash) { outbox_.send(owner_of(hash)); }
  void flush() { outbox_.settle_all(); }
  // Collective: waits for the others even if this place's operations threw.
  void drain(const std::source_location& where);

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] map_table& table() noexcept { return table_; }
  [[nodiscard]] const object_id& id() const noexcept { return id_; }

 private:
  [[nodiscard]] const map_root& root_of(std::uint64_t hash) const noexcept { return *roots_[owner_index(hash)]; }
  static void run_batch(void* self, const std::byte* items, std::size_t bytes);

  int exceptions_before_;
  team members_;
  std::vector<std::uint32_t> places_;   // one for each member
  std::vector<const map_root*> roots_;  // one for each member; readable if the member is on this host
  std::vector<bool> is_far_;            // one for each member: it is on another host
  bool has_far_ = false;
  map_table table_;
  object_id id_;
  const std::atomic<std::uint32_t>& ended_places_;  // of the job
  outbox outbox_;
};

// Returns this place's part of the map with this identity. Throws as find_object().
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
