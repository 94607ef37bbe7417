// The log: libraries print nothing, they write here. The default sink writes warnings and errors to standard error;
// set_log_sink replaces it (process-wide, thread-safe: a sink may be called from any thread).
#pragma once

#include <functional>
#include <string_view>

namespace situ {

enum class log_level { debug, info, warning, error };

using log_sink = std::function<void(log_level, std::string_view message)>;

// Replaces the sink; an empty function restores the default. Returns the sink that was set before.
log_sink set_log_sink(log_sink sink);

void log(log_level level, std::string_view message);

}  // namespace situ
