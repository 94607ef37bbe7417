#include <situ/stencil/detail/loop.h>

#include <situ/base/error_code.h>
#include <situ/stencil/detail/checked.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

namespace situ::stencil {

std::string_view name(access_mode a) noexcept {
  switch (a) {
    case access_mode::read: return "read";
    case access_mode::write: return "write";
    case access_mode::read_write: return "read_write";
    case access_mode::increment: return "increment";
  }
  return "?";
}

bool loop::has_reduction() const noexcept {
  return std::any_of(arguments_.begin(), arguments_.end(), [](const argument& a) { return a.into != nullptr; });
}

bool loop::is_splittable(int d) const noexcept {
  if (d == 0 && has_reduction()) return false;  // a line has one accumulator
  return std::all_of(arguments_.begin(), arguments_.end(), [d](const argument& a) {
    if (a.data == nullptr || !writes(a.mode)) return true;
    // Otherwise several indices of the loop would touch one point of the dataset.
    return a.where->multiplier(d) >= a.where->divisor(d);
  });
}

loop_traffic loop::traffic() const noexcept {
  loop_traffic sum;
  for (const auto& a : arguments_) {
    if (a.data == nullptr) continue;
    std::size_t points = 1;
    for (int d = 0; d < max_dims; ++d) {
      if (range_.extent(d) == 0) return {};
      const int first = a.where->map(d, range_.low[d]);
      const int last = a.where->map(d, range_.high[d] - 1);
      points *= static_cast<std::size_t>(std::min(last - first + 1, range_.extent(d)));
    }
    const std::size_t bytes = points * a.data->element_bytes * static_cast<std::size_t>(a.data->components);
    if (reads(a.mode)) sum.bytes_read += bytes;
    if (writes(a.mode)) sum.bytes_written += bytes;
    if (points < static_cast<std::size_t>(range_.points())) continue;
    ++(!writes(a.mode) ? sum.read : !reads(a.mode) ? sum.written : sum.updated);
  }
  return sum;
}

void check_site::check_offset(const coordinates& offset, int component) const {
  if (!where->contains(offset)) report(offset, component, fmt::format("is not a point of stencil '{}'", where->name()));
  if (component < 0 || component >= data->components)
    report(offset, component, fmt::format("has no such component of {}", data->components));
  for (int d = 0; d < data->dims; ++d) {
    const int at = where->map(d, point[d]) + offset[d];
    if (at < data->valid.low[d] || at >= data->valid.high[d]) report(offset, component, "lies outside the dataset");
  }
}

void check_site::check_read(const coordinates& offset, int component) {
  check_offset(offset, component);
  if (mode != access_mode::write) {
    if (mode == access_mode::increment) report(offset, component, "is read, but declared 'increment'");
    return;
  }
  if (std::find(written.begin(), written.end(), std::pair{offset, component}) == written.end()) {
    report(offset, component, "is read before it is written, but declared 'write'");
  }
}

void check_site::check_write(const coordinates& offset, int component) {
  check_offset(offset, component);
  if (mode == access_mode::read) report(offset, component, "is written, but declared 'read'");
  if (mode == access_mode::write) written.emplace_back(offset, component);
}

void check_site::check_all_written() const {
  const auto& offset = where->points().front();
  for (int c = 0; c < data->components; ++c) {
    if (std::find(written.begin(), written.end(), std::pair{offset, c}) == written.end())
      report(offset, c, "is not written, but declared 'write'");
  }
}

void check_site::report(const coordinates& offset, int component, std::string_view what) const {
  const auto dims = static_cast<std::size_t>(where->dims());
  throw_error(errc::bad_argument,
              fmt::format("kernel '{}', argument {} (dataset '{}'), component {}: offset ({}) at point ({}) {}", *loop,
                          argument, data->name, component, fmt::join(std::span{offset.data(), dims}, ", "),
                          fmt::join(std::span{point.data(), dims}, ", "), what));
}

}  // namespace situ::stencil
