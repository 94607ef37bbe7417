// The part of a report about lines that cores took from each other.
#pragma once

#include <string>

#include "model/parts/time.h"

namespace situ::model {

class engine;

// Returns lines of text, each with its newline; none if fewer than two cores had accesses to caches.
[[nodiscard]] std::string sharing_text(engine& ran, time_ps modelled);
// {"lines_taken": ..., "lines_in_order": ..., "taken_ahead": ..., "hidden_transfers": ..., "lost_in_order": ...,
//  "hidden_ps": ...}: the fields of sharing_figures.
[[nodiscard]] std::string sharing_json(const engine& ran);

}  // namespace situ::model
