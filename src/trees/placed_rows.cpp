#include <situ/base/error.h>
#include <situ/spread/distribution.h>
#include <situ/spread/shares.h>
#include <situ/trees/detail/placed_rows_core.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace situ::detail {
namespace {

// Rows dealt by weight are dealt in at most this many blocks: shares are accurate to a thousandth.
constexpr std::size_t fine_blocks = 1024;

// deal::automatic measures after the first loop, and again after the 4th and the 16th: one loop may have been
// disturbed.
constexpr std::uint64_t last_balance = 16;

std::uint32_t blocks_of_size(std::size_t rows, std::size_t size) {
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, (rows + size - 1) / size));
}

}  // namespace

placed_rows_core::placed_rows_core(std::shared_ptr<tree_core> tree, std::size_t rows, deal how)
    : tree_{std::move(tree)}, rows_{rows}, how_{std::move(how)} {
  if (how_.size == 0) how_.size = std::max<std::size_t>(1, rows_ / (std::size_t{16} * tree_->children()));
  if (how_.what == deal::policy::weighted && how_.weights.size() != tree_->children())
    throw error{errc::bad_argument,
                fmt::format("{} weights for {} children: give one for each", how_.weights.size(), tree_->children())};
  if (how_.what == deal::policy::model) how_.weights = modelled_weights();
  runs_ = dealt(how_);
  for (std::uint32_t c = 0; c < tree_->children(); ++c)
    speeds_.push_back(tree_->allocate(c, sizeof(child_speed), "the speed of a loop"));
}

placed_rows_core::~placed_rows_core() { tree_->settle(); }

std::vector<row_run> placed_rows_core::dealt(const deal& how) const {
  using policy = deal::policy;
  const std::uint32_t children = tree_->children();
  const std::vector<double> equal(children, 1.0);
  const bool is_weighted = how.what == policy::weighted || how.what == policy::model;
  const bool is_dynamic = how.what == policy::dynamic;
  cut along = cut::block();
  std::uint32_t blocks = children;
  if (how.what == policy::cyclic) along = cut::cyclic();
  if (how.what == policy::blocks) along = cut::blocks_of(how.size);
  if (is_weighted || is_dynamic) {
    const std::size_t size = is_dynamic ? how.size : (rows_ + fine_blocks - 1) / fine_blocks;
    along = cut::blocks_of(std::max<std::size_t>(1, size));
    blocks = blocks_of_size(rows_, along.block_size);
  }
  const distribution<1> places{{rows_}, blocks, {along}};
  const situ::shares owners{blocks, is_weighted ? how.weights : equal};

  std::vector<row_run> runs;
  const auto block = static_cast<std::ptrdiff_t>(places.block_size(0));
  for (std::ptrdiff_t begin = 0; begin < static_cast<std::ptrdiff_t>(rows_); begin += block) {
    const std::uint32_t child = owners.member_of(places.owner({begin}));
    const std::ptrdiff_t end = std::min(begin + block, static_cast<std::ptrdiff_t>(rows_));
    if (!runs.empty() && runs.back().child == child && !is_dynamic)
      runs.back().end = end;
    else
      runs.push_back({begin, end, child});
  }
  return runs;
}

std::size_t placed_rows_core::run_index(std::size_t row) const noexcept {
  const auto after = std::ranges::upper_bound(runs_, static_cast<std::ptrdiff_t>(row), {}, &row_run::begin);
  return static_cast<std::size_t>(after - runs_.begin()) - 1;
}

std::vector<std::size_t> placed_rows_core::counts() const {
  std::vector<std::size_t> all(tree_->children());
  for (const row_run& run : runs_) all[run.child] += static_cast<std::size_t>(run.end - run.begin);
  return all;
}

std::ptrdiff_t placed_rows_core::workers_of(std::uint32_t child) const noexcept {
  // Runs that are dealt to whichever child is free are small enough already.
  return how_.what == deal::policy::dynamic ? 1 : std::max<std::ptrdiff_t>(1, tree_->root().children[child].workers);
}

