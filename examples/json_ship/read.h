// JSON text to a document. nlohmann's parser calls the builder for each value; it makes no tree of its own, and neither
// recurses.
#pragma once

#include "document.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace json_ship {

struct read_options {
  // Neither the parser nor anything behind it uses stack for depth; the limit bounds what a hostile text costs (40
  // bytes a level while it is read).
  std::size_t most_levels = 1'000'000;
};

// Integers of 64 bits, with or without sign, stay integers; longer ones become reals. Throws bad_file with line, column
// and byte for what is no JSON (NaN is none), for numbers beyond a double, for text that is not UTF-8, and for what
// nests too deep; out_of_memory.
[[nodiscard]] std::unique_ptr<stored_document> parse_document(std::string_view text, const read_options& options = {});

// The whole file; "-" is standard input. Throws bad_file.
[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace json_ship
