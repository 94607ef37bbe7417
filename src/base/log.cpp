#include <situ/base/log.h>

#include <mutex>
#include <utility>

#include "base/print.h"

namespace situ {
namespace {

// Process-wide, not per place: the sink is the process's only output to the user.
std::mutex sink_mutex;
log_sink current_sink;

void write_to_stderr(log_level level, std::string_view message) {
  if (level < log_level::warning) return;
  detail::tell("situ: {}{}\n", level == log_level::warning ? "warning: " : "", message);
}

}  // namespace

log_sink set_log_sink(log_sink sink) {
  const std::lock_guard lock{sink_mutex};
  return std::exchange(current_sink, std::move(sink));
}

void log(log_level level, std::string_view message) {
  log_sink sink;
  {
    const std::lock_guard lock{sink_mutex};
    sink = current_sink;
  }
  sink ? sink(level, message) : write_to_stderr(level, message);
}

}  // namespace situ
