#include "model/execution/request_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "model/execution/engine.h"
#include "model/execution/host_calls.h"

namespace situ::model {

void request_trace::put(std::unique_ptr<detail::output_file>& to, const std::string& name,
                        const ramulator_line& line) const {
  std::string text;
  try {
    text = to_text(line, format_);
  } catch (const std::exception& failure) {
    give_up(fmt::format("{}: {}", name, failure.what()).c_str());
  }
  try {
    if (!to) to = std::make_unique<detail::output_file>(name);
    to->add(text);
  } catch (const std::exception& failure) {
    give_up(failure.what());
  }
}

void request_trace::add(const core* by, std::uint64_t address, bool writes) {
  if (format_ != ramulator_format::cpu) return put(all_, file_, {.address = address, .writes = writes});
  if (by == nullptr || by->is_device) {
    ++of_no_core_;
    return;
  }
  add_to_core(*by, address, writes);
}

request_trace::of_core& request_trace::trace_of(const core& by) {
  if (by.index >= cores_.size()) cores_.resize(by.index + 1);
  return cores_[by.index];
}

void request_trace::begin(const core& of) { trace_of(of).written_instructions = of.instructions + of.without_cost; }

void request_trace::add_to_core(const core& by, std::uint64_t address, bool writes) {
  of_core& its = trace_of(by);
  if (writes) return its.write_backs.push_back(address);
  put(its);
  const std::uint64_t executed = by.instructions + by.without_cost;
  const std::uint64_t left = executed - std::min(executed, its.written_instructions);
  its.line = {.bubbles = left > 0 ? left - 1 : 0, .address = address};
  its.written_instructions += its.line->bubbles + 1;
}

// Writes the core's latest line, with the oldest write-back that has none.
void request_trace::put(of_core& its) {
  if (!its.line) return;
  if (!its.write_backs.empty()) {
    its.line->write_back = its.write_backs.front();
    its.write_backs.pop_front();
  }
  const auto number = static_cast<std::size_t>(&its - cores_.data());
  put(its.file, fmt::format("{}.{}", file_, number), *its.line);
  its.line.reset();
}

std::string request_trace::end() {
  std::uint64_t write_backs = 0;
  const auto close = [](const std::unique_ptr<detail::output_file>& file) {
    try {
      if (file) file->close();
    } catch (const std::exception& failure) {
      give_up(failure.what());
    }
  };
  for (of_core& its : cores_) {
    put(its);
    write_backs += its.write_backs.size();
    close(its.file);
  }
  close(all_);
  std::string said;
  if (write_backs + of_no_core_ > 0)
    said = fmt::format(
        "situ model: {} has no line for {} write-backs, more than their cores' reads, and {} requests of "
        "no core; --trace-format ramulator-dram has all\n",
        file_, write_backs, of_no_core_);
  return said;
}

}  // namespace situ::model
