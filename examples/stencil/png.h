// A field as a picture: a PNG in 8-bit grey, dark to bright from its least to its greatest value. Stored, not
// compressed, so it needs no library.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace png_detail {

inline std::uint32_t crc(const std::string& bytes) {
  std::uint32_t c = 0xffffffffu;
  for (const char byte : bytes) {
    c ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
  }
  return ~c;
}

inline std::string number(std::uint32_t n) {
  return {static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8), static_cast<char>(n)};
}

inline std::string chunk(const std::string& kind, const std::string& data) {
  return number(static_cast<std::uint32_t>(data.size())) + kind + data + number(crc(kind + data));
}

// zlib's format with stored blocks of at most 65535 bytes.
inline std::string stored(const std::string& data) {
  std::string out{"\x78\x01", 2};
  for (std::size_t from = 0; from < data.size(); from += 65535) {
    const auto n = std::min<std::size_t>(65535, data.size() - from);
    const bool last = from + n == data.size();
    out += {static_cast<char>(last), static_cast<char>(n), static_cast<char>(n >> 8), static_cast<char>(~n),
            static_cast<char>(~n >> 8)};
    out.append(data, from, n);
  }
  std::uint32_t a = 1, b = 0;
  for (const char byte : data) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return out + number(b << 16 | a);
}

}  // namespace png_detail

// values: rows of `width`, the lowest first; the picture has it at the bottom. Throws if the file cannot be written.
inline void write_png(const std::string& path, int width, int height, const std::vector<double>& values) {
  using namespace png_detail;
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  const double span = *greatest > *least ? *greatest - *least : 1;
  std::string rows;
  for (int y = height - 1; y >= 0; --y) {
    rows += '\0';  // this row is not filtered
    for (int x = 0; x < width; ++x)
      rows += static_cast<char>(static_cast<unsigned char>(
          255 *
          (values[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)] -
           *least) /
          span));
  }
  const std::string header = number(static_cast<std::uint32_t>(width)) + number(static_cast<std::uint32_t>(height)) +
                             std::string{"\x08\x00\x00\x00\x00", 5};
  std::ofstream out{path, std::ios::binary};
  out << std::string{"\x89PNG\r\n\x1a\n", 8} << chunk("IHDR", header) << chunk("IDAT", stored(rows))
      << chunk("IEND", "");
  if (!out.flush()) throw std::runtime_error{"cannot write " + path};
}
