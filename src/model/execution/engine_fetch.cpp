// Fetches the running core's instructions: line by line of their native addresses (native_text.h), through the core's
// instruction cache.
#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <bit>
#include <span>

#include "model/execution/block_costs.h"
#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/execution/time_profile.h"

namespace situ::model {
namespace {

// Returns the program's code: the executable part of its file.
std::span<const std::uint8_t> program_code() {
  const auto* header = reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR));
  for (unsigned long left = getauxval(AT_PHNUM); left > 0; --left, ++header)
    if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0)
      return {reinterpret_cast<const std::uint8_t*>(header->p_vaddr), header->p_memsz};
  give_up("the program has no part with code");
}

}  // namespace

void engine::give_instruction_caches() {
  for (core& c : cores_) {
    const front_cache shape = machine_->fetch_front(c.index);
    if (shape.entries == nullptr) continue;
    c.fetch_front = shape.entries;
    c.fetch_set_mask = shape.sets - 1;
    c.fetch_ways = shape.ways;
    c.fetch_shift = static_cast<std::uint32_t>(std::countr_zero(shape.line_bytes));
    c.fetch_hit_ps = shape.hit_ps;
    if (shape.page_bytes != 0) {
      c.fetch_page_shift = static_cast<std::uint32_t>(std::countr_zero(shape.page_bytes)) - c.fetch_shift;
      c.fetch_page = ~std::uint32_t{0};
    }
    if (!native_text_.is_empty()) continue;
    const std::span<const std::uint8_t> code = program_code();
    native_text_ = native_text{code, reinterpret_cast<std::uintptr_t>(code.data()), hook_called};
  }
}

void engine::fetch(fetched_lines lines, std::uintptr_t code) {
  core& c = *running;
  const std::uint32_t before = c.fetched.last;
  c.fetched = lines;
  if (c.fetch_front == nullptr || lines == fetched_lines{}) return;
  for (std::uint32_t line = lines.first + (lines.first == before ? 1 : 0); line <= lines.last; ++line)
    if (line >> c.fetch_page_shift == c.fetch_page && c.fetches_from_front(line))
      ++c.fetch_hits;
    else
      fetch_line(line, code);
}

// Fetches a line by functional warming.
void engine::warm_fetch(std::uint32_t line) {
  core& c = *running;
  c.fetch_page = line >> c.fetch_page_shift;
  const outside_time scope;
  machine_->warm(c.index, std::uintptr_t{line} << c.fetch_shift, 1, access_kind::fetch, c.clock);
}

// Translates the line's page if it differs from the previous page, and fetches the line. Only a miss is visible to
// others, and waits for its turn.
void engine::fetch_line(std::uint32_t line, std::uintptr_t code) {
  if (fast_forward_) return options_.warms ? warm_fetch(line) : void();
  core& c = *running;
  const std::uintptr_t address = std::uintptr_t{line} << c.fetch_shift;
  const time_ps came = c.clock;
  {
    const outside_time scope;
    if (line >> c.fetch_page_shift != c.fetch_page) {
      c.fetch_page = line >> c.fetch_page_shift;
      c.clock = machine_->translate_fetch(c.index, address, came);
      c.fetch_ps += c.clock - came;
    }
    if (machine_->fetch_hit(c.index, line)) {
      ++c.fetch_hits;
      return;
    }
  }
  take_turn();
  const outside_time scope;
  const time_ps begin = c.clock;
  const window_access asked{
      .address = address, .bytes = 1, .kind = access_kind::fetch, .instruction = c.instructions + c.slow_accesses()};
  const time_ps done = c.goes_ahead ? machine_->access_ahead(c.index, asked, begin)
                                    : machine_->access(c.index, address, 1, access_kind::fetch, begin);
  c.clock = std::max(begin, done - std::min(done, c.fetch_hit_ps));
  ++c.slow[static_cast<int>(access_kind::fetch)];
  c.fetch_ps += c.clock - begin;
  if (profile_) profile_->note(c, code, c.clock - begin, sharing_of(c));
  mix(c.clock);
  mix(address << 3 | static_cast<std::uint64_t>(access_kind::fetch));
}

}  // namespace situ::model
