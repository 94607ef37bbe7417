// The message form of graphs: bytes that may cross hosts and trust boundaries. docs/formats/graph_message.md is the
// grammar.
//
//   | head | root 1 ... root r | tag, fingerprint of each tagged type, as they first occur | image | values |
//
// The image is the copy without its head, with pointers as offsets. If objects hold values (values.h), these follow the
// image, and the version is 2.
//
// The image is canonical: objects lie in the order in which a breadth-first walk from the roots meets them, each at the
// first unit that suits it. So the reader knows at each pointer where a new object must be; any other pointer must
// refer to the start of a known object of a suitable type. Objects cannot overlap, and no byte is read before its
// bounds are known.
#pragma once

#include <situ/graph/clone.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/plan.h"

namespace situ::detail {

struct message_head {
  static constexpr std::uint32_t expected_magic = 0x4d475453;  // "STGM"
  static constexpr std::uint16_t without_values = 1;
  static constexpr std::uint16_t with_values = 2;

  std::uint32_t magic = expected_magic;
  std::uint16_t version = without_values;
  std::uint16_t root_count = 0;
  std::uint64_t image_bytes = 0;
  std::uint64_t objects = 0;
  std::uint64_t fingerprint = 0;  // of the declared types of the roots, in order
  std::uint32_t tagged_count = 0;
  std::uint32_t alignment = 0;  // bytes, of the object with the strictest alignment
};
static_assert(sizeof(message_head) == 40);

[[nodiscard]] std::uint64_t message_bytes(const graph_plan& plan, std::size_t roots) noexcept;
// Writes message_bytes() bytes of the plan, which was discovered from these roots. Throws bad_argument for objects
// aligned to more than 4096 bytes.
void write_message(const graph_plan& plan, std::span<const graph_root> roots, std::byte* to);

// Reads a message into an arena of its own. `roots` names the declared types, and gets the objects, or nulls if this
// throws. Nothing in `bytes` is trusted: the image is copied first and checked then, and reading takes no more memory
// than four times the message and 64 KiB, plus the memory that the values' types take for their bytes. Throws
// bad_message, which says what is wrong and where; out_of_memory. cost: docs/design/graph.md.
[[nodiscard]] arena_reference read_message(std::span<const std::byte> bytes, std::span<graph_root> roots);

}  // namespace situ::detail
