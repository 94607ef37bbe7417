#include "picture.h"

#include <cairo.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>

namespace stencil_programs {
namespace {

using colour = std::array<double, 3>;

// Viridis, of matplotlib (CC0), at every eighth.
constexpr std::array<std::uint32_t, 9> one_sign{0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c,
                                                0x28ae80, 0x5ec962, 0xaddc30, 0xfde725};
// K. Moreland, Diverging color maps for scientific visualization (2009), at every eighth.
constexpr std::array<std::uint32_t, 9> both_signs{0x3b4cc0, 0x6282ea, 0x8db0fe, 0xb8d0f9, 0xdddddd,
                                                  0xf5c4ad, 0xf49a7b, 0xde604d, 0xb40426};

constexpr double field_pixels = 640;  // of the longer side
constexpr double left = 90, top = 60, bottom = 70, scale_room = 130, scale_width = 18, tick = 6;

struct range {
  double low;
  double high;
  [[nodiscard]] double part(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

range range_of(const std::vector<double>& values) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  range r{infinity, -infinity};
  for (const double value : values)
    if (std::isfinite(value)) r = {std::min(r.low, value), std::max(r.high, value)};
  if (r.low > r.high) return {0, 1};
  if (r.low >= 0 || r.high <= 0) return r;
  const double most = std::max(-r.low, r.high);
  return {-most, most};
}

std::uint32_t colour_at(const range& r, double value) {
  if (!std::isfinite(value)) return 0xff00ff;
  const auto& map = r.low < 0 && r.high > 0 ? both_signs : one_sign;
  const double at = std::clamp(r.part(value), 0.0, 1.0) * static_cast<double>(map.size() - 1);
  const auto below = std::min<std::size_t>(static_cast<std::size_t>(at), map.size() - 2);
  const double weight = at - static_cast<double>(below);
  std::uint32_t mixed = 0;
  for (const unsigned shift : {16u, 8u, 0u}) {
    const auto channel = [&](std::size_t i) { return static_cast<double>(map[i] >> shift & 0xff); };
    mixed |= static_cast<std::uint32_t>(std::lround(channel(below) * (1 - weight) + channel(below + 1) * weight))
             << shift;
  }
  return mixed;
}

// Round numbers, some five of them, fewer where there is no room for their text.
std::vector<double> ticks_of(const range& r, double pixels) {
  if (!(r.high > r.low)) return {r.low};
  const double rough = (r.high - r.low) / std::clamp(pixels / 40, 1.0, 5.0),
               power = std::pow(10, std::floor(std::log10(rough)));
  const double step = power * (rough < 1.5 * power ? 1 : rough < 3.5 * power ? 2 : rough < 7.5 * power ? 5 : 10);
  std::vector<double> at;
  for (double n = std::ceil(r.low / step - 1e-9); n * step <= r.high + 1e-9 * step; ++n)
    at.push_back(n * step + 0.0);  // no -0
  return at;
}

class drawing {
 public:
  drawing(double width, double height)
      : surface_{cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height)),
                 &cairo_surface_destroy},
        to_{cairo_create(surface_.get()), &cairo_destroy} {
    cairo_set_source_rgb(to_.get(), 1, 1, 1);
    cairo_paint(to_.get());
    cairo_set_line_width(to_.get(), 1);
    cairo_select_font_face(to_.get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  }

  // `align`: 0 begins at x, 0.5 has its middle there, 1 ends there.
  void text(double x, double y, const std::string& what, double align, double size = 14) {
    cairo_set_source_rgb(to_.get(), 0.1, 0.1, 0.1);
    cairo_set_font_size(to_.get(), size);
    cairo_text_extents_t extents;
    cairo_text_extents(to_.get(), what.c_str(), &extents);
    cairo_move_to(to_.get(), x - align * extents.x_advance, y);
    cairo_show_text(to_.get(), what.c_str());
  }
  void text_upwards(double x, double y, const std::string& what) {
    cairo_save(to_.get());
    cairo_translate(to_.get(), x, y);
    cairo_rotate(to_.get(), -std::acos(-1.0) / 2);
    text(0, 0, what, 0.5);
    cairo_restore(to_.get());
  }
  void line(double x0, double y0, double x1, double y1) {
    cairo_set_source_rgb(to_.get(), 0.1, 0.1, 0.1);
    cairo_move_to(to_.get(), std::floor(x0) + 0.5, std::floor(y0) + 0.5);
    cairo_line_to(to_.get(), std::floor(x1) + 0.5, std::floor(y1) + 0.5);
    cairo_stroke(to_.get());
  }
  void frame(double x, double y, double width, double height) {
    line(x, y, x + width, y);
    line(x, y + height, x + width, y + height);
    line(x, y, x, y + height);
    line(x + width, y, x + width, y + height);
  }
  // Pixels, the upper row first, stretched to a rectangle.
  void image(double x, double y, double width, double height, int columns, int rows,
             std::vector<std::uint32_t> pixels) {
    const std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> source{
        cairo_image_surface_create_for_data(reinterpret_cast<unsigned char*>(pixels.data()), CAIRO_FORMAT_RGB24,
                                            columns, rows, 4 * columns),
        &cairo_surface_destroy};
    cairo_save(to_.get());
    cairo_translate(to_.get(), x, y);
    cairo_scale(to_.get(), width / columns, height / rows);
    cairo_set_source_surface(to_.get(), source.get(), 0, 0);
    const bool is_enlarged = width >= columns;
    cairo_pattern_set_filter(cairo_get_source(to_.get()), is_enlarged ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_BEST);
    cairo_rectangle(to_.get(), 0, 0, columns, rows);
    cairo_fill(to_.get());
    cairo_restore(to_.get());
  }
  void write(const std::string& path) {
    if (cairo_surface_write_to_png(surface_.get(), path.c_str()) != CAIRO_STATUS_SUCCESS)
      throw std::runtime_error{"cannot write " + path};
  }

 private:
  std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> surface_;
  std::unique_ptr<cairo_t, void (*)(cairo_t*)> to_;
};

void draw_axes(drawing& on, double width, double height, const picture& field) {
  const std::string unit = field.unit.empty() ? "" : fmt::format(" ({})", field.unit);
  for (const double at : ticks_of({0, field.lengths[0]}, width)) {
    const double x = left + width * at / field.lengths[0];
    on.line(x, top + height, x, top + height + tick);
    on.text(x, top + height + 22, fmt::format("{:.4g}", at), 0.5);
  }
  for (const double at : ticks_of({0, field.lengths[1]}, height)) {
    const double y = top + height - height * at / field.lengths[1];
    on.line(left - tick, y, left, y);
    on.text(left - 10, y + 5, fmt::format("{:.4g}", at), 1);
  }
  on.frame(left, top, width, height);
  on.text(left + width / 2, top + height + 50, "x" + unit, 0.5);
  on.text_upwards(25, top + height / 2, "y" + unit);
}

void draw_scale(drawing& on, double x, double height, const range& r, const std::string& quantity) {
  constexpr int colours = 256;
  std::vector<std::uint32_t> pixels(colours);
  for (int i = 0; i < colours; ++i)
    pixels[static_cast<std::size_t>(i)] = colour_at(r, r.high - (r.high - r.low) * i / (colours - 1));
  on.image(x, top, scale_width, height, 1, colours, std::move(pixels));
  on.frame(x, top, scale_width, height);
  for (const double value : ticks_of(r, height)) {
    const double y = top + height * (1 - r.part(value));
    on.line(x + scale_width, y, x + scale_width + tick, y);
    on.text(x + scale_width + 10, y + 5, fmt::format("{:.4g}", value), 0);
  }
  on.text_upwards(x + 88, top + height / 2, quantity);
}

}  // namespace

void draw_png(const std::string& path, const picture& field, const std::string& title) {
  const double longest = std::max(field.lengths[0], field.lengths[1]);
  // A side is at least a tenth of the other, however long the field is.
  const double width = std::max(field_pixels * field.lengths[0] / longest, field_pixels / 10);
  const double height = std::max(field_pixels * field.lengths[1] / longest, field_pixels / 10);
  const range r = range_of(field.values);
  const auto columns = static_cast<std::size_t>(field.width);
  std::vector<std::uint32_t> pixels;
  pixels.reserve(field.values.size());
  for (auto y = static_cast<std::size_t>(field.height); y-- > 0;)
    for (std::size_t x = 0; x < columns; ++x) pixels.push_back(colour_at(r, field.values[y * columns + x]));

  drawing on{left + std::max(width, field_pixels / 2) + scale_room, top + height + bottom};
  on.text(left, top - 25, title, 0, 17);
  on.image(left, top, width, height, field.width, field.height, std::move(pixels));
  draw_axes(on, width, height, field);
  draw_scale(on, left + width + 25, height, r, field.quantity);
  on.write(path);
}

}  // namespace stencil_programs
