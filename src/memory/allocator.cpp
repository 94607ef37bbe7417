#include <situ/memory/allocator.h>

namespace situ {
namespace {

class segment_resource_type final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return detail::allocate_bytes(bytes, alignment, false);
  }
  void do_deallocate(void* block, std::size_t, std::size_t) override { detail::deallocate_bytes(block); }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

}  // namespace

std::pmr::memory_resource* segment_resource() noexcept {
  static segment_resource_type only;
  return &only;
}

}  // namespace situ
