// What the stencil programs have in common: their command line, the table of figures and checks, JSON, the picture, the
// exit code.
#pragma once

#include <situ/stencil/dataset.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "picture.h"

namespace stencil_programs {

// An option of one program. The first value is the default.
struct choice {
  std::string name;  // without the dashes
  std::string help;
  std::vector<std::string> values;
};
struct number {
  std::string name;
  std::string help;
  double value;
};

struct facts {
  std::string name;
  std::string what;
  std::string points_help;
  int points;
  int steps;
  std::vector<std::string> examples;
  std::vector<choice> choices{};
  std::vector<number> numbers{};
};

struct request {
  int points = 0;
  int steps = 0;
  situ::stencil::options how;
  std::map<std::string, std::string> choices;
  std::map<std::string, double> numbers;
};

struct figure {
  std::string name;
  double value;
};

// Passes if value <= limit; a NaN does not.
struct check {
  std::string name;
  double value;
  double limit;
  [[nodiscard]] bool passes() const noexcept { return value <= limit; }
};

struct outcome {
  std::string grid;  // "500 x 500 points"
  std::vector<figure> figures;
  std::vector<check> checks;
  picture field;
  std::uint64_t checksum = 0;  // of all bits of the result: the same for every executor
  situ::stencil::chain_statistics statistics;
  std::string report;  // of the context, where it was asked for
};

// Reads the command line, plays, prints. The exit code: 0 if all checks pass, 1 if one fails or an error is thrown,
// else CLI11's.
int run_program(int argc, char** argv, const facts& about, const std::function<outcome(const request&)>& play);

// Statistics and report of the context, into the outcome.
void add_statistics(outcome& result, const situ::stencil::context& run);

// FNV-1a over the bits of all inner values, and over what came before; layer by layer, so that the data may exceed
// memory.
template <class T, int D>
std::uint64_t checksum_of(const situ::stencil::dataset<T, D>& data, std::uint64_t before = 0xcbf29ce484222325u) {
  auto layer = data.inner();
  for (int s = data.inner().low[D - 1]; s < data.inner().high[D - 1]; ++s) {
    layer.low[D - 1] = s;
    layer.high[D - 1] = s + 1;
    for (const T& value : data.fetch(layer)) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof value);
      before = (before ^ bits) * 0x100000001b3u;
    }
  }
  return before;
}

// The plane in the middle of the third dimension, or all of two. `spacing` is the length between points.
template <int D>
picture picture_of(const situ::stencil::dataset<double, D>& data, std::string quantity, double spacing) {
  auto plane = data.inner();
  if constexpr (D == 3) {
    plane.low[2] = (plane.low[2] + plane.high[2]) / 2;
    plane.high[2] = plane.low[2] + 1;
  }
  const std::array<double, 2> lengths{spacing * plane.extent(0), spacing * plane.extent(1)};
  return {plane.extent(0), plane.extent(1), data.fetch(plane), std::move(quantity), lengths};
}

// Of a program whose result is one field.
template <int D>
void add_result(outcome& to, const situ::stencil::context& run, const situ::stencil::dataset<double, D>& field,
                std::string quantity, double spacing) {
  to.checksum = checksum_of(field);
  to.field = picture_of(field, std::move(quantity), spacing);
  add_statistics(to, run);
}

}  // namespace stencil_programs
