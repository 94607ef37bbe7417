// A writer that has a pool alone moves it to other addresses in its file: it corrects all pointers that the roots
// reach.
//
//   from, to          the two addresses, in two words          fence move_begin
//   the mark          in the header's check                    fence move_mark
//   each pointer      in any order; the header's new address   fence move_pointers
//   the header        its check is correct again, for the new address   fence move_end
//
// A crash before the mark leaves a pool that has not been moved; after move_end, one that has. Between them each
// pointer refers to the old place or to the new one, which have no address in common, so the next opener can tell them
// apart and complete the move. Nothing is logged, and no second file is needed. The log has no entries: they were
// rolled back when the pool was opened.
#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "pool/open_pool.h"

namespace situ::detail {

// --- the file's part ---

void pool_file::begin_move(std::uint64_t to) {
  auto* const places = at<std::uint64_t>(pool_move_offset);
  places[0] = seal(home_ / chunk_bytes, salt_);
  places[1] = seal(to / chunk_bytes, salt_);
  persist_.flush(places, 2 * sizeof *places, pool_step::move_begin);
  persist_.fence(pool_step::move_begin);
  std::uint64_t* const check = &at<pool_header>(0)->check;
  __atomic_store_n(check, *check ^ pool_moving_mark, __ATOMIC_RELEASE);
  persist_.flush(check, sizeof *check, pool_step::move_mark);
  persist_.fence(pool_step::move_mark);
  moving_to_ = to;
  is_moving_ = true;
}

void pool_file::end_move(std::uint64_t to) {
  auto* const header = at<pool_header>(0);
  header->base = to;
  persist_.flush(&header->base, sizeof header->base, pool_step::move_pointers);
  persist_.fence(pool_step::move_pointers);
  __atomic_store_n(&header->check, check_of(0, header, offsetof(pool_header, check)), __ATOMIC_RELEASE);
  persist_.flush(&header->check, sizeof header->check, pool_step::move_end);
  persist_.fence(pool_step::move_end);
  home_ = to;
  is_moving_ = false;
}

void pool_file::share() {
  const pool_company as = company_for(access_, static_cast<pool_promise>(header().promise));
  if (as != pool_company::alone) come_in(as);
}

// --- the roots ---

std::vector<relocation::start> open_pool::find_starts(const std::vector<pool_type>& types) const {
  std::vector<relocation::start> starts;
  for (std::uint32_t i = 0; i < pool_root_count; ++i) {
    const pool_root_record& each = roots()[i];
    if (each.is_empty()) continue;
    if (each.check != each.right_check(file_.salt()))
      throw_damaged(file_.path(), file_.offset_of(&each), fmt::format("root {} is damaged", i));
    const auto type = std::find_if(types.begin(), types.end(), [&](const pool_type& one) {
      return one.bytes == each.bytes && deep_fingerprint(*one.descriptor) == each.fingerprint;
    });
    if (type == types.end())
      throw_refused(
          file_.path(),
          fmt::format("it has to be moved to other addresses, and none of the types that it was opened with is "
                      "that of root '{}' ({} bytes, fingerprint {:016x}); name the types of all its roots "
                      "(pool_opening::types), or open it where {:#x} is free",
                      each.text(), each.bytes, each.fingerprint, file_.home()));
    starts.push_back({each.offset, type->descriptor});
  }
  return starts;
}

// If the move is refused, the pointers are moved back in the same order, so the walk gets as far as before.
std::uint64_t open_pool::move_pointers(const std::vector<relocation::start>& starts, std::uint64_t to) {
  const std::uint64_t from = file_.home();
  if (!file_.is_moving()) file_.begin_move(to);
  try {
    const std::uint64_t bytes = relocation{file_, heap_}.move_all(starts, to);
    file_.end_move(to);
    return bytes;
  } catch (const error&) {
    if (!file_.persist().has_failed()) {
      try {
        (void)relocation{file_, heap_}.move_all(starts, from);
      } catch (const error&) {  // it fails at the same object as the first walk
      }
      if (!file_.persist().has_failed()) file_.end_move(from);
    }
    throw;
  }
}

void open_pool::move(const std::vector<pool_type>& types) {
  const auto begun = std::chrono::steady_clock::now();
  const std::uint64_t from = file_.home();
  const std::vector<relocation::start> starts = find_starts(types);
  if (file_.is_redo()) redo_.checkpoint();  // its records would be older than the moved pointers
  std::uint64_t bytes = 0;
  if (file_.is_moving()) bytes = move_pointers(starts, file_.moving_to());
  const auto here = reinterpret_cast<std::uintptr_t>(file_.base());
  if (file_.home() != here) bytes = move_pointers(starts, here);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  log(log_level::warning,
      fmt::format("pool {}: its addresses, from {:#x} on, are taken: it is moved to {:#x}, which took "
                  "{:.3f} s for {} of objects",
                  file_.path(), from, here, took.count(), format_bytes(bytes)));
}

pool open_pool::open(const std::string& path, const pool_opening& how, const pool_overrides& overrides) {
  auto opened = std::make_unique<open_pool>(pool_file::open(path, how, overrides));
  const std::uint64_t heap = opened->file_.heap_offset();
  if (how.read_ahead)
    opened->ahead_.start(opened->file_.descriptor(), heap, heap + opened->heap_.used_chunks() * chunk_bytes);
  if (opened->file_.may_write() && opened->file_.is_moved()) {
    opened->move(how.types);
    opened->file_.share();
    read_ahead ahead = std::move(opened->ahead_);
    opened = std::make_unique<open_pool>(std::move(opened->file_));
    opened->ahead_ = std::move(ahead);
  }
  if (how.verify_roots) opened->begin_verifying();
  return pool{std::move(opened)};
}

}  // namespace situ::detail
