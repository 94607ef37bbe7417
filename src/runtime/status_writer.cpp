#include "runtime/status_writer.h"

#include "os/host.h"

#include <atomic>
#include <cstring>

namespace situ::detail {
namespace {

constexpr std::size_t longest_status_name = 120;

}  // namespace

std::string_view name_in(std::string_view compilers_text) noexcept {
  const std::size_t at = compilers_text.find(" = ");
  if (at == std::string_view::npos) return compilers_text;
  compilers_text.remove_prefix(at + 3);
  return compilers_text.substr(0, compilers_text.rfind(']'));
}

status_writer::status_writer(place_status& shared) noexcept : shared_{shared} {
  for (std::uint32_t i = place_status::most_waits; i > 0; --i) free_[free_count_++] = static_cast<std::uint8_t>(i - 1);
}

std::uint32_t status_writer::find(const char* text, bool is_code) noexcept {
  if (text == nullptr) return 0;
  std::size_t at = (reinterpret_cast<std::uintptr_t>(text) * 0x9e3779b97f4a7c15) >> 40;
  for (;; ++at) {
    known& entry = known_[at % table_size];
    if (entry.text == text) return entry.name;
    if (entry.text != nullptr) continue;
    if (shared_.names.count.load(std::memory_order_relaxed) == name_table::most_names) return 0;
    const std::string_view all{text};
    entry.name = add_name(is_code ? name_in(all) : all.substr(all.rfind('/') + 1));
    if (entry.name != 0) entry.text = text;
    return entry.name;
  }
}

// Adds a name. The middle of a long name is cut out: its beginning names the function, its end the lambda.
std::uint32_t status_writer::add_name(std::string_view shown) noexcept {
  name_table& names = shared_.names;
  const std::uint32_t count = names.count.load(std::memory_order_relaxed);
  const std::uint32_t begin = count == 0 ? 0 : names.ends[count - 1].load(std::memory_order_relaxed);
  const bool is_long = shown.size() > longest_status_name;
  const std::string_view parts[] = {is_long ? shown.substr(0, longest_status_name / 3) : shown, is_long ? "..." : "",
                                    is_long ? shown.substr(shown.size() - longest_status_name / 3 * 2) : ""};
  if (sizeof names.text - begin < longest_status_name + 3) return 0;
  std::uint32_t end = begin;
  for (const std::string_view part : parts) {
    std::memcpy(names.text + end, part.data(), part.size());
    end += static_cast<std::uint32_t>(part.size());
  }
  names.ends[count].store(end, std::memory_order_relaxed);
  names.count.store(count + 1, std::memory_order_release);
  return count + 1;
}

wait_record* status_writer::begin_wait(const wait_note& note, const char* task, bool is_main,
                                       bool has_deadline) noexcept {
  if (has_deadline || !is_closed(note.kind)) add(shared_.open_waits);
  if (free_count_ == 0) {
    add(shared_.waits_unrecorded);
    return nullptr;
  }
  const std::uint8_t at = free_[--free_count_];
  wait_record& record = shared_.waits[at];
  unnamed_[at] = {.where = note.where, .task = task};
  constexpr auto relaxed = std::memory_order_relaxed;
  record.since_ns.store(0, relaxed);
  record.subject.store(note.subject, relaxed);
  record.number.store(note.number, relaxed);
  record.peer.store(note.peer, relaxed);
  record.is_main.store(is_main, relaxed);
  record.state.store(++waits_begun_ << 8 | static_cast<std::uint8_t>(note.kind), std::memory_order_release);
  has_unstamped_ = true;
  return &record;
}

void status_writer::end_wait(wait_record* record, wait_kind kind, bool has_deadline) noexcept {
  if (has_deadline || !is_closed(kind)) add(shared_.open_waits, ~std::uint64_t{0});
  if (kind != wait_kind::turn) count_step();
  if (record == nullptr) return add(shared_.waits_unrecorded, ~std::uint64_t{0});
  record->state.store(0, std::memory_order_relaxed);
  // before the next use of the record fills it
  std::atomic_thread_fence(std::memory_order_release);
  free_[free_count_++] = static_cast<std::uint8_t>(record - shared_.waits);
}

void status_writer::stamp_waits() noexcept {
  if (!has_unstamped_) return;
  has_unstamped_ = false;
  const std::uint64_t now = steady_ns();
  constexpr auto relaxed = std::memory_order_relaxed;
  for (std::uint32_t at = 0; at < place_status::most_waits; ++at) {
    wait_record& each = shared_.waits[at];
    if (each.state.load(relaxed) == 0 || each.since_ns.load(relaxed) != 0) continue;
    const auto& [where, task] = unnamed_[at];
    each.line.store(where.line(), relaxed);
    each.file.store(where.line() == 0 ? 0 : file_name(where.file_name()), relaxed);
    each.task.store(code_name(task), relaxed);
    each.since_ns.store(now, std::memory_order_release);  // a reader that sees the time sees the names
  }
}

team_record* status_writer::open_team(std::uint64_t id, std::uint32_t members) noexcept {
  for (team_record& each : shared_.teams) {
    if (each.id.load(std::memory_order_relaxed) != 0) continue;
    each.begun.store(0, std::memory_order_relaxed);
    each.last.store(0, std::memory_order_relaxed);
    each.members.store(members, std::memory_order_relaxed);
    each.id.store(id, std::memory_order_release);
    return &each;
  }
  return nullptr;
}

}  // namespace situ::detail
