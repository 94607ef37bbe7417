#include <situ/spread/detail/map_core.h>

#include <situ/base/error_code.h>
#include <situ/fabric/detail/function_id.h>
#include <situ/fabric/rma.h>
#include <situ/memory/detail/losses.h>
#include <situ/memory/detail/place_home.h>
#include <situ/runtime/at.h>
#include <situ/runtime/collective.h>

#include <fmt/format.h>
#include <immintrin.h>

#include <array>
#include <exception>

namespace situ::detail {
namespace {

constexpr std::uint32_t looks_before_progress = 64;
constexpr std::size_t looked_ahead = 16;  // items whose cache lines are prefetched before the first of them runs

struct received_item {
  map_operation operation;
  key_view key;
  std::span<const std::byte> operand;
};

[[noreturn]] void throw_bad_item(std::size_t left) {
  throw_error(errc::bad_message,
              fmt::format("a batch of operations on a map does not decode, {} bytes before its end: a stray write into "
                          "its buffer, or places of different builds",
                          left));
}

// Checks every size against the bytes left.
received_item read_item(const std::byte*& at, const std::byte* end) {
  const auto left = static_cast<std::size_t>(end - at);
  map_item item{};
  if (left < sizeof(item)) throw_bad_item(left);
  std::memcpy(&item, at, sizeof(item));
  if (item.bytes() > left) throw_bad_item(left);
  const void* const code = find_function(item.operation);
  if (code == nullptr) throw_bad_item(left);
  const auto* const words = reinterpret_cast<const std::uint64_t*>(at + sizeof(item));
  at += item.bytes();
  return {reinterpret_cast<map_operation>(const_cast<void*>(code)),
          {words, item.key_bytes, item.hash},
          {reinterpret_cast<const std::byte*>(words + words_for(item.key_bytes)), item.operand_bytes}};
}

}  // namespace

void insert_entry(map_table& table, const key_view& key, std::span<const std::byte> value) {
  table.store(key, value, true);
}
void assign_entry(map_table& table, const key_view& key, std::span<const std::byte> value) {
  table.store(key, value, false);
}
void erase_entry(map_table& table, const key_view& key, std::span<const std::byte>) { table.erase(key); }

map_core& find_map(const object_id& id) {
  return *static_cast<map_core*>(static_cast<outbox*>(find_object(id))->self());
}

void map_core::drain(const std::source_location& where) { outbox_.settle_together(members_, where); }

map_core::map_core(std::uint64_t type, std::size_t buffer_bytes, std::uint32_t buffers, const team& members)
    : exceptions_before_{std::uncaught_exceptions()},
      members_{members},
      id_{next_object_id(members, type)},
      ended_places_{ended_places(*current->job)},
      outbox_{id_, &map_core::run_batch, this, buffer_bytes, buffers, members} {
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    places_.push_back(members.member(i).index());
    is_far_.push_back(!is_here(*current->job, places_.back()));
    has_far_ = has_far_ || is_far_.back();
  }
  for (const std::uintptr_t root : all_gather(reinterpret_cast<std::uintptr_t>(&table_.root()), members))
    roots_.push_back(reinterpret_cast<const map_root*>(root));
}

map_core::~map_core() {
  if (current->runtime == nullptr) return;
  std::exception_ptr failure;
  if (std::uncaught_exceptions() == exceptions_before_) {
    try {
      outbox_.drain(members_);  // ends with a barrier of its own: no member reads this table afterwards
      table_.clear();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  outbox_.give_up(std::move(failure));
}

void map_core::run_batch(void* self, const std::byte* items, std::size_t bytes) {
  map_core& here = *static_cast<map_core*>(self);
  const std::byte* const end = items + bytes;
  std::array<received_item, looked_ahead> next;
  while (items != end) {
    std::size_t count = 0;
    for (; count < looked_ahead && items != end; ++count) {
      next[count] = read_item(items, end);
      detail::prefetch_slot(here.table_.root(), next[count].key.hash);
    }
    for (std::size_t i = 0; i < count; ++i) detail::prefetch_record(here.table_.root(), next[i].key.hash);
    for (std::size_t i = 0; i < count; ++i) next[i].operation(here.table_, next[i].key, next[i].operand);
  }
}

bool map_core::read(const key_view& key, word_buffer& value) {
  const std::uint32_t owner = owner_of(key.hash);
  if (owner == current->place) {
    map_record* const record = table_.find(key);
    if (record == nullptr) return false;
    std::byte* const to = value.resize(record->value_bytes);
    if (record->value_bytes != 0) std::memcpy(to, record->value(), record->value_bytes);
    return true;
  }
  if (is_far(key.hash)) {
    const far_value found = read_far(key).get();
    if (!found) return false;
    std::byte* const to = value.resize(found->size());
    if (!found->empty()) std::memcpy(to, found->data(), found->size());
    return true;
  }
  if (outbox_.is_pending(owner)) [[unlikely]]
    outbox_.settle(owner);
  for (std::uint32_t looks = 1;; ++looks) {
    if (ended_places_.load(std::memory_order_relaxed) != 0 && has_ended(*current->job, owner)) [[unlikely]]
      throw_loss_of(*current->job, owner);
    const read_outcome outcome = read_entry(root_of(key.hash), key, value);
    if (outcome != read_outcome::changing) return outcome == read_outcome::found;
    _mm_pause();
    if (looks % looks_before_progress == 0) current->scheduler->progress();  // the owner may share this processor
  }
}

future<map_core::far_value> map_core::read_far(const key_view& key) {
  const std::uint32_t owner = owner_of(key.hash);
  if (outbox_.is_pending(owner)) outbox_.settle(owner);
  const auto look = [](const object_id& id, std::uint64_t hash, const std::vector<std::byte>& bytes) -> far_value {
    word_buffer words;
    std::byte* const to = words.resize(bytes.size());
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    map_record* const record =
        find_map(id).table().find({words.data(), static_cast<std::uint32_t>(bytes.size()), hash});
    if (record == nullptr) return std::nullopt;
    const std::span<const std::byte> value = record->value_view();
    return std::vector<std::byte>{value.begin(), value.end()};
  };
  const auto* const first = reinterpret_cast<const std::byte*>(key.words);
  return async_at(place{owner}, look, id_, key.hash, std::vector<std::byte>{first, first + key.bytes});
}

std::uint64_t map_core::size() const {
  std::uint64_t entries = 0;
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    const std::atomic<std::uint64_t>* const count = &roots_[i]->entries;
    entries += is_far_[i] ? get(ptr<const std::uint64_t>{reinterpret_cast<const std::uint64_t*>(count)})
                          : count->load(std::memory_order_relaxed);
  }
  return entries;
}

}  // namespace situ::detail
