// Finds roots by name, and returns information about a pool.
#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "pool/open_pool.h"

namespace situ::detail {

pool_root_record* open_pool::find_root(std::string_view name) const {
  for (std::uint32_t i = 0; i < pool_root_count; ++i) {
    pool_root_record& each = roots()[i];
    if (each.is_empty()) continue;
    if (each.check != each.right_check(file_.salt()))
      throw_damaged(file_.path(), file_.offset_of(&each), fmt::format("root {} is damaged", i));
    if (each.text() == name) return &each;
  }
  return nullptr;
}

void* open_pool::root(std::string_view name, const pool_type& type) {
  return root(name, type, deep_fingerprint(*type.descriptor));
}

std::optional<pool_info::root> open_pool::stored_root(std::string_view name) {
  const looking guard{*this};
  const pool_root_record* const found = find_root(name);
  if (found == nullptr) return std::nullopt;
  return pool_info::root{std::string{name}, found->offset, found->bytes, found->fingerprint};
}

void* open_pool::root(std::string_view name, const pool_type& type, std::uint64_t fingerprint) {
  const looking guard{*this};
  const pool_root_record* const found = find_root(name);
  if (found == nullptr) return nullptr;
  if (found->fingerprint != fingerprint || found->bytes != type.bytes)
    throw_error(
        errc::bad_file,
        fmt::format("pool {}, byte {}: root '{}' was stored as an object of {} bytes with fingerprint {:016x}, "
                    "and the program's {} has {} bytes and {:016x}: the name or a field of this type, or of one "
                    "that it leads to, is another one now. Open it with the type that it was stored with, or bring it "
                    "to this one by pool::migrate "
                    "(situ/pool/migration.h)",
                    file_.path(), file_.offset_of(found), name, found->bytes, found->fingerprint, type.name, type.bytes,
                    fingerprint));
  const std::uint64_t end = end_now();
  const bool is_within =
      found->offset >= file_.heap_offset() && found->offset <= end && type.bytes <= end - found->offset;
  if (!is_within)
    throw_damaged(file_.path(), file_.offset_of(found), fmt::format("root '{}' leads out of the pool", name));
  std::byte* const object = file_.base() + found->offset;
  if (file_.is_moved()) {
    const std::lock_guard one{private_lock_};
    relocation_.move_from({found->offset, type.descriptor});
  }
  if (verifies_roots_) verify(*found, *type.descriptor);
  return object;
}

void open_pool::set_root(std::size_t level, std::string_view name, const void* object, const pool_type& type) {
  set_root(level, name, object, object == nullptr ? 0 : deep_fingerprint(*type.descriptor), type.bytes);
}

void open_pool::set_root(std::size_t level, std::string_view name, const void* object, std::uint64_t fingerprint,
                         std::uint64_t bytes) {
  check_level(level);
  check_lock();
  if (name.empty() || name.size() >= pool_root_name_bytes || name.find('\0') != std::string_view::npos)
    throw_error(errc::bad_argument,
                fmt::format("pool {}: '{}' is no name of a root: it has 1 to {} bytes, none of them "
                            "zero",
                            file_.path(), name, pool_root_name_bytes - 1));
  if (object != nullptr && !heap_.is_block(object))
    throw_error(errc::bad_address,
                fmt::format("pool {}: root '{}' cannot be {}, which is not the start of an object of this pool; `make` "
                            "it in this pool",
                            file_.path(), name, object));
  pool_root_record* at = find_root(name);
  if (at == nullptr && object == nullptr) return;
  if (at == nullptr) {
    at = std::find_if(roots(), roots() + pool_root_count, [](const pool_root_record& each) { return each.is_empty(); });
    if (at == roots() + pool_root_count)
      throw_error(errc::bad_argument,
                  fmt::format("pool {}: it has {} roots, the most there can be; let one root lead to "
                              "several objects",
                              file_.path(), pool_root_count));
  }
  const write_check::engine_part part{checks_.get()};
  keep(file_.offset_of(at), sizeof *at);
  pool_root_record next{};
  if (object != nullptr) {
    name.copy(next.name, sizeof next.name);
    next.offset = file_.offset_of(object);
    next.fingerprint = fingerprint;
    next.bytes = bytes;
    next.check = next.right_check(file_.salt());
  }
  *at = next;
}

// --- what it tells of itself ---

// Counts whole chunks. A writer has the count in its tables, once it has caught up with other processes.
std::uint64_t open_pool::free_bytes() {
  if (!file_.may_write() || sharing_.is_reading()) return heap_.count_free(chunks_now()) * chunk_bytes;
  const std::lock_guard guard{sharing_};
  if (level_count_ == 0 && is_behind()) catch_up();
  return heap_.free_chunks() * chunk_bytes;
}

pool_info open_pool::info() {
  const std::uint64_t free = free_bytes();
  const looking guard{*this};
  const pool_header& header = file_.header();
  pool_info told;
  told.path = file_.path();
  told.base = reinterpret_cast<std::uintptr_t>(file_.base());
  told.is_moved = file_.is_moved();
  told.is_shared = file_.company() == pool_company::writing || file_.company() == pool_company::reading;
  told.version = header.version;
  told.has_object_checks = file_.has_checks();
  told.heap_bytes = chunks_now() * chunk_bytes;
  told.free_bytes = free;
  told.most_bytes = header.most_bytes;
  told.transactions =
      (file_.is_redo() ? redo_.sequence() : *file_.at<const std::uint64_t>(pool_sequence_offset) >> 16) - 1;
  told.replayed_transactions = redo_.replayed();
  told.promise = static_cast<pool_promise>(header.promise);
  told.medium = name(file_.persist().medium());
  told.primitive = name(file_.persist().primitive());
  told.restored_ranges = restored_ranges_;
  told.restored_bytes = restored_bytes_;
  for (std::uint32_t i = 0; i < pool_root_count; ++i) {
    const pool_root_record& each = roots()[i];
    if (!each.is_empty()) told.roots.push_back({std::string{each.text()}, each.offset, each.bytes, each.fingerprint});
  }
  return told;
}

void open_pool::check_head(pool_findings& into) const {
  for (unsigned i = 0; i < 2; ++i) {
    const std::uint64_t offset = pool_state_offset + i * pool_state_distance;
    const auto& copy = *file_.at<const pool_state_record>(offset);
    if (copy.check != copy.right_check(file_.salt()) || copy.chunks != chunks_now())
      into.notes.push_back(fmt::format("byte {}: one copy of the heap's size is wrong, the other is right", offset));
  }
  if (!is_sealed(*file_.at<const std::uint64_t>(pool_sequence_offset), file_.salt()))
    into.damage.push_back(fmt::format("byte {}: the number of the log's transaction is damaged", pool_sequence_offset));
}

void open_pool::check_roots(pool_findings& into) const {
  std::set<std::uint64_t> wanted;
  for (std::uint32_t i = 0; i < pool_root_count; ++i) {
    const pool_root_record& each = roots()[i];
    if (each.is_empty()) continue;
    if (each.check != each.right_check(file_.salt())) {
      into.damage.push_back(fmt::format("byte {}: root {} is damaged", file_.offset_of(&each), i));
    } else {
      wanted.insert(each.offset);
    }
  }
  const std::function<void(void*, std::size_t)> visit = [&](void* block, std::size_t) {
    wanted.erase(file_.offset_of(block));
  };
  pool_findings uncounted;
  heap_.look(uncounted, chunks_now(), &visit);
  for (const std::uint64_t offset : wanted)
    into.damage.push_back(fmt::format("byte {}: a root leads here, and no object is here", offset));
}

pool_findings open_pool::check() {
  const looking guard{*this};
  pool_findings found = check_structures();
  look_by_words(found);
  check_objects(found, nullptr);
  return found;
}

pool_findings open_pool::check_structures() {
  pool_findings found;
  check_head(found);
  heap_.look(found, chunks_now(), nullptr);
  check_roots(found);
  return found;
}

void open_pool::for_each_block(const std::function<void(void*, std::size_t)>& visit) {
  const looking guard{*this};
  pool_findings found;
  heap_.look(found, chunks_now(), &visit);
}

}  // namespace situ::detail
