// The parts of the study.
#pragma once

#include "support/study.h"

namespace situ::studies::gascore {

// Tables 4 to 7: sixteen figures.
[[nodiscard]] study_part tables(const study_context& context);
// Each cycle of a short and of a long message: its unit and state.
[[nodiscard]] study_part cycles(const study_context& context);
// Figure 10.
[[nodiscard]] study_part bandwidth(const study_context& context);
// Barriers of other shapes, and several in a row.
[[nodiscard]] study_part barriers(const study_context& context);
// Exchanges of ghost elements.
[[nodiscard]] study_part halos(const study_context& context);
// Long messages that cross the ring of chips.
[[nodiscard]] study_part ring(const study_context& context);
// Cycles a second of this model.
[[nodiscard]] study_part speeds(const study_context& context);
// Tables 1 to 3.
[[nodiscard]] study_part sizes(const study_context& context);

}  // namespace situ::studies::gascore
