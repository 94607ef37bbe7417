// The parts of squeak_image_fuzz.cpp that tests use without libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace situ::test {

// Reads bytes as a Squeak image; returns whether it was read. Aborts on a finding: a refusal that does not name the
// file and an offset, or an image that is another one once it is written, in either byte order, and read again.
bool read_squeak_image(std::span<const std::byte> input);

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
