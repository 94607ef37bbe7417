// Answers, as text for people or as JSON.
#pragma once

#include "answers.h"
#include "changes.h"

#include <situ/pool/pool.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace package_index {

// How long an answer took, in a process that has just begun.
struct timing {
  double opened_ms = 0;
  double answered_ms = 0;
};

[[nodiscard]] std::string to_text(const description& told);
[[nodiscard]] std::string to_json(const description& told, const timing& took);
[[nodiscard]] std::string to_text(const std::vector<named>& told);
[[nodiscard]] std::string to_json(const std::vector<named>& told, const timing& took);
[[nodiscard]] std::string to_text(const timing& took);

[[nodiscard]] std::string to_text(const update_counts& done);
[[nodiscard]] std::string to_json(const update_counts& done, const timing& took);
[[nodiscard]] std::string to_text(const std::vector<situ::pool_migrated>& done);
[[nodiscard]] std::string to_json(const std::vector<situ::pool_migrated>& done, const timing& took);

// What `stat` tells.
struct statistics {
  census of;
  situ::pool_info pool;
  std::optional<situ::pool_findings> found;  // where it was checked
  [[nodiscard]] bool is_sound() const {
    return !found || (found->damage.empty() && found->unreached_blocks == 0 && found->stray_pointers == 0);
  }
};
[[nodiscard]] std::string to_text(const statistics& told);
[[nodiscard]] std::string to_json(const statistics& told, const timing& took);

}  // namespace package_index
