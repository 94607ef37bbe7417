// Files of Squeak's image format 6502, in either byte order.
//
//   header of 64 bytes: 6502, size of the header, bytes of objects, address of the first one when it was written,
//                       reference to the special objects, last hash, window, flags
//   objects:            | words << 2, 0 | class, 0 | base header | body   more than 63 words
//                       | class, 1      | base header | body              class by reference
//                       | base header | body                              class by number: compact, 1 to 31
//   base header:        hash 12 bits | compact class 5 | format 4 | words with itself 6 | form 2 (0, 1 or 3, as above)
//
// A file of the other byte order has the bytes of each word reversed, except in byte objects (strings) and in the
// bytecodes of methods.
#pragma once

#include "image.h"

#include <bit>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace squeak {

// Reads an image. Throws situ::error bad_file, with `name`, the offset in the file and the reason, unless every object
// is whole, every reference leads to one, and the objects that an interpreter relies on are what they should be.
// Allocates no more than some six times the size of `bytes`.
[[nodiscard]] image read_image(std::span<const std::byte> bytes, const std::string& name);
// Reads a file. Throws bad_file, also if it cannot be read.
[[nodiscard]] image read_image_file(const std::string& path);

// Returns the bytes of a file. pre: the image is one that read_image would return.
[[nodiscard]] std::vector<std::byte> image_bytes(const image& of, std::endian order = std::endian::little);
// Writes a new file next to `path`, has the system store it, and gives it the name: a crash leaves the old file or the
// new one. Throws bad_file.
void write_image_file(const image& of, const std::string& path);

}  // namespace squeak
