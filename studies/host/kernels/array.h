// An array in huge pages, zero at first, of elements that need no destructor.
#pragma once

#include "os/pages.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace situ::studies::host {

template <class Element>
class array {
  static_assert(std::is_trivially_destructible_v<Element>);

 public:
  explicit array(std::size_t count) : pages_{whole(count * sizeof(Element))}, count_{count} {
    if (!pages_.empty()) return;
    std::fprintf(stderr, "host_kernels: no memory for %zu bytes; give a smaller size\n", count * sizeof(Element));
    std::exit(1);
  }
  [[nodiscard]] Element* data() const noexcept { return reinterpret_cast<Element*>(pages_.data()); }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  Element& operator[](std::size_t i) const noexcept { return data()[i]; }

 private:
  static constexpr std::size_t huge = std::size_t{2} << 20;
  static std::size_t whole(std::size_t bytes) { return (bytes + huge - 1) / huge * huge; }
  detail::pages pages_;
  std::size_t count_;
};

}  // namespace situ::studies::host
