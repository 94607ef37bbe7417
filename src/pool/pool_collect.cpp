// Finds the objects that no root reaches: counts them, or frees them.
#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "pool/open_pool.h"
#include "pool/reachability.h"
#include "pool/word_reach.h"

namespace situ::detail {

bool open_pool::unlink(std::size_t level, std::string_view name) {
  const bool was_there = find_root(name) != nullptr;
  set_root(level, name, nullptr, {});
  return was_there;
}

// Matches types by their fingerprints, as roots are matched.
void open_pool::reach_from_roots(std::span<const pool_type> types, reachability& into) {
  std::string unknown;
  for (std::uint32_t i = 0; i < pool_root_count; ++i) {
    const pool_root_record& each = roots()[i];
    if (each.is_empty()) continue;
    const auto is_its = [&](const pool_type& type) {
      return type.bytes == each.bytes && deep_fingerprint(*type.descriptor) == each.fingerprint;
    };
    const auto type = std::find_if(types.begin(), types.end(), is_its);
    if (type == types.end()) {
      unknown += fmt::format("{}'{}' ({} bytes, {:016x})", unknown.empty() ? "" : ", ", each.text(), each.bytes,
                             each.fingerprint);
      continue;
    }
    (void)root(each.text(), *type);  // checks it, and relocates pointers if the pool is mapped elsewhere
    into.add_root(each.offset, *type->descriptor);
  }
  if (!unknown.empty())
    throw_error(errc::bad_argument,
                fmt::format("pool {}: these roots have none of the types that were given, so nobody knows what they "
                            "reach: {}; give the types of all roots",
                            file_.path(), unknown));
}

pool_collected open_pool::collect(std::span<const pool_type> types, std::uint64_t most_blocks) {
  const std::size_t level = begin();
  bool is_complete = false;
  try {
    if (level != 1)
      throw_error(errc::bad_argument,
                  fmt::format("pool {}: it is collected within a transaction, whose objects nothing "
                              "may lead to yet; collect after it",
                              file_.path()));
    const block_table blocks{file_, file_.chunks()};
    reachability reached{file_, blocks};
    reach_from_roots(types, reached);
    pool_collected told;
    blocks.for_each_live([&](const block_table::block& each) {
      if (reached.has(each)) {
        ++told.kept_blocks;
        told.kept_bytes += each.bytes;
      } else if (told.freed_blocks == most_blocks) {
        ++told.left_blocks;
      } else {
        destroy(level, file_.base() + each.offset);
        ++told.freed_blocks;
        told.freed_bytes += each.bytes;
      }
    });
    commit(level, is_complete);
    return told;
  } catch (...) {
    if (!is_complete) abort(level);
    throw;
  }
}

void open_pool::look_by_words(pool_findings& into) const {
#if defined(SITU_STORE_HOOKS)
  return;  // the crash tests check some ten thousand states, and count each load
#endif
  if (level_count_ != 0 || !into.damage.empty()) return;
  const block_table blocks{file_, chunks_now()};
  word_reach reached{file_, blocks};
  for (std::uint32_t i = 0; i < pool_root_count; ++i)
    if (!roots()[i].is_empty()) reached.add_root(roots()[i].offset);
  blocks.for_each_live([&](const block_table::block& each) {
    if (reached.has(each)) return;
    ++into.unreached_blocks;
    into.unreached_bytes += each.bytes;
  });
  for (std::string& each : reached.find_endless_lists()) into.notes.push_back(std::move(each));
}

pool_findings open_pool::check_all(std::span<const pool_type> types) {
  const looking guard{*this};
  if (level_count_ != 0)
    throw_error(errc::bad_argument,
                fmt::format("pool {}: it is looked at within a transaction; look after it", file_.path()));
  pool_findings found = check_structures();
  if (!found.damage.empty()) return found;
  look_by_words(found);
  found.unreached_blocks = found.unreached_bytes = 0;  // the walk by types counts exactly
  const block_table blocks{file_, chunks_now()};
  reachability reached{file_, blocks};
  reach_from_roots(types, reached);
  blocks.for_each_live([&](const block_table::block& each) {
    if (reached.has(each)) return;
    ++found.unreached_blocks;
    found.unreached_bytes += each.bytes;
  });
  found.stray_pointers = reached.stray_pointers();
  found.notes.insert(found.notes.end(), reached.told_of().begin(), reached.told_of().end());
  check_objects(found, &reached);
  return found;
}

}  // namespace situ::detail
