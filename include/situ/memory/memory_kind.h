// What memory consists of: the one description for segments of a job, datasets and slots of stencils, stores, staged
// arrays and the memories of a place tree. As text it is what `situ run --memory` takes:
//
//   kind         as it is written       what its pages are
//   kernel       ""                     the system's; the kernel chooses
//   node         "node:1"               from that NUMA node
//   intent       "intent:bandwidth"     along the ordering of an intent
//   huge pages   "huge"                 reserved huge pages (nr_hugepages)
//   a file       "file:/scratch"        without a name in that folder, or of that name and unlinked at once
//   a device     "device:/dev/dax0.0"   its memory as it is, zeroed: a DAX character device
//
// A value that reserves nothing; what cannot be had is an error of who takes it. A fork shares the last three kinds.
#pragma once

#include <situ/machine/intent.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace situ {

// Where pages come from; by default wherever the kernel takes them. cost: that of a string.
struct memory_kind {
  // In the order of the table above.
  enum class source : std::uint8_t { kernel, node, intent, huge, file, device };
  source from = source::kernel;
  std::uint32_t node = 0;            // of node
  std::optional<situ::intent> what;  // of intent
  std::string path;                  // of file and device

  memory_kind() = default;
  // Along the ordering of an intent: options take `intent::bandwidth` for a kind.
  memory_kind(const situ::intent& by) : from{source::intent}, what{by} {}
  // A NUMA node, whether there is one or not.
  [[nodiscard]] static memory_kind of_node(std::uint32_t number);
  // Throws bad_argument for a text that is none of those above.
  [[nodiscard]] static memory_kind parse(std::string_view text);
  // Whether the text could be meant as one, and not as a size.
  [[nodiscard]] static bool is_kind(std::string_view text) noexcept;

  // Whether its pages are those of a file that is no plain memory file.
  [[nodiscard]] bool has_file() const noexcept { return from >= source::huge; }
  friend bool operator==(const memory_kind&, const memory_kind&) = default;
};

}  // namespace situ
