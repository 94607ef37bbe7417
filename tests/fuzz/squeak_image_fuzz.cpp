// Hostile images for examples/squeak. An input is a file.
#include "fuzz/squeak_image_fuzz.h"

#include <situ/base/error.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "../examples/squeak/image_file.h"

namespace situ::test {
namespace {

[[noreturn]] void find(const char* what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

std::optional<squeak::image> read(std::span<const std::byte> input) {
  try {
    return squeak::read_image(input, "fuzzed.image");
  } catch (const error& refused) {
    if (refused.code() != errc::bad_file || !refused.message().starts_with("fuzzed.image: byte "))
      find("a refusal without the file and the offset");
    return std::nullopt;
  }
}

}  // namespace

bool read_squeak_image(std::span<const std::byte> input) {
  const std::optional<squeak::image> first = read(input);
  if (!first) return false;
  for (const std::endian order : {std::endian::little, std::endian::big})
    if (read(squeak::image_bytes(*first, order)) != first) find("another image");
  return true;
}

}  // namespace situ::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)situ::test::read_squeak_image(std::as_bytes(std::span{data, size}));
  return 0;
}
