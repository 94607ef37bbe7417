// The part of a report about the program's objects (`situ model run --objects`).
#pragma once

#include <string>

namespace situ::model {

class object_log;

struct objects_report {
  std::string text;  // lines of text, each with its newline
  std::string json;  // {"objects": [...], "falsely_shared": [...]}
};

// Judges what is still open, and makes both reports. Call it once. cost: some processes, which find source lines.
[[nodiscard]] objects_report report_objects(object_log& log);

}  // namespace situ::model
