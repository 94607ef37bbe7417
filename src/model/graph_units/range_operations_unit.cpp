#include "model/graph_units/range_operations_unit.h"

#include <algorithm>

namespace situ::model {

time_ps range_operations_unit::run(range_operation what, std::uintptr_t begin, std::uintptr_t end, time_ps now) {
  if (begin >= end) return now;
  const time_ps start = std::max(now, free_from_);
  const std::uintptr_t line_bytes = cache_.line_bytes();
  ++counters_.ranges;
  now = start;
  for (std::uintptr_t line = begin / line_bytes * line_bytes; line < end; line += line_bytes) {
    now += command_time_;
    ++counters_.lines;
    if (what != range_operation::invalidate) {
      const cache_port::written_line written = cache_.write_back(line, now);
      counters_.modified_lines += written.was_modified ? 1 : 0;
      now = written.done;
    }
    if (what != range_operation::write_back) now = cache_.invalidate(line, now);
  }
  counters_.busy += now - start;
  free_from_ = now;
  return now;
}

}  // namespace situ::model
