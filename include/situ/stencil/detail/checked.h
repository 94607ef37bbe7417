// Checked mode: each access of a kernel is compared with what the loop declared. A violation throws bad_argument, which
// names kernel, argument, offset and point, out of the call that forces the execution. Slow (no vectorization), and
// meant for tests.
#pragma once

#include <situ/stencil/detail/dataset_core.h>
#include <situ/stencil/shape.h>

#include <type_traits>
#include <vector>

namespace situ::stencil {

// One argument of one running part of a loop. Belongs to the thread that runs the part.
struct check_site {
  const std::string* loop = nullptr;
  const dataset_core* data = nullptr;
  const shape* where = nullptr;
  access_mode mode = access_mode::read;
  int argument = 0;
  coordinates point{};
  std::vector<std::pair<coordinates, int>> written;  // offset and component of each write at this point
  bool is_at_point = false;

  void move_to(const coordinates& to) {
    leave_point();
    point = to;
    is_at_point = true;
  }
  // Leaves the point: checks that a loop that declares a write has written every component there. A stencil of several
  // points is not checked: it may leave gaps.
  void leave_point() {
    if (is_at_point && mode == access_mode::write && where->points().size() == 1) check_all_written();
    written.clear();
    is_at_point = false;
  }
  void check_read(const coordinates& offset, int component);
  void check_write(const coordinates& offset, int component);

 private:
  void check_all_written() const;
  void check_offset(const coordinates& offset, int component) const;
  [[noreturn]] void report(const coordinates& offset, int component, std::string_view what) const;
};

// A stand-in for T&: conversion reads, assignment writes.
template <class T>
class checked_reference {
 public:
  using value_type = std::remove_const_t<T>;
  checked_reference(T* at, check_site* site, const coordinates& offset, int component)
      : at_{at}, site_{site}, offset_{offset}, component_{component} {}
  checked_reference(const checked_reference&) = default;

  operator value_type() const {  // NOLINT: it stands for a reference
    site_->check_read(offset_, component_);
    return *at_;
  }
  const checked_reference& operator=(const value_type& v) const {
    static_assert(!std::is_const_v<T>, "a dataset that is only read cannot be assigned to");
    site_->check_write(offset_, component_);
    *at_ = v;
    return *this;
  }
  const checked_reference& operator=(const checked_reference& other) const {  // NOLINT: to itself is an assignment, too
    return *this = static_cast<value_type>(other);
  }
  const checked_reference& operator+=(const value_type& v) const {
    site_->check_write(offset_, component_);
    if (site_->mode != access_mode::increment) site_->check_read(offset_, component_);
    *at_ += v;
    return *this;
  }
  const checked_reference& operator-=(const value_type& v) const { return *this += -v; }
  const checked_reference& operator*=(const value_type& v) const { return *this = static_cast<value_type>(*this) * v; }
  const checked_reference& operator/=(const value_type& v) const { return *this = static_cast<value_type>(*this) / v; }

 private:
  T* at_;
  check_site* site_;
  coordinates offset_;
  int component_;
};

}  // namespace situ::stencil
