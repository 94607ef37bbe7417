// A field as a picture: a PNG with a title, axes, the field in colours, and the scale of those.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace stencil_programs {

// Rows of `width` values, the lowest first.
struct picture {
  int width = 0;
  int height = 0;
  std::vector<double> values;
  std::string quantity;             // what the values are: "density"
  std::array<double, 2> lengths{};  // of the whole along x and y, from 0 on
  std::string unit;                 // of the lengths; empty: they are plain numbers
};

// Values of one sign go from dark to bright (viridis), those of both signs from blue by grey to red, with 0 in the
// middle. Fields of a few points are drawn larger, those of many smaller, so that the picture is 700 to 1100 pixels
// wide. Throws std::runtime_error if the file cannot be written.
void draw_png(const std::string& path, const picture& field, const std::string& title);

}  // namespace stencil_programs