std::vector<std::vector<std::size_t>> placed_rows_core::groups() const {
  std::vector<std::vector<std::size_t>> at(tree_->children()), all;
  for (std::size_t i = 0; i < runs_.size(); ++i) at[runs_[i].child].push_back(i);
  for (std::uint32_t c = 0; c < at.size(); ++c) {
    const std::size_t parts = std::min(at[c].size(), static_cast<std::size_t>(workers_of(c)));
    for (std::size_t p = 0; p < parts; ++p)
      all.emplace_back(at[c].begin() + static_cast<std::ptrdiff_t>(at[c].size() * p / parts),
                       at[c].begin() + static_cast<std::ptrdiff_t>(at[c].size() * (p + 1) / parts));
  }
  return all;
}

void placed_rows_core::check_tree(const tree_core& other) const {
  if (tree_.get() != &other)
    throw error{errc::bad_argument, "rows of another place tree: distribute them over the tree that runs the loop"};
}

std::vector<double> placed_rows_core::modelled_weights() const {
  const auto& children = tree_->root().children;
  const bool by_bandwidth = std::ranges::all_of(children, [](const tree_node& c) { return c.bandwidth > 0; });
  std::vector<double> weights;
  for (const tree_node& child : children)
    weights.push_back(by_bandwidth ? static_cast<double>(child.bandwidth) : std::max(1U, child.workers));
  return weights;
}

std::vector<double> placed_rows_core::speeds() const {
  std::vector<double> all;
  for (std::uint32_t c = 0; c < tree_->children(); ++c) {
    const auto rows = static_cast<double>(tree_->read(speed(c).rows));
    const auto ns = static_cast<double>(tree_->read(speed(c).nanoseconds));
    all.push_back(rows == 0 ? 0 : 1e9 * rows / std::max(1.0, ns));
  }
  return all;
}

// Gives a child that has done no rows the mean weight, so that it gets some.
std::vector<double> placed_rows_core::measured_weights() const {
  std::vector<double> weights = speeds();
  std::uint32_t known = 0;
  double sum = 0;
  for (std::uint32_t c = 0; c < weights.size(); ++c) {
    weights[c] *= std::max(1U, tree_->root().children[c].workers);  // the workers run in parallel
    if (weights[c] > 0) ++known;
    sum += weights[c];
  }
  for (double& weight : weights)
    if (weight == 0) weight = known == 0 ? 1.0 : sum / known;
  return weights;
}

void placed_rows_core::settle() {
  if (how_.what == deal::policy::automatic && loops_ >= next_balance_ && next_balance_ <= last_balance) balance();
}

void placed_rows_core::balance() {
  while (next_balance_ <= loops_) next_balance_ *= 4;  // done first: the arrays' calls below settle, too
  tree_->wait();
  deal next = how_;
  next.what = deal::policy::weighted;
  next.weights = measured_weights();
  std::vector<row_run> runs = dealt(next);
  if (runs == runs_) return;
  try {
    for (row_slabs* array : arrays_) array->prepare_move(runs);
    for (row_slabs* array : arrays_) array->move_across(runs);
    tree_->wait();
  } catch (...) {  // no room, or a place is lost: all rows stay at their places
    tree_->settle();
    for (row_slabs* array : arrays_) array->drop_move();
    throw;
  }
  runs_ = std::move(runs);
  for (std::uint32_t c = 0; c < tree_->children(); ++c) {
    tree_->reset(speed(c).rows);
    tree_->reset(speed(c).nanoseconds);
  }
  for (row_slabs* array : arrays_) array->end_move();
}

void placed_rows_core::enter(row_slabs& array) { arrays_.push_back(&array); }
void placed_rows_core::leave(row_slabs& array) noexcept { std::erase(arrays_, &array); }

}  // namespace situ::detail
