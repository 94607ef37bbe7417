// Reads and writes quantities as people write them: "96 GiB", "314 GB/s", "105 ns", "1.3 GHz". Pure functions on
// values.
//
// Bytes take binary (KiB, MiB, GiB, TiB, PiB) and decimal (kB, MB, GB, TB, PB) prefixes; a bandwidth is bytes per
// second; times are ns, us, ms, s; frequencies Hz, kHz, MHz, GHz. The space before the unit may be left out; a unit is
// never guessed.
//
// The parse functions throw errc::bad_argument with the accepted forms: "1.5 KiB" is 1536 bytes, "0.3 B" is an error,
// as it is no whole number of bytes. cost: linear in the length of the text.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace situ {

// Parse a text and return bytes, bytes per second, hertz or nanoseconds.
[[nodiscard]] std::uint64_t parse_bytes(std::string_view text);
[[nodiscard]] std::uint64_t parse_bandwidth(std::string_view text);
[[nodiscard]] std::uint64_t parse_hertz(std::string_view text);
[[nodiscard]] double parse_nanoseconds(std::string_view text);

// Format a quantity for people, rounded to three or four digits; bytes with binary prefixes: "4.5 GiB".
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);
[[nodiscard]] std::string format_bandwidth(std::uint64_t bytes_per_second);
[[nodiscard]] std::string format_hertz(std::uint64_t hertz);
[[nodiscard]] std::string format_nanoseconds(double nanoseconds);

// Format a quantity for files, without loss: parse_bytes(exact_bytes(n)) == n for every n, and likewise for the others
// (for times: every finite value from zero on).
[[nodiscard]] std::string exact_bytes(std::uint64_t bytes);
[[nodiscard]] std::string exact_bandwidth(std::uint64_t bytes_per_second);
[[nodiscard]] std::string exact_hertz(std::uint64_t hertz);
[[nodiscard]] std::string exact_nanoseconds(double nanoseconds);

}  // namespace situ
