// A memory_kind says what kind of pages memory has. It is the one description for segments of a job, datasets and
// slots of stencils, stores, staged arrays and the memories of a place tree. `situ run --memory` takes its text form:
//
//   kind         text form              pages
//   kernel       ""                     the system's; the kernel chooses
//   node         "node:1"               from that NUMA node
//   intent       "intent:bandwidth"     along the ordering of an intent
//   huge pages   "huge"                 reserved huge pages (nr_hugepages)
//   a file       "file:/scratch"        without a name in that folder, or of that name and unlinked at once
//   a device     "device:/dev/dax0.0"   the device's own memory, zeroed: a DAX character device
//   pim          "pim:m.toml"           of the memories that compute in that machine file, one after the other, each up
//                                       to its size; the system's stand for them: no such memory is here
//                "pim:m.toml,node:1"    the same, and pages of another kind stand for them
//
// A value that reserves nothing: the function that allocates the memory reports what is not available. After a fork,
// parent and child share pages of huge pages, of a file and of a device.
#pragma once

#include <situ/machine/intent.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace situ {

// The source of pages; by default the kernel chooses. cost: that of a string.
struct memory_kind {
  // In the order of the table above.
  enum class source : std::uint8_t { kernel, node, intent, huge, file, device, pim };
  source from = source::kernel;
  std::uint32_t node = 0;            // for source::node
  std::optional<situ::intent> what;  // for source::intent
  std::string path;                  // for source::file, source::device and source::pim
  std::string cells;                 // for source::pim: the kind of the pages that stand for its cells, as a text

  memory_kind() = default;
  // Memory along the ordering of an intent. Implicit, so that options accept `intent::bandwidth` as a kind.
  memory_kind(const situ::intent& by) : from{source::intent}, what{by} {}
  // Returns the kind for a NUMA node, without a check that the node exists.
  [[nodiscard]] static memory_kind of_node(std::uint32_t number);
  // Reads the text form. Throws bad_argument for a text that is none of those above. The path of a machine file has no
  // comma.
  [[nodiscard]] static memory_kind parse(std::string_view text);
  // Returns whether the text looks like a kind, and not like a size.
  [[nodiscard]] static bool is_kind(std::string_view text) noexcept;

  // Returns the kind of the pages that a process gets: of memories that compute, the kind that stands for their cells.
  [[nodiscard]] memory_kind of_pages() const;
  // Returns whether the pages are those of a file other than a plain memory file.
  [[nodiscard]] bool has_file() const noexcept;
  friend bool operator==(const memory_kind&, const memory_kind&) = default;
};

}  // namespace situ
