#include <situ/memory/move.h>

#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <algorithm>

#include "memory/segment.h"

namespace situ {
namespace detail {
namespace {

std::uint64_t bytes_in(const memory_placement& where, const std::string& memory) {
  for (const memory_part& part : where.parts)
    if (part.memory == memory) return part.bytes;
  return 0;
}

[[noreturn]] void throw_no_room_to_move(std::size_t bytes, const intent& what, const placement_report& report) {
  throw_error(
      errc::out_of_memory,
      fmt::format("place {} cannot move a block of {} to {} memory: {}. The block lies where it lay. Free memory, "
                  "order more memories for it, or let the last one take what is left (situ order set {} ... "
                  "--no-room last)\n{}",
                  current->place, format_bytes(bytes), what.name(),
                  report.outcome == placement_outcome::no_room ? "no memory of its ordering has room for all"
                                                               : "this process may use none of its memories",
                  what.name(), format_fills(report)));
}

}  // namespace

move_report move_block(void* address, const intent& what) {
  const place_context& context = *current;
  if (context.segment == nullptr) throw_no_runtime("a block is moved");
  const memory_placement before = placement_of(address);  // it is a live block of this place
  const auto* const block = static_cast<const std::byte*>(address);
  const std::size_t bytes = segment::find_block(context, reinterpret_cast<std::uintptr_t>(address))->size;
  if (!context.segment->owns_pages(block))
    throw_error(
        errc::bad_argument,
        fmt::format("move({}) at place {}: a block of {} bytes shares its pages with others; move blocks of more "
                    "than 64 KiB{}, or allocate it anew with the intent {}",
                    address, context.place, bytes,
                    context.job->file_unit > chunk_bytes ? " that are whole huge pages" : "", what.name()));
  const placement_report report = context.segment->move_to(what, static_cast<std::byte*>(address), bytes);
  if (report.outcome != placement_outcome::placed) throw_no_room_to_move(bytes, what, report);
  move_report done;
  done.now = placement_of(address);
  for (const memory_part& part : done.now.parts) {
    const std::uint64_t was = bytes_in(before, part.memory);
    done.moved_bytes += part.bytes - std::min(part.bytes, was);
  }
  for (const memory_fill& row : report.memories) done.held_bytes += row.elsewhere_bytes;
  done.needs_privilege = report.is_held;
  return done;
}

}  // namespace detail

std::string move_report::to_text() const {
  std::string text = fmt::format("{} moved; now {}", format_bytes(moved_bytes), now.to_text());
  if (held_bytes != 0)
    text += fmt::format("; {} held elsewhere{}", format_bytes(held_bytes),
                        needs_privilege ? ", where other processes map them: to move those needs CAP_SYS_NICE" : "");
  return text;
}

}  // namespace situ
