// What the program found, as tables for people or as JSON. For place 0.
#pragma once

#include "document.h"

#include <cstdint>
#include <string>
#include <vector>

namespace json_ship {

struct report {
  // One journey of the document; times in nanoseconds.
  struct journey {
    std::string asked_for;  // the transfer
    std::string there_by, back_by;
    std::uint64_t objects_there = 0, bytes_there = 0, objects_back = 0, bytes_back = 0;
    double there_ns = 0, change_ns = 0, back_ns = 0, undo_ns = 0, compare_ns = 0;
    std::uint64_t stamps = 0;
    std::string difference;  // empty: none
  };
  std::string source;
  std::uint32_t places = 0, destination = 0;
  std::uint64_t text_bytes = 0;
  double read_ns = 0, parse_ns = 0;
  json_ship::census census;
  std::uint64_t repeats = 0;  // of each journey; its times are medians
  std::vector<journey> journeys;

  [[nodiscard]] bool passed() const noexcept;
};

[[nodiscard]] std::string to_text(const report& r);
[[nodiscard]] std::string to_json(const report& r);

}  // namespace json_ship
