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

// Returns what the core's thread is at. The record of the thread before is written: its accesses are over.
trace_writer::of_thread& trace_writer::running_on(const core& by) {
  if (by.index >= cores_.size()) cores_.resize(by.index + 1);
  of_core& its = cores_[by.index];
  if (!its.file) {
    try {
      its.file = std::make_unique<detail::output_file>(fmt::format("{}.{}", file_, by.index));
    } catch (const std::exception& failure) {
      give_up(failure.what());
    }
  }
  of_thread& now = threads_[by.current->index];
  if (its.thread == by.current->index && now.core == by.index) return now;
  if (its.thread != none && threads_[its.thread].core == by.index) put_access(threads_[its.thread]);
  put_access(now);  // on the core where it was before
  its.thread = by.current->index;
  now.core = by.index;
  return now;
}

void trace_writer::put(const of_thread& its, const champsim_record& record) {
  try {
    cores_[its.core].file->add({reinterpret_cast<const char*>(&record), sizeof(record)});
  } catch (const std::exception& failure) {
    give_up(failure.what());
  }
}

void trace_writer::put_access(of_thread& its) {
  if (!std::exchange(its.has_record, false)) return;
  put(its, std::exchange(its.record, {}));
}

void trace_writer::access(const core& by, std::uintptr_t address, access_kind kind, std::uintptr_t code) {
  of_thread& its = running_on(by);
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

void trace_writer::end_block(of_thread& its, std::uintptr_t next) {
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
  of_thread& its = running_on(by);
  end_block(its, code);
  its.block = code;
  its.cost = cost;
}

void trace_writer::end() {
  for (auto& [number, its] : threads_) end_block(its, 0);
  for (of_core& its : cores_) {
    if (!its.file) continue;
    try {
      its.file->close();
    } catch (const std::exception& failure) {
      give_up(failure.what());
    }
  }
}

}  // namespace situ::model
