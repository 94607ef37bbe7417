// Where datasets lie: their strides, and pages of their own.
#pragma once

#include <situ/stencil/context.h>

#include <utility>

namespace situ::stencil {

// Sets strides, bytes and valid of a dataset that has its name, dims, element size and block. file_layers: cuts it into
// layers of whole pages, as direct I/O needs; the size of an element must then divide a page. Throws bad_argument.
void lay_out(dataset_core& data, const dataset_layout& layout, bool file_layers);

// Anonymous memory in pages of its own, huge where the system gives them; zero, and not touched yet. Throws
// out_of_memory.
class pages {
 public:
  pages() = default;
  explicit pages(std::size_t bytes);
  ~pages();
  pages(pages&& other) noexcept : at_{std::exchange(other.at_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  pages& operator=(pages&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  [[nodiscard]] std::byte* data() const noexcept { return at_; }

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace situ::stencil
