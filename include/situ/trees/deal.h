// deal: the policies by which rows are dealt to the children of a place tree: those of HPF's and OpenMP's `distribute`,
// and those of HOMP (Yan, Liu, Cameron and Umar, 2017), which figure 3 of the memory-centric programming paper shows at
// work.
#pragma once

#include <situ/base/detail/abi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace situ {

// A policy for dealing rows. A value. cost: making one, some words.
//
// Alignment with another array or loop is not a policy: use the same placed_rows.
struct deal {
  // The policies, one for each function below.
  enum class policy : std::uint8_t { block, cyclic, blocks, weighted, model, automatic, dynamic };

  policy what = policy::block;
  std::size_t size = 0;         // rows of blocks and of dynamic runs; 0: a sixteenth of a child's equal share
  std::vector<double> weights;  // for weighted: one for each child

  // Deals one run to each child, all of equal length.
  [[nodiscard]] static deal block() { return {}; }
  // Deals single rows to the children in turn.
  [[nodiscard]] static deal cyclic() { return {policy::cyclic, 1, {}}; }
  // Deals blocks of `rows` rows to the children in turn (block-cyclic).
  [[nodiscard]] static deal blocks_of(std::size_t rows) { return {policy::blocks, rows, {}}; }
  // Deals one run to each child, with a length proportional to its weight.
  [[nodiscard]] static deal weighted(std::vector<double> weights) { return {policy::weighted, 0, std::move(weights)}; }
  // Deals by the figures that the tree has for the children: by bandwidth if it is known for all, else by workers.
  [[nodiscard]] static deal model() { return {policy::model, 0, {}}; }
  // Deals first as block(), then weighted by the measured speeds: after the first loop, the 4th and the 16th.
  [[nodiscard]] static deal automatic() { return {policy::automatic, 0, {}}; }
  // Deals runs of `rows` rows, which idle children take in turn; the data are placed as by block().
  [[nodiscard]] static deal dynamic(std::size_t rows = 0) { return {policy::dynamic, rows, {}}; }

  // Returns the call that makes this policy: "blocks_of(16)", "automatic".
  [[nodiscard]] std::string to_text() const;

  friend bool operator==(const deal&, const deal&) = default;
};

}  // namespace situ
