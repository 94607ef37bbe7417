// The log: libraries print nothing, they write here. The default sink writes warnings and errors to standard error;
// set_log_sink replaces it. Process-wide and thread-safe: a sink may be called from any thread, also by two at once.
// cost: a lock, a copy of the sink, and what the sink itself takes.
#pragma once

#include <situ/base/detail/abi.h>

#include <functional>
#include <string_view>

namespace situ {

// How much a message matters, the least first.
enum class log_level { debug, info, warning, error };

// Takes each message, which has no newline at its end.
using log_sink = std::function<void(log_level, std::string_view message)>;

// Replaces the sink; an empty function restores the default. Returns the sink that was set before.
log_sink set_log_sink(log_sink sink);

// Gives a message to the sink. Throws what the sink throws.
void log(log_level level, std::string_view message);

}  // namespace situ
