#include "pages/page_source.h"

#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>

#include "os/mapping_error.h"
#include "pages/computing_room.h"
#include "pages/intent_placer.h"

namespace situ::detail {
namespace {

std::span<shared_budget> budgets_of_process() noexcept {
  static constinit shared_budget budgets[32];
  return budgets;
}

// The promises of all sources of the process. Ranges are few: datasets, slots.
class private_promises final : public promises {
 public:
  promise_sums& sums() noexcept override { return sums_; }
  void settle(residence_call residence) noexcept override {
    const std::lock_guard held{lock_};
    for (promise_map& each : maps_) each.settle(residence);
  }
  using entry = std::list<promise_map>::iterator;
  entry add(const promise_map& map) {
    const std::lock_guard held{lock_};
    return maps_.insert(maps_.end(), map);
  }
  void remove(entry which) noexcept {
    const std::lock_guard held{lock_};
    maps_.erase(which);
  }

 private:
  promise_sums sums_;
  std::mutex lock_;
  std::list<promise_map> maps_;
};

// Never destroyed: objects of static lifetime may outlive it otherwise.
private_promises& promises_of_process() {
  static auto& all = *new private_promises;
  return all;
}

}  // namespace

class private_promise {
 public:
  private_promise(const std::byte* begin, std::size_t bytes)
      : begin_{begin},
        bytes_{bytes},
        cells_{std::make_unique<promise_map::cell[]>(promise_map::cells_for(bytes))},
        map_{begin, bytes, cells_.get(), promises_of_process().sums()},
        registered_{promises_of_process().add(map_)} {}
  ~private_promise() {
    promises_of_process().remove(registered_);
    map_.withdraw(begin_, bytes_);
  }
  private_promise(const private_promise&) = delete;
  private_promise& operator=(const private_promise&) = delete;
  [[nodiscard]] promise_map& map() noexcept { return map_; }

 private:
  const std::byte* begin_;
  std::size_t bytes_;
  std::unique_ptr<promise_map::cell[]> cells_;
  promise_map map_;
  private_promises::entry registered_;
};

budget_share::budget_share() noexcept = default;
budget_share::budget_share(placement_report taken, std::unique_ptr<private_promise> promised,
                           budget_share cells) noexcept
    : taken_{std::move(taken)}, cells_{std::exchange(cells.cells_, {})}, promised_{std::move(promised)} {}
budget_share::~budget_share() {
  release_budgets(taken_);
  release_budgets(cells_);
}
budget_share::budget_share(budget_share&& other) noexcept
    : taken_{std::exchange(other.taken_, {})},
      cells_{std::exchange(other.cells_, {})},
      promised_{std::move(other.promised_)} {}
budget_share& budget_share::operator=(budget_share&& other) noexcept {
  std::swap(taken_, other.taken_);
  std::swap(cells_, other.cells_);
  std::swap(promised_, other.promised_);
  return *this;
}

page_source::page_source(const memory_kind& kind, bool populate) : kind_{kind.of_pages()}, populate_{populate} {
  if (kind.from == memory_kind::source::pim) {
    cells_ = std::make_shared<const computing_room>(kind);
    populate_ = false;
  }
  switch (kind_.from) {
    case memory_kind::source::kernel:
    case memory_kind::source::pim: break;
    case memory_kind::source::node:
      // All of the node except the reserve of every node (placer.h, invariant 6): a caller that names a node wants
      // that node.
      placer_ = std::make_shared<const placer>(spill_ordering{.steps = {{{.node = kind_.node, .fill = 1}}}},
                                               system_placement_calls(), &promises_of_process());
      description_ = fmt::format("memory of NUMA node {}", kind_.node);
      break;
    case memory_kind::source::intent: {
      intent_placer by =
          make_intent_placer(*kind_.what, orderings_here(), budgets_of_process(), &promises_of_process());
      description_ = fmt::format("{} memory ({})", kind_.what->name(), to_text(by.order));
      placer_ = std::make_shared<const placer>(std::move(by.places));
      break;
    }
    case memory_kind::source::huge: description_ = "memory of huge pages"; break;
    case memory_kind::source::file: description_ = fmt::format("memory in a file of {}", kind_.path); break;
    case memory_kind::source::device: description_ = fmt::format("memory of the device {}", kind_.path); break;
  }
  if (cells_ == nullptr) return;
  description_ = fmt::format("{}{}{}", cells_->description(), kind.cells.empty() ? "" : ", as ",
                             kind.cells.empty() ? "" : description_);
}

sourced_pages page_source::map(std::size_t bytes, std::string_view what) const {
  static_cast<void>(take_cells(bytes, what));  // asked before, so that no pages are made in vain; taken below
  file_stretch file = has_file() ? open(bytes, what) : file_stretch{};
  pages made = has_file() ? pages{file.map(0, file.bytes())} : pages{bytes};
  if (made.empty())
    throw_error(errc::out_of_memory,
                fmt::format("{}: {} cannot be mapped: {}", what, format_bytes(bytes), why_not_mapped(errno)));
  if (has_file()) return {std::move(made), std::move(file)};
  budget_share share = place(made.data(), made.size(), what);
  return {std::move(made), std::move(share)};
}

file_stretch page_source::open(std::size_t bytes, std::string_view what) const {
  static_cast<void>(take_cells(bytes, what));  // as above
  file_stretch made{kind_, bytes, what};
  if (cells_ != nullptr && has_file()) made.keep(std::make_shared<const budget_share>(take_cells(made.bytes(), what)));
  return made;
}

// Throws out_of_memory unless the memories that compute have room.
budget_share page_source::take_cells(std::size_t bytes, std::string_view what) const {
  budget_share share;
  if (cells_ == nullptr) return share;
  placement_report report = cells_->take(bytes);
  const bool is_placed = report.outcome == placement_outcome::placed;
  const std::string fills = is_placed ? std::string{} : format_fills(report);
  share.add_cells(std::move(report));
  if (is_placed) return share;
  throw_error(errc::out_of_memory,
              fmt::format("{}: {} do not fit into the {}. Free memory, ask for less, or name a machine "
                          "file with more of it\n{}",
                          what, format_bytes(bytes), cells_->description(), fills));
}

budget_share page_source::place(void* address, std::size_t bytes, std::string_view what, huge_page_maker* huge) const {
  if (has_file()) return {};
  budget_share cells = take_cells(bytes, what);
  if (placer_ == nullptr) return cells;
  auto promised =
      populate_ ? nullptr : std::make_unique<private_promise>(static_cast<const std::byte*>(address), bytes);
  placement_report report =
      populate_ ? placer_->place(address, bytes, huge) : placer_->promise(address, bytes, promised->map());
  const bool is_placed = report.outcome == placement_outcome::placed;
  std::string fills = is_placed ? std::string{} : format_fills(report);
  budget_share share{std::move(report), std::move(promised), std::move(cells)};
  if (is_placed) return share;
  throw_error(errc::out_of_memory,
              fmt::format("{}: {} do not fit into the {}. Free memory, ask for less, or order more "
                          "memories for it (situ order set)\n{}",
                          what, format_bytes(bytes), description_, fills));
}

}  // namespace situ::detail
