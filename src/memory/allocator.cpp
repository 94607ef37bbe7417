#include <situ/memory/allocator.h>

#include <deque>
#include <mutex>
#include <optional>

namespace situ {
namespace {

class segment_resource_type final : public std::pmr::memory_resource {
 public:
  segment_resource_type() = default;
  explicit segment_resource_type(const detail::kept_intent& kept) : kept_{kept} {}
  [[nodiscard]] const std::optional<detail::kept_intent>& kept() const noexcept { return kept_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return kept_ ? detail::allocate_bytes_for(kept_->what, kept_->key, bytes, alignment)
                 : detail::allocate_bytes(bytes, alignment, false);
  }
  void do_deallocate(void* block, std::size_t, std::size_t) override { detail::deallocate_bytes(block); }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return dynamic_cast<const segment_resource_type*>(&other) != nullptr;
  }

  std::optional<detail::kept_intent> kept_;
};

// Returns the resource for an intent and its way of populating; makes it on first use. The resources are never
// destroyed: containers of static lifetime may outlive them otherwise.
segment_resource_type& resource_for(const intent& what, std::uint64_t key) {
  static std::mutex one_at_a_time;
  static auto& made = *new std::deque<segment_resource_type>;
  const std::lock_guard locked{one_at_a_time};
  for (segment_resource_type& each : made)
    if (each.kept()->what == what && each.kept()->key == key) return each;
  return made.emplace_back(detail::kept_intent{what, key});
}

}  // namespace

const detail::kept_intent& detail::kept(const intent& what, std::uint64_t key) {
  return *resource_for(what, key).kept();
}

std::pmr::memory_resource* segment_resource() noexcept {
  static segment_resource_type only;
  return &only;
}

std::pmr::memory_resource* segment_resource(const intent& what, placing how) {
  return &resource_for(what, detail::arena_key(what, how.populate));
}

}  // namespace situ
