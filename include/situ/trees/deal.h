// deal: how rows are dealt to the children of a place tree: the policies of HPF's and OpenMP's `distribute`, and those
// of HOMP (Yan, Liu, Cameron and Umar, 2017), which figure 3 of the memory-centric programming paper shows at work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace situ {

// A way to deal rows. A value.
//
//   block         one run for each child, of equal length
//   cyclic        one row for each child in turn
//   blocks_of(n)  n rows for each child in turn (block-cyclic)
//   weighted({..}) one run for each child, as long as its weight says
//   model         weighted by what the tree says of the children: bandwidth if known of all, else workers
//   automatic     first as block; then weighted by the speeds measured in the first loop, and anew after the 4th and
//   16th dynamic(n)    runs of n rows, which whoever is free takes; the data lie as by block
//
// Aligned with another array or loop: not a policy, but the same placed_rows.
struct deal {
  enum class policy : std::uint8_t { block, cyclic, blocks, weighted, model, automatic, dynamic };

  policy what = policy::block;
  std::size_t size = 0;         // rows of blocks and of dynamic runs; 0: a sixteenth of a child's equal share
  std::vector<double> weights;  // of weighted

  [[nodiscard]] static deal block() { return {}; }
  [[nodiscard]] static deal cyclic() { return {policy::cyclic, 1, {}}; }
  [[nodiscard]] static deal blocks_of(std::size_t rows) { return {policy::blocks, rows, {}}; }
  [[nodiscard]] static deal weighted(std::vector<double> weights) { return {policy::weighted, 0, std::move(weights)}; }
  [[nodiscard]] static deal model() { return {policy::model, 0, {}}; }
  [[nodiscard]] static deal automatic() { return {policy::automatic, 0, {}}; }
  [[nodiscard]] static deal dynamic(std::size_t rows = 0) { return {policy::dynamic, rows, {}}; }

  // "blocks_of(16)", "automatic": as it is made.
  [[nodiscard]] std::string to_text() const;

  friend bool operator==(const deal&, const deal&) = default;
};

}  // namespace situ
