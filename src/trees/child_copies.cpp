#include <situ/base/error.h>
#include <situ/trees/child_copies.h>

#include <fmt/format.h>

#include <utility>

namespace situ::detail {

child_tiles::child_tiles(std::shared_ptr<tree_core> tree, std::size_t bytes) : tree_{std::move(tree)}, bytes_{bytes} {
  for (std::uint32_t c = 0; c < tree_->children(); ++c) memory_.push_back(tree_->allocate(c, bytes, "a tile's copy"));
}

child_tiles::~child_tiles() { tree_->settle(); }

void child_tiles::move_down(const std::byte* from, std::size_t rows, std::size_t row_bytes, std::size_t stride) {
  if (row_bytes != 0 && rows > bytes_ / row_bytes)
    throw error{errc::bad_argument, fmt::format("a tile of {} rows of {} bytes where there is room for {} bytes: make "
                                                "child_copies of the largest tile",
                                                rows, row_bytes, bytes_)};
  for (std::uint32_t c = 0; c < tree_->children(); ++c) {
    tree_->copy(from, stride, at(c), row_bytes, row_bytes, rows);
    tree_->traffic.down += rows * row_bytes;
  }
}

void child_tiles::check_tree(const tree_core& other) const {
  if (tree_.get() != &other)
    throw error{errc::bad_argument,
                "copies at the children of another place tree: make them of the tree that runs the loop"};
}

}  // namespace situ::detail
