#include <situ/memory/allocator.h>

#include <deque>
#include <mutex>
#include <optional>

namespace situ {
namespace {

class segment_resource_type final : public std::pmr::memory_resource {
 public:
  segment_resource_type() = default;
  explicit segment_resource_type(const intent& what) : what_{what} {}
  [[nodiscard]] const std::optional<intent>& what() const noexcept { return what_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return what_ ? detail::allocate_bytes_for(*what_, bytes, alignment)
                 : detail::allocate_bytes(bytes, alignment, false);
  }
  void do_deallocate(void* block, std::size_t, std::size_t) override { detail::deallocate_bytes(block); }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return dynamic_cast<const segment_resource_type*>(&other) != nullptr;
  }

  std::optional<intent> what_;
};

// Of each intent that has been asked for. Never destroyed: containers of static life may end after it would.
segment_resource_type& resource_for(const intent& what) {
  static std::mutex one_at_a_time;
  static auto& made = *new std::deque<segment_resource_type>;
  const std::lock_guard locked{one_at_a_time};
  for (segment_resource_type& each : made)
    if (each.what() == what) return each;
  return made.emplace_back(what);
}

}  // namespace

const intent& detail::kept(const intent& what) { return *resource_for(what).what(); }

std::pmr::memory_resource* segment_resource() noexcept {
  static segment_resource_type only;
  return &only;
}

std::pmr::memory_resource* segment_resource(const intent& what) { return &resource_for(what); }

}  // namespace situ
