#include "model/execution/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "model/execution/host_calls.h"

namespace situ::model {
namespace {

constexpr std::uintptr_t most_hook_bytes = 32;  // of a block's hook: the next block's code continues behind it

}  // namespace

trace_writer::of_core& trace_writer::of(const core& by) {
  if (by.index >= cores_.size()) cores_.resize(by.index + 1);
  of_core& its = cores_[by.index];
  if (!its.file) {
    try {
      its.file = std::make_unique<detail::output_file>(fmt::format("{}.{}", file_, by.index));
    } catch (const std::exception& failure) {
      give_up(failure.what());
    }
  }
  return its;
}

void trace_writer::put(of_core& its, const champsim_record& record) {
  try {
    its.file->add({reinterpret_cast<const char*>(&record), sizeof(record)});
  } catch (const std::exception& failure) {
    give_up(failure.what());
  }
}

void trace_writer::put_access(of_core& its) {
  if (!std::exchange(its.has_record, false)) return;
  put(its, std::exchange(its.record, {}));
}

// Ends the record and the block of the thread that had the core before. If that thread comes back within its block, its
// accesses are records without a block.
void trace_writer::note_thread(of_core& its, const thread* running) {
  if (std::exchange(its.by, running) == running) return;
  end_block(its, 0);
  its.block = 0;
}

void trace_writer::access(const core& by, std::uintptr_t address, access_kind kind, std::uintptr_t code) {
  of_core& its = of(by);
  note_thread(its, by.current);
  const bool reads = kind != access_kind::write && kind != access_kind::atomic_write;
  const auto free_in = [](auto& addresses) { return std::ranges::find(addresses, std::uint64_t{0}); };
  const bool has_room =
      (!reads || free_in(its.record.source_memory) != its.record.source_memory.end()) &&
      (!changes(kind) || free_in(its.record.destination_memory) != its.record.destination_memory.end());
  if (!its.has_record || code == 0 || its.record.ip != code || !has_room) {
    put_access(its);
    its.record.ip = code != 0 ? code : its.block;
    its.has_record = true;
    ++its.accesses;
  }
  if (reads) *free_in(its.record.source_memory) = address;
  if (changes(kind)) *free_in(its.record.destination_memory) = address;
}

std::uintptr_t trace_writer::end_of(std::uintptr_t block) {
  const auto [at, is_new] = ends_.try_emplace(block, 0);
  if (is_new) (void)read_block(block, at->second);
  return at->second;
}

void trace_writer::end_block(of_core& its, std::uintptr_t next) {
  put_access(its);
  if (its.block == 0) return;
  const std::uint64_t all = its.cost.instructions + its.cost.without_cost;
  const std::uint64_t known = std::exchange(its.accesses, 0) + its.cost.branches;
  for (std::uint64_t i = known; i < all; ++i) put(its, {.ip = its.block});
  if (its.cost.branches == 0) return;
  const std::uintptr_t end = end_of(its.block);
  const bool falls_through = next >= end && next - end <= most_hook_bytes;
  put(its, {.ip = end,
            .is_branch = 1,
            .branch_taken = static_cast<std::uint8_t>(falls_through ? 0 : 1),
            .destination_registers = {champsim_instruction_pointer},
            .source_registers = {champsim_instruction_pointer, champsim_flags}});
}

void trace_writer::begin_block(const core& by, std::uintptr_t code, const block_cost& cost) {
  of_core& its = of(by);
  note_thread(its, by.current);
  end_block(its, code);
  its.block = code;
  its.cost = cost;
}

void trace_writer::end() {
  for (of_core& its : cores_) {
    if (!its.file) continue;
    end_block(its, 0);
    try {
      its.file->close();
    } catch (const std::exception& failure) {
      give_up(failure.what());
    }
  }
}

}  // namespace situ::model
