// The log of Situ's libraries, which print nothing themselves. The default sink writes warnings and errors to standard
// error; set_log_sink replaces it. Process-wide and thread-safe: any thread may call the sink, also two at once.
// cost: a lock, a copy of the sink, and the sink's own cost.
#pragma once

#include <situ/base/detail/abi.h>

#include <functional>
#include <string_view>

namespace situ {

// The severity of a message, lowest first.
enum class log_level { debug, info, warning, error };

// Receives each message, without a newline at its end.
using log_sink = std::function<void(log_level, std::string_view message)>;

// Replaces the sink; an empty function restores the default. Returns the sink that was set before.
log_sink set_log_sink(log_sink sink);

// Passes a message to the sink. Throws if the sink throws.
void log(log_level level, std::string_view message);

}  // namespace situ
