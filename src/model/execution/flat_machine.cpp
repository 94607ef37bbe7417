#include "model/execution/flat_machine.h"

namespace situ::model {

flat_machine::flat_machine(const flat_shape& shape)
    : shape_{shape}, entries_(std::size_t{shape.tiles} * shape.cores_a_tile * shape.sets, ~std::uint64_t{0}) {}

time_ps flat_machine::access(std::uint32_t core, std::uintptr_t address, std::uint32_t, access_kind kind, time_ps now) {
  if (is_atomic(kind)) {
    ++atomics_;
    return now + shape_.atomic_ps;
  }
  const std::uintptr_t line = address / shape_.line_bytes;
  std::uint64_t& held = entries_[std::size_t{core} * shape_.sets + line % shape_.sets];
  const bool was_there = held >> 2 == line;
  if (!was_there) {
    ++misses_;
    held = line << 2;
  }
  if (kind == access_kind::write) held |= front_cache::dirty_and_writable;
  return now + (was_there ? shape_.hit_ps : shape_.miss_ps);
}

std::vector<part_counters> flat_machine::counters() const {
  return {{.part = "memory", .kind = "memory", .values = {{"misses", misses_}, {"atomics", atomics_}}}};
}

std::uint64_t flat_machine::state_hash() const {
  word_hash hash;
  for (const std::uint64_t each : {core_count(), shape_.sets, shape_.line_bytes}) hash.add(each);
  return hash.value();
}

}  // namespace situ::model
