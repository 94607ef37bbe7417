// deal: how rows are dealt to the children of a place tree: the policies of HPF's and OpenMP's `distribute`, and those
// of HOMP (Yan, Liu, Cameron and Umar, 2017), which figure 3 of the memory-centric programming paper shows at work.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace situ {

// A way to deal rows. A value. cost: making one, some words.
//
// Aligned with another array or loop is no policy, but the same placed_rows.
struct deal {
  // What the functions below make.
  enum class policy : std::uint8_t { block, cyclic, blocks, weighted, model, automatic, dynamic };

  policy what = policy::block;
  std::size_t size = 0;         // rows of blocks and of dynamic runs; 0: a sixteenth of a child's equal share
  std::vector<double> weights;  // of weighted

  // One run for each child, of equal length.
  [[nodiscard]] static deal block() { return {}; }
  // One row for each child in turn.
  [[nodiscard]] static deal cyclic() { return {policy::cyclic, 1, {}}; }
  // So many rows for each child in turn (block-cyclic).
  [[nodiscard]] static deal blocks_of(std::size_t rows) { return {policy::blocks, rows, {}}; }
  // One run for each child, as long as its weight says.
  [[nodiscard]] static deal weighted(std::vector<double> weights) { return {policy::weighted, 0, std::move(weights)}; }
  // Weighted by what the tree says of the children: bandwidth if it is known of all, else workers.
  [[nodiscard]] static deal model() { return {policy::model, 0, {}}; }
  // First as block; then weighted by the speeds that the loops had: after the first loop, the 4th and the 16th.
  [[nodiscard]] static deal automatic() { return {policy::automatic, 0, {}}; }
  // Runs of so many rows, which whoever is free takes; the data lie as by block.
  [[nodiscard]] static deal dynamic(std::size_t rows = 0) { return {policy::dynamic, rows, {}}; }

  // "blocks_of(16)", "automatic": as it is made.
  [[nodiscard]] std::string to_text() const;

  friend bool operator==(const deal&, const deal&) = default;
};

}  // namespace situ
